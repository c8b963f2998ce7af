import { describe, expect, it } from 'vitest'
import { compileLimit, debitLimit, type Limit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'

const AT_MS = 1_780_000_020_000
const TEN: Readonly<Record<string, LimitOptions>> = {
  fixed_window: { algorithm: 'fixed_window', limit: 10, window: '1m' },
  'fixed_window on a calendar': { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'month' } },
  sliding_window: { limit: 10, window: '1m' },
  'sliding_window with sub-windows': { limit: 10, window: '1m', subWindows: 6 },
  sliding_log: { algorithm: 'sliding_log', limit: 10, window: '1m' },
  token_bucket: { algorithm: 'token_bucket', limit: 10, window: '1m' },
  gcra: { algorithm: 'gcra', limit: 10, window: '1m' },
  leaky_bucket: { algorithm: 'leaky_bucket', limit: 10, window: '1m' },
}

const after = (limit: Limit, ...costs: number[]): CounterState | undefined =>
  costs.reduce<CounterState | undefined>((state, cost) => step(state, limit, AT_MS, cost).state, undefined)

describe.each(Object.entries(TEN))('%s', (_, options) => {
  const limit = compileLimit(options)
  const counting = compileLimit({ ...options, countDenied: true })

  it('charges a cost above the limit with countDenied: later hits are refused', () => {
    const state = after(counting, 3, 15)
    expect(step(state, counting, AT_MS, 1).verdict).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(step(after(counting, 15), counting, AT_MS, 1).verdict.kind).toBe('refused')
  })

  it('does not charge a cost above the limit without it', () => {
    expect(step(after(limit, 3, 15), limit, AT_MS, 7).verdict.kind).toBe('allowed')
  })

  it('refuses any cost above the limit, however large, and keeps counting', () => {
    for (const cost of [11, 2 ** 32 - 1, 2 ** 32, 2 ** 53]) {
      const { verdict, state } = step(undefined, counting, AT_MS, cost)
      expect(verdict).toMatchObject({ kind: 'impossible', allowed: false, remaining: 0 })
      expect(verdict.resetAfterMs).toBeGreaterThan(0)
      expect(step(state, counting, AT_MS + 1, 1).verdict.allowed).toBe(false)
    }
  })

  it('answers a look as the next hit, and charges nothing for it', () => {
    for (const each of [limit, counting]) {
      const full = after(each, 10)
      const look = step(full, each, AT_MS, 0)
      expect(look.verdict).toMatchObject({ kind: 'refused', remaining: 0 })
      if (look.verdict.kind !== 'refused') continue
      const at = AT_MS + look.verdict.retryAfterMs
      expect(step(look.state, each, at, 1).verdict.kind).toBe('allowed')
      expect(step(look.state, each, at - 1, 1).verdict.kind).toBe('refused')
      expect(step(after(each, 9), each, AT_MS, 0).verdict).toMatchObject({ kind: 'allowed', remaining: 1 })
    }
  })

  it('goes into debt by late charges, one budget deep, and stays there', () => {
    const debit = debitLimit(limit)
    const used = after(limit, 6)
    const owing = step(used, debit, AT_MS, 9).state
    expect(step(owing, limit, AT_MS, 0).verdict).toMatchObject({ kind: 'refused', remaining: 0 })
    const deeper = step(owing, debit, AT_MS, 100).state
    const wait = (state: CounterState | undefined): number => {
      const { verdict } = step(state, limit, AT_MS, 1)
      return verdict.kind === 'refused' ? verdict.retryAfterMs : 0
    }
    expect(wait(deeper)).toBeGreaterThanOrEqual(wait(owing))
    expect(wait(step(deeper, debit, AT_MS, 100).state)).toBe(wait(deeper))
    expect(wait(step(deeper, limit, AT_MS, 1).state)).toBe(wait(deeper))
  })

  it('gives a debt back as it gives back anything else', () => {
    const owing = step(after(limit, 6), debitLimit(limit), AT_MS, 9).state
    expect(step(owing, limit, AT_MS, -15).state).toBeUndefined()
  })
})
