import { expect } from 'vitest'
import type { Verdict } from '../decision.ts'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'

/**
 * One request and its whole verdict. `extra` is what the kind adds: the retryAfterMs of a refusal, the maxCost of an
 * impossible cost, the delayMs of an admission (left out when 0).
 */
export type Row = readonly [
  atMs: number,
  cost: number,
  kind: Verdict['kind'],
  remaining: number,
  resetAfterMs: number,
  extra?: number,
]

/** Sends the requests of a table through one counter and compares every field of every verdict. */
export function expectRows(options: LimitOptions, rows: readonly Row[]): void {
  const limit = compileLimit(options)
  let state: CounterState | undefined
  const verdicts = rows.map(([atMs, cost]) => {
    const next = step(state, limit, atMs, cost)
    state = next.state
    return rowOf(atMs, cost, next.verdict)
  })
  expect(verdicts).toEqual(rows)
}

function rowOf(atMs: number, cost: number, verdict: Verdict): Row {
  const { kind, remaining, resetAfterMs } = verdict
  const extra = extraOf(verdict)
  return extra === undefined
    ? [atMs, cost, kind, remaining, resetAfterMs]
    : [atMs, cost, kind, remaining, resetAfterMs, extra]
}

function extraOf(verdict: Verdict): number | undefined {
  if (verdict.kind === 'refused') return verdict.retryAfterMs
  if (verdict.kind === 'impossible') return verdict.maxCost
  return verdict.delayMs === 0 ? undefined : verdict.delayMs
}
