import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mostWithin } from '../../src/core/algorithms/oracle.suite.ts'
import { compileLimit, type Limit } from '../../src/core/limit.ts'
import { type CounterState, step } from '../../src/core/step.ts'

const ROW = /^\| (\d+) \| (\d+[a-z]+) \| (\d+) \|$/gm

/** Takes all that fits in the last millisecond of a window, and again in each of the next. */
function worst(limit: Limit): number {
  const admitted: [number, number][] = []
  let state: CounterState | undefined
  for (let nowMs = limit.windowMs - 1; nowMs < 2 * limit.windowMs; nowMs++) {
    const { remaining } = step(state, limit, nowMs, 0).verdict
    if (remaining === 0) continue
    state = step(state, limit, nowMs, remaining).state
    admitted.push([nowMs, remaining])
  }
  return mostWithin(admitted, limit.windowMs)
}

it('docs/algorithms.md says what the worst client of a sliding window gets', () => {
  const text = readFileSync(new URL('../../docs/algorithms.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(ROW)].map(([, limit, window, most]) => [Number(limit), window as string, Number(most)])
  expect(rows.length).toBeGreaterThan(3)
  expect(rows).toEqual(
    rows.map(([limit, window]) => [
      limit,
      window,
      worst(compileLimit({ limit: limit as number, window: window as string })),
    ]),
  )
})
