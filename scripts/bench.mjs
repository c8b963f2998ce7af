import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt } from './build.mjs'
import { ensureInstalled, requireNode, root, run, runMain, SetupError } from './setup.mjs'
import { tryToEnsureSystemPackages } from './system-packages.mjs'

// npm run bench -- NAME [arguments of the benchmark]
const suffix = '.bench.mjs'
const benchDir = join(root, 'bench')

function benchNames() {
  if (!existsSync(benchDir)) return []
  return readdirSync(benchDir)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .sort()
}

function requireBench(name) {
  const names = benchNames()
  if (names.includes(name)) return
  const problem = name === undefined ? 'name a benchmark' : `there is no benchmark "${name}"`
  throw new SetupError(`${problem}; there are: ${names.join(', ') || 'none yet'} (npm run bench -- NAME)`)
}

await runMain(async () => {
  const [name, ...args] = process.argv.slice(2)
  requireNode()
  requireBench(name)
  await ensureInstalled()
  await tryToEnsureSystemPackages()
  await ensureBuilt()
  const { code } = await run(process.execPath, ['--expose-gc', join(benchDir, name + suffix), ...args])
  process.exitCode = code ?? 1
})
