import type { Limit } from './limit.ts'

/** How often nodes report what is offered to them. */
export const SAMPLE_MS = 100
/** A limit below this is missed by chance alone by more than 1.4 %: see chanceOf. */
export const LEAST_SAMPLED = 10_000

/** What is above the rate, and what is below it, is made up for in about this long. */
const CORRECT_MS = 500
/** Windows have no burst: then it is a twentieth of the limit. */
const BURST_PARTS = 20

/** A limit as `sampled` reads it: a rate, and what may come on top of it at the same moment. */
export interface SampledRate {
  readonly perMs: number
  /** At least 1. */
  readonly burst: number
}

/** Reads a limit as a rate. Buckets keep their burst. */
export function sampledRate({ max, windowMs, unitsPerMs, capacity }: Limit): SampledRate {
  return { perMs: max / windowMs, burst: Math.max(1, unitsPerMs > 0 ? capacity : max / BURST_PARTS) }
}

/**
 * Returns which share of hits to keep, when this much is offered to all nodes. `level` is what their common bucket
 * holds, below 0 after an excess: it moves what is admitted above or below the rate, until it is even.
 */
export function shareKept({ perMs }: SampledRate, offeredPerMs: number, level: number): number {
  const wanted = Math.max(perMs / 2, perMs + level / CORRECT_MS)
  return offeredPerMs <= wanted ? 1 : wanted / offeredPerMs
}

/**
 * Returns how far a window is off by chance, in 19 of 20 windows, as a share of the limit: each hit is dropped with the
 * same probability, and half of them are.
 */
export function chanceOf({ max }: Limit): number {
  return 1.96 * Math.sqrt(0.5 / max)
}
