import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { fuzzFrames } from './frame-fuzzer.ts'

// Every case is made from a seed. Seeds that failed once, be it because of a fault that was put in on purpose, are in
// fuzz-seeds.json and come first; then others, the same each time. `npm run fuzz -- 10m` tries seeds that nobody has tried, for
// so long. FUZZ_SEED=n runs one.

const LIST = new URL('./fuzz-seeds.json', import.meta.url)
const FAILED_ONCE = JSON.parse(readFileSync(LIST, 'utf8')) as number[]
const FOR_MS = Number(process.env.FUZZ_MS ?? 0)
const SAME = Array.from({ length: 120 }, (_, n) => 1_000 + n)
const ONLY = process.env.FUZZ_SEED
const KEEPS = process.env.FUZZ_KEEP === '1'
const MAX_FAILURES = 20

vi.setConfig({ testTimeout: FOR_MS + 300_000 })

/** problemOf returns what goes wrong with a seed. */
async function problemOf(seed: number): Promise<string | undefined> {
  try {
    await fuzzFrames(seed)
    return undefined
  } catch (error) {
    return `seed ${seed}: ${error instanceof Error ? error.message : error}; FUZZ_SEED=${seed} npm test -- --only tests/grpc/frame-fuzz replays it`
  }
}

describe('hostile frames', () => {
  it.each(ONLY === undefined ? FAILED_ONCE : [Number(ONLY)])('of seed %i do no harm', async (seed) => {
    expect(await problemOf(seed)).toBeUndefined()
  })

  it.skipIf(ONLY !== undefined)('of 120 more seeds do no harm', async () => {
    const problems: string[] = []
    for (const seed of SAME) {
      const problem = await problemOf(seed)
      if (problem !== undefined) problems.push(problem)
    }
    expect(problems).toEqual([])
  })

  it.runIf(FOR_MS > 0)('of seeds that nobody has tried do no harm', async () => {
    const problems: string[] = []
    const failed: number[] = []
    const endMs = performance.now() + FOR_MS
    let seed = Math.floor(Math.random() * 2 ** 31)
    for (; performance.now() < endMs && failed.length < MAX_FAILURES; seed++) {
      const problem = await problemOf(seed)
      if (problem === undefined) continue
      problems.push(problem)
      failed.push(seed)
    }
    if (KEEPS && failed.length > 0) writeFileSync(LIST, `${JSON.stringify([...FAILED_ONCE, ...failed])}\n`)
    expect(problems).toEqual([])
  })
})
