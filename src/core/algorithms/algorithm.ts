import type { HitLog } from './hit-log.ts'
import type { LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'

/** Evaluates a counter whose state is a time and two numbers. One that was never used has at = NEVER. */
export type EvaluateNumbers = (
  at: number,
  first: number,
  second: number,
  limit: LimitNumbers,
  nowMs: number,
  cost: number,
  out: Outcome,
) => void

/** Evaluates a counter whose state is a list of records. */
export type EvaluateLog = (log: HitLog, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome) => void

/** All that the rest of the code knows of an algorithm. */
export interface AlgorithmRecord {
  /** Its letter in the shape of a limit, and so in the keys of a shared store and in its scripts. */
  readonly letter: string
  /** The letter of the variant whose windows begin with the first hit. Undefined where there is none. */
  readonly anchoredLetter: string | undefined
  /** The letter of the script that evaluates its log. Undefined where it keeps none. */
  readonly logLetter: string | undefined
  /**
   * How many numbers the state of a counter is: a time, a time and a number, a time and two counts. 0: always a log.
   */
  readonly stateNumbers: 0 | 1 | 2 | 3
  /** Whether its budget can be spent elsewhere: lent in slices, or counted in several places at the same time. */
  readonly isLeasable: boolean
  /** True where it counts permits, which are held and given back, and not hits. */
  readonly holdsPermits: boolean
  /**
   * True where each hit is given the moment after those before it, and nothing is kept but the last of these moments.
   * What is given back is taken off the end: the next hit gets the turn of another that may still wait for it.
   */
  readonly handsOutTurns: boolean
  /** Buckets: the finest pace at which the arithmetic is exact, for a bucket that takes fillMs to fill. */
  readonly maxUnitsPerMs: ((fillMs: number) => number) | undefined
  /** Throws where the state is a log (`limit.isLog`). */
  readonly evaluateNumbers: EvaluateNumbers
  /** Throws where the state is numbers. */
  readonly evaluateLog: EvaluateLog
}

/** Returns the evaluateNumbers of an algorithm that keeps a log. */
export const noNumbers: EvaluateNumbers = () => {
  throw new TypeError('the algorithm keeps a log, not numbers')
}

/** Returns the evaluateLog of an algorithm that keeps numbers. */
export const noLog: EvaluateLog = () => {
  throw new TypeError('the algorithm keeps numbers, not a log')
}
