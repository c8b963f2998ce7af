import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'

/** Receives errors that must not fail a request. */
export type ReportError = (error: unknown) => void

/**
 * Returns what work comes to, and something safe instead where it throws or rejects: what an app's functions do wrong
 * must not let requests pass uncounted.
 */
export function guarded<T>(work: () => MaybePromise<T>, instead: (error: unknown) => MaybePromise<T>): MaybePromise<T> {
  try {
    const value = andThen(work(), (found) => found)
    return value instanceof Promise ? value.catch(instead) : value
  } catch (error) {
    return instead(error)
  }
}
