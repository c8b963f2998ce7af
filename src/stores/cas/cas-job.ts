import type { Counter } from './counter.ts'
import type { DecidedGroup, MadeCharge } from './decide-group.ts'

/** Something to do with counters, as one step. It may run several times, each time on what is stored by then. */
export interface CasJob<Answer> {
  /** The counters that it names, each once. */
  readonly names: readonly string[]
  /** How many decisions it is, for metrics. */
  readonly decisions: number
  /** True where it does not matter what was stored, even if that cannot be read. */
  readonly isReset?: boolean
  run(counters: ReadonlyMap<string, Counter>, nowMs: number): Answer
  /** Returns what takes back the part of a run that was stored, where the rest was not. */
  undo?(answer: Answer, stored: ReadonlySet<string>): CasJob<unknown> | undefined
}

/** A job on one counter. */
export function jobOn<Answer>(
  name: string,
  run: (counter: Counter, nowMs: number) => Answer,
  isReset = false,
): CasJob<Answer> {
  return {
    names: [name],
    decisions: 0,
    isReset,
    run: (counters, nowMs) => run(counters.get(name) as Counter, nowMs),
  }
}

/** What a group left behind in those of its counters that were stored. */
export function madeIn(
  { made }: DecidedGroup,
  nameOf: (charge: MadeCharge['charge']) => string,
  stored: ReadonlySet<string>,
): readonly MadeCharge[] {
  return made.filter(({ charge, hits }) => hits !== 0 && stored.has(nameOf(charge)))
}
