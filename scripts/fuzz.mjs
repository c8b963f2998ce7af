import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run fuzz -- [gateway] [10m]: sends hostile frames to the gRPC server, or hostile HTTP to the gateway, for so long
// (1m). Seeds that fail are printed and added to a list, which every run of the tests tries first: commit it with the
// fix.

const TARGETS = {
  grpc: { test: 'tests/grpc/frame-fuzz', list: 'tests/grpc/fuzz-seeds.json' },
  gateway: { test: 'tests/fuzz/gateway-fuzz', list: 'tests/fuzz/gateway-seeds.json' },
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads "90s", "10m" or "2h". */
export function durationMs(text) {
  const [, count, unit] = /^([1-9]\d{0,4})([smh])$/.exec(text) ?? []
  if (count === undefined) throw new SetupError(`"${text}" is no duration; try 90s, 10m or 2h (npm run fuzz -- 10m)`)
  return Number(count) * UNIT_MS[unit]
}

const seedsIn = (list) => JSON.parse(readFileSync(list, 'utf8'))

/** Returns what is fuzzed, and for how long. */
export function readTarget(args) {
  const [first] = args
  const name = first !== undefined && Object.hasOwn(TARGETS, first) ? first : 'grpc'
  const [duration = '1m'] = name === first ? args.slice(1) : args
  return { ...TARGETS[name], forMs: durationMs(duration) }
}

async function main(args) {
  requireNode()
  const { test, list: listName, forMs } = readTarget(args)
  await ensureInstalled()
  process.chdir(root)
  const list = join(root, listName)
  const before = seedsIn(list).length
  Object.assign(process.env, { FUZZ_MS: String(forMs), FUZZ_KEEP: '1' })
  const { startVitest } = await import('vitest/node')
  const vitest = await startVitest('test', [`${test}.test.ts`], { watch: false })
  await vitest.close()
  const found = seedsIn(list).slice(before)
  if (found.length === 0) return
  say(`seeds that failed: ${found.join(', ')}; they are in ${listName} now`)
  say(`one of them again: FUZZ_SEED=${found[0]} npm test -- --only ${test}`)
  process.exitCode = 1
}

if (process.argv[1] === join(root, 'scripts/fuzz.mjs')) await runMain(() => main(process.argv.slice(2)))
