import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled, requireNode, root, runMain, say } from './setup.mjs'

await runMain(async () => {
  requireNode()
  await ensureInstalled()
  const { ensureBuilt } = await import('./build.mjs')
  await ensureBuilt()
})

// npm keeps the flags before "--". A service that did not start has said why, and ends when nothing is left to do.
process.once('beforeExit', (code) => {
  if (code !== 0) say('flags of the service follow "--": npm start -- --http-port 0')
})

// The service runs in this very process: signals, standard streams and the exit code are its own.
const entry = join(root, 'server', 'bin', 'sluice.mjs')
process.argv.splice(1, 1, entry, 'serve', '--examples')
// Customers and their quotas are kept from one start to the next, unless another place is set.
process.env.SLUICE_DATA ||= join(root, '.sluice')
// To try it out, what is counted is read without a token. The port listens on this machine only.
process.env.SLUICE_METRICS_OPEN ||= 'true'
process.env.SLUICE_STATS_OPEN ||= 'true'
await import(pathToFileURL(entry).href)
