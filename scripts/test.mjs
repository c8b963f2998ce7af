import { requireCommit } from './changed-since.mjs'
import { closingLine } from './closing-line-reporter.mjs'
import { endWithNpm } from './end-with-npm.mjs'
import { ensureInstalled, requireNode, root, runScript, SetupError, say } from './setup.mjs'
import { ensureSystemPackages, tryToEnsureSystemPackages } from './system-packages.mjs'

// npm test [-- [--only] [--changed [COMMIT]] [vitest arguments]]
// --only leaves out the checks and goes straight to the tests, and does not insist on servers that they may not need.
// --changed runs the tests that import what has changed, since a commit or the last one.
// npm run test:watch is the same with --only and --watch: it runs the tests again that a saved file affects.
const checks = ['lint', 'check:dependencies', 'check:imports', 'typecheck']

async function main(args) {
  await endWithNpm()
  await prepare(args.includes('--only'))
  await runTests(args.filter((arg) => arg !== '--only'))
}

async function prepare(only) {
  requireNode()
  await step('install', ensureInstalled)
  await step('system packages', only ? tryToEnsureSystemPackages : ensureSystemPackages)
  const { ensureBuilt } = await import('./build.mjs')
  await step('build', ensureBuilt)
  if (only) return
  for (const name of checks) await step(name, () => check(name))
}

/** Does one piece of work and prints its name and duration. */
async function step(name, work) {
  const startedAt = performance.now()
  await work()
  say(`${name.padEnd(20)}${((performance.now() - startedAt) / 1000).toFixed(2)} s`)
}

async function check(name) {
  const { ok, text } = await runScript(name)
  if (ok) return
  process.stderr.write(`${text.trimEnd()}\n`)
  throw new SetupError(`${name} failed, so no test was run; "npm run ${name}" repeats it`)
}

async function runTests(args) {
  process.chdir(root)
  const { parseCLI, startVitest } = await import('vitest/node')
  const { filter, options } = parseCLI(['vitest', 'run', ...args])
  if (options.changed) await requireCommit(options.changed)
  const vitest = await startVitest('test', filter, { ...options, watch: options.watch === true })
  if (!options.watch) await vitest.exit()
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  // Whatever went wrong counts as one failure: the closing line is there in every case.
  if (error instanceof SetupError) say(error.message)
  else console.error(error)
  console.log(closingLine({ passed: 0, failed: 1, skipped: 0 }))
  process.exit(1)
}
