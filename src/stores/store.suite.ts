import { afterEach, beforeEach, describe, it } from 'vitest'
import { NEW_SEEDS } from '../../tests/seeds/seeds.ts'
import { concurrencyClaims } from './suite/concurrency.suite.ts'
import { deniedClaims, lateClaims, lookClaims, shapeClaims } from './suite/counters.suite.ts'
import { groupClaims } from './suite/groups.suite.ts'
import { type RunOptions, StoreRun } from './suite/run.suite.ts'
import { START_MS, type StoreUnderTest, Subject } from './suite/subject.suite.ts'
import { jumpClaims, timeClaims } from './suite/time.suite.ts'

export type { StoreUnderTest } from './suite/subject.suite.ts'

/** The parts of the kit. Time and random runs set the clock, and so do some claims about concurrency. */
const PARTS = {
  groups: groupClaims,
  'looks and refunds': lookClaims,
  shapes: shapeClaims,
  count_denied: deniedClaims,
  'late charges': lateClaims,
  time: timeClaims,
  'a clock that jumps': jumpClaims,
  concurrency: concurrencyClaims,
} satisfies Record<string, (subject: Subject) => void>

export type Part = keyof typeof PARTS | 'random'

export interface StoreSuiteOptions {
  /** Parts that a store cannot do, each with the reason. */
  readonly skip?: Partial<Record<Part, string>>
  /** Operations of each random run. Default: 10,000. */
  readonly operations?: number
  /** Default: fixed seeds. Seeds that failed once belong here. */
  readonly seeds?: readonly number[]
  /** What random runs spare the store, with what it still agrees in. */
  readonly run?: RunOptions
}

const SEEDS = [1, 2, 1_034, 3_729_438_487, 3_860_838_157, 4_029_739_758, 4_029_739_877, 4_294_967_295, ...NEW_SEEDS]
/** More operations, and more seeds, find rarer faults: SLUICE_OPERATIONS=100000, SLUICE_SEEDS=300. */
const OPERATIONS = Number(process.env.SLUICE_OPERATIONS ?? 3_000)

/** Returns the conformance kit: what every store promises, as claims. makeStore returns an empty store each time. */
export function storeSuite(
  name: string,
  makeStore: (options: { readonly startMs: number }) => Promise<StoreUnderTest>,
  options: StoreSuiteOptions = {},
): void {
  const { skip = {}, operations = OPERATIONS, seeds = SEEDS, run = {} } = options
  const subject = new Subject()

  const part = (title: Part, claims: () => void): void => {
    const reason = skip[title]
    if (reason === undefined) describe(title, claims)
    else describe.skip(`${title} (skipped: ${reason})`, claims)
  }

  describe(name, () => {
    beforeEach(async () => subject.begin(await makeStore({ startMs: START_MS })))
    afterEach(async () => await subject.end())

    for (const [title, claims] of Object.entries(PARTS)) part(title as Part, () => claims(subject))

    part('random', () => {
      it.each(seeds)(
        `agrees with the model ${run.how ?? 'in every field'}, over ${operations} operations of seed %i`,
        async (seed) => {
          await new StoreRun(subject.underTest, START_MS, seed, run).go(operations)
        },
      )
    })
  })
}
