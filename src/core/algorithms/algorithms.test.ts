import { describe, expect, it } from 'vitest'
import { compileLimit, isLeasable, type LimitOptions } from '../limit.ts'
import { step } from '../step.ts'
import { ALGORITHM_NAMES, ALGORITHMS, type Algorithm } from './algorithms.ts'
import { Outcome } from './outcome.ts'

const limitOf = (algorithm: Algorithm, more: Partial<LimitOptions> = {}) =>
  compileLimit({ algorithm, limit: 10, ...(algorithm === 'concurrency' ? {} : { window: '1m' }), ...more })

/** No script and no key tells counters apart that have the same letter. */
it('every algorithm and variant has its own letter', () => {
  const letters = Object.values(ALGORITHMS).flatMap(({ letter, anchoredLetter }) =>
    [letter, anchoredLetter ?? []].flat(),
  )
  expect(letters.every((letter) => /^[a-z]$/.test(letter))).toBe(true)
  expect(new Set(letters).size).toBe(letters.length)
})

it('the letters match stored keys', () => {
  expect(ALGORITHM_NAMES.map((name) => limitOf(name).shape)).toEqual(['s1m', 't1m', 'g1m', 'l1m', 'f1m', 'x1m', 'c1m'])
  expect(limitOf('fixed_window', { anchor: 'first_hit' }).shape).toBe('a1m')
})

it('what can be lent is what is spent, and in no order', () => {
  expect(ALGORITHM_NAMES.filter((name) => !isLeasable(limitOf(name)))).toEqual(['leaky_bucket', 'concurrency'])
  expect(isLeasable(limitOf('gcra', { countDenied: true }))).toBe(false)
})

it('permits are held in concurrency alone', () => {
  expect(ALGORITHM_NAMES.filter((name) => ALGORITHMS[name].holdsPermits)).toEqual(['concurrency'])
})

describe.each(ALGORITHM_NAMES)('%s', (name) => {
  const { stateNumbers, logLetter, evaluateNumbers, evaluateLog } = ALGORITHMS[name]
  const limit = limitOf(name)

  it('keeps no more numbers than it says', () => {
    let state = step(undefined, limit, 1_000_000, 3).state
    for (let i = 1; i < 50; i++) {
      state = step(state, limit, 1_000_000 + i * 7_919, i % 4).state
      if (state === undefined || 'records' in state) continue
      if (stateNumbers < 3) expect(state.second).toBe(0)
      else expect([state.first, state.second].every((count) => Number.isInteger(count) && count >= 0)).toBe(true)
      if (stateNumbers < 2) expect(state.first).toBe(0)
    }
    expect(limit.isLog).toBe(stateNumbers === 0)
  })

  it('refuses to be run on a state that it does not keep', () => {
    const empty = { totalHits: 0, newestMs: 0, rewind() {}, next: () => false, timeMs: 0, hits: 0 }
    const out = new Outcome()
    if (stateNumbers === 0) expect(() => evaluateNumbers(0, 0, 0, limit, 1, 1, out)).toThrow('keeps a log, not numbers')
    if (logLetter === undefined) expect(() => evaluateLog(empty, limit, 1, 1, out)).toThrow('keeps numbers, not a log')
    expect(stateNumbers === 0 && logLetter === undefined).toBe(false)
  })
})
