import type { Limit } from '../../../core/limit.ts'
import { MAX_WINDOW_MS } from '../../../core/limit-options.ts'
import type { Script } from '../scripts/scripts.ts'
import type { LimitTexts } from './limit-texts.ts'

/** How jobs of one kind travel: the script that does them, and how they and its reply are encoded. */
export interface BatchFormat<Job, Answer> {
  readonly script: Script
  /** Some key that the job is about: it says where the job is done. */
  keyOf(job: Job): string
  /** The maximum number of keys and limits that the job names. */
  sizeOf(job: Job): number
  encode(jobs: readonly Job[], limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch
  /**
   * Returns the answers in order, with undefined for one that makes no sense; or undefined for a reply that cannot be
   * one.
   */
  decode(reply: unknown, jobs: readonly Job[]): readonly (Answer | undefined)[] | undefined
  /** How a job travels alone, where that costs less. */
  readonly lone?: LoneFormat<Job, Answer>
  /** How jobs of several partitions travel to one node of a cluster, where they can. */
  readonly byNode?: NodeFormat<Job>
}

/** A BatchFormat for one job: most calls of a quiet service, of which each list around a job is garbage. */
export interface LoneFormat<Job, Answer> {
  encode(job: Job, limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch
  /** Returns undefined for a reply that the format of batches has to look at. */
  decode(reply: unknown, job: Job): Answer | undefined
}

/**
 * How jobs of several partitions travel together, in a section for each partition. The reply begins with a byte for
 * each section (1 done, 0 left alone), and continues as the reply to a batch of all jobs that were done.
 */
export interface NodeFormat<Job> {
  readonly script: Script
  encode(sections: readonly (readonly Job[])[], limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch
}

/** The keys and arguments of one script call. */
export interface EncodedBatch {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/** Returns whether a number can be a time to wait under a limit. What is infinite or no number cannot. */
export function isSpanOf({ windowMs, fullUnits, unitsPerMs }: Limit, ms: number): boolean {
  if (!(ms >= 0)) return false
  // Nearly always.
  if (ms <= windowMs) return true
  const fillMs = unitsPerMs > 0 ? Math.ceil(fullUnits / unitsPerMs) : 0
  return ms <= MAX_WINDOW_MS + 2 * (windowMs + fillMs)
}

/** Returns the number of a key, from 1; one that has none yet is added. */
export function numberOf<K>(numbers: Map<K, number>, key: K, add: () => number): number {
  const known = numbers.get(key)
  if (known !== undefined) return known
  const number = add()
  numbers.set(key, number)
  return number
}
