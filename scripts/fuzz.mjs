import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run fuzz -- [10m]: sends hostile frames to the gRPC server for so long (1m). Seeds that fail are printed and added to
// tests/grpc/fuzz-seeds.json, which every run of the tests tries first: commit it together with the mend.

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 }

/** durationMs reads "90s", "10m" or "2h". */
export function durationMs(text) {
  const [, count, unit] = /^([1-9]\d{0,4})([smh])$/.exec(text) ?? []
  if (count === undefined) throw new SetupError(`"${text}" is no duration; try 90s, 10m or 2h (npm run fuzz -- 10m)`)
  return Number(count) * UNIT_MS[unit]
}

const seedsIn = (list) => JSON.parse(readFileSync(list, 'utf8'))

async function main([duration = '1m']) {
  requireNode()
  const forMs = durationMs(duration)
  await ensureInstalled()
  process.chdir(root)
  const list = join(root, 'tests/grpc/fuzz-seeds.json')
  const before = seedsIn(list).length
  Object.assign(process.env, { FUZZ_MS: String(forMs), FUZZ_KEEP: '1' })
  const { startVitest } = await import('vitest/node')
  const vitest = await startVitest('test', ['tests/grpc/frame-fuzz.test.ts'], { watch: false })
  await vitest.close()
  const found = seedsIn(list).slice(before)
  if (found.length === 0) return
  say(`seeds that failed: ${found.join(', ')}; they are in tests/grpc/fuzz-seeds.json now`)
  say(`one of them again: FUZZ_SEED=${found[0]} npm test -- --only tests/grpc/frame-fuzz`)
  process.exitCode = 1
}

if (process.argv[1] === join(root, 'scripts/fuzz.mjs')) await runMain(() => main(process.argv.slice(2)))
