import { join } from 'node:path'
import { ensureBuilt } from './build.mjs'
import { ensureInstalled, requireNode, root, run, runMain } from './setup.mjs'
import { ensureSystemPackages } from './system-packages.mjs'

// npm run chaos [-- NAME…] [--write]
await runMain(async () => {
  requireNode()
  await ensureInstalled()
  await ensureSystemPackages()
  await ensureBuilt()
  const { code } = await run(process.execPath, [join(root, 'chaos/main.mjs'), ...process.argv.slice(2)])
  process.exitCode = code ?? 1
})
