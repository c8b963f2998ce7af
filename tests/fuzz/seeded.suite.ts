import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'

const FOR_MS = Number(process.env.FUZZ_MS ?? 0)
const ONLY = process.env.FUZZ_SEED
const KEEPS = process.env.FUZZ_KEEP === '1'
const MAX_FAILURES = 20

export interface Fuzzing {
  /** A JSON file with the seeds that failed once, be it because of a fault that was put in on purpose. */
  readonly list: URL
  /** The test file, as `npm test -- --only` takes it. */
  readonly test: string
  /** How many seeds, the same each time, are tried beside those. */
  readonly count: number
  /** Throws at a seed that does harm. */
  readonly fuzz: (seed: number) => Promise<void>
}

/**
 * The tests of a fuzzer: seeds that failed once, then `count` others, which are the same each time. `npm run fuzz`
 * tries seeds that no one has tried, for so long (FUZZ_MS), and keeps those that fail. FUZZ_SEED=n runs one.
 */
export function itSurvives({ list, test, count, fuzz }: Fuzzing): void {
  vi.setConfig({ testTimeout: FOR_MS + 300_000 })
  const failedOnce = JSON.parse(readFileSync(list, 'utf8')) as number[]
  const problemOf = async (seed: number): Promise<string | undefined> => {
    try {
      await fuzz(seed)
      return undefined
    } catch (error) {
      return `seed ${seed}: ${error instanceof Error ? error.message : error}; FUZZ_SEED=${seed} npm test -- --only ${test} replays it`
    }
  }

  it.each(ONLY === undefined ? failedOnce : [Number(ONLY)])('of seed %i do no harm', async (seed) => {
    expect(await problemOf(seed)).toBeUndefined()
  })

  it.skipIf(ONLY !== undefined)(`of ${count} more seeds do no harm`, async () => {
    const problems: string[] = []
    for (let n = 0; n < count; n++) {
      const problem = await problemOf(1_000 + n)
      if (problem !== undefined) problems.push(problem)
    }
    expect(problems).toEqual([])
  })

  it.runIf(FOR_MS > 0)('of seeds that no one has tried do no harm', async () => {
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
    if (KEEPS && failed.length > 0) writeFileSync(list, `${JSON.stringify([...failedOnce, ...failed])}\n`)
    expect(problems).toEqual([])
  })
}
