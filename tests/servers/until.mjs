// @ts-check
import { setTimeout as pause } from 'node:timers/promises'

/** The first looks follow each other closely, since most states are there soon; a state that takes seconds is looked at less often. */
const firstPauseMs = 5
const longestPauseMs = 50
const growth = 1.15

/**
 * Resolves with the first truthy answer of `check`, asked again and again. A check that throws has not come true yet.
 * After withinMs it rejects, with the last error as its cause, even if a check never answers.
 * @template T
 * @param {string} what completes "waited N ms until …"
 * @param {() => T | Promise<T>} check
 * @param {number} [withinMs]
 * @returns {Promise<Exclude<T, undefined | null | false | '' | 0>>}
 */
export async function until(what, check, withinMs = 180_000) {
  const deadline = performance.now() + withinMs
  let cause
  let pauseMs = firstPauseMs
  do {
    try {
      const answer = await within(deadline - performance.now(), check())
      if (answer) return /** @type {Exclude<T, undefined | null | false | '' | 0>} */ (answer)
    } catch (error) {
      cause = error
    }
    await pause(pauseMs)
    pauseMs = Math.min(pauseMs * growth, longestPauseMs)
  } while (performance.now() < deadline)
  throw new Error(`waited ${withinMs} ms until ${what}`, { cause })
}

/**
 * Resolves like a promise, or with undefined when that takes too long.
 * @template T
 * @param {number} ms
 * @param {T | Promise<T>} promise
 */
async function within(ms, promise) {
  const limit = new AbortController()
  try {
    return await Promise.race([promise, pause(Math.max(ms, 0), undefined, { signal: limit.signal })])
  } finally {
    limit.abort()
  }
}
