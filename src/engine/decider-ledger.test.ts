import { describe, expect, it } from 'vitest'
import type { Decision } from '../core/combine.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RateLimitRule } from '../core/rules/schema.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { awayStore } from './away-store.suite.ts'
import type { PlannedCharge } from './charge.ts'
import { Limiter, type LimiterParts } from './limiter.ts'
import type { Store } from './ports.ts'
import { Purse } from './purse.suite.ts'

const perHour = (limit: number, more: RateLimitRule = {}): RateLimitRule => ({
  unit: 'hour',
  algorithm: 'fixed_window',
  requests_per_unit: limit,
  ...more,
})

const RULES = compileObjects([
  {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: perHour(10, { name: 'paid', ledger: 'm', cost: 2 }) },
      { key: 'fixed', rate_limit: perHour(10, { ledger: { meter: 'm', amount: 7 } }) },
      { key: 'model', rate_limit: perHour(1_000, { ledger: { meter: 'm', amount: 'settled' } }) },
      { key: 'open', rate_limit: { unlimited: true, ledger: 'm' } },
      { key: 'shadow', shadow_mode: true, rate_limit: perHour(10, { ledger: 'm' }) },
      { key: 'free', rate_limit: perHour(10, { ledger: 'm', cost: 0 }) },
      { key: 'both', rate_limits: [perHour(10, { name: 'm', ledger: 'm' }), perHour(10, { name: 'n', ledger: 'n' })] },
      { key: 'plain', rate_limit: perHour(10) },
      { key: 'job', rate_limit: { algorithm: 'concurrency', requests_per_unit: 1, ledger: 'm' } },
      {
        key: 'author',
        rate_limit: perHour(10, { ledger: 'm', response: { status: 418, body: 'tea', headers: { 'x-a': 'b' } } }),
      },
    ],
  },
])

const clock = { nowMs: () => 1_700_000_000_000 }
const ask = (key: string, cost = 1) => ({ domain: 'd', descriptors: [{ entries: [{ key, value: 'a' }] }], cost })

function scene(left: Record<string, number>, isAway: boolean, more: LimiterParts = {}) {
  const seen: { readonly charges: readonly PlannedCharge[]; readonly decision: Decision }[] = []
  const memory = new MemoryStore({ clock })
  const store: Store = isAway ? awayStore(memory) : memory
  const purse = new Purse(left, isAway)
  const observer = {
    decided: (charges: readonly PlannedCharge[], decision: Decision) => void seen.push({ charges, decision }),
  }
  const limiter = new Limiter(() => RULES, store, { payer: purse, observer, ...more })
  const remaining = async (key: string) => (await limiter.check(ask(key, 0))).verdicts[0].verdict.remaining
  return { limiter, purse, seen, remaining }
}

describe.each([
  ['immediately', false],
  ['with promises', true],
])('a rule with a meter, on a store and a ledger that answer %s', (_, isAway) => {
  it('takes what the request weighs, after the limit has admitted it', async () => {
    const { limiter, purse, seen } = scene({ m: 100 }, isAway)
    const decision = await limiter.check(ask('user', 3))
    expect([decision.allowed, decision.ledger?.field, purse.left.m, purse.booked.m]).toEqual([true, 'paid', 94, 6])
    expect(seen).toHaveLength(1)
    expect(seen[0].decision).toBe(decision)
  })

  it('takes nothing of the ledger where the limit refuses', async () => {
    const { limiter, purse } = scene({ m: 100 }, isAway)
    expect((await limiter.check(ask('user', 6))).allowed).toBe(false)
    expect([purse.asked, purse.left.m]).toEqual([[], 100])
  })

  it('gives the limit its charge back where the ledger refuses, and reports one refusal', async () => {
    const { limiter, seen, remaining } = scene({ m: 5 }, isAway)
    const decision = await limiter.check(ask('user', 3))
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: undefined })
    expect(decision.tightest).toMatchObject({
      rule: { name: 'paid', response: { status: 402 } },
      verdict: { kind: 'impossible', ledger: { code: 'LEDGER_SHORT' } },
    })
    expect(seen).toHaveLength(1)
    expect(seen[0].charges).toHaveLength(1)
    expect(seen[0].charges[0]).toMatchObject({ cost: 6, rule: { name: 'paid' } })
    expect(await remaining('user')).toBe(10)
  })

  it('takes a number where it says one, whatever the request weighs', async () => {
    const { limiter, purse } = scene({ m: 100 }, isAway)
    await limiter.check(ask('fixed', 3))
    expect(purse.left.m).toBe(93)
  })

  it('may have no limit', async () => {
    const { limiter, purse } = scene({ m: 1 }, isAway)
    expect((await limiter.check(ask('open'))).allowed).toBe(true)
    expect(await limiter.check(ask('open'))).toMatchObject({
      allowed: false,
      tightest: { rule: { response: { status: 402 } } },
    })
    expect(purse.left.m).toBe(0)
  })

  it('that only reports, weighs nothing or is only looked at takes nothing', async () => {
    const { limiter, purse } = scene({ m: 0 }, isAway)
    for (const request of [ask('shadow'), ask('free'), ask('user', 0), ask('plain')]) {
      expect((await limiter.check(request)).allowed).toBe(true)
    }
    expect(purse.asked).toEqual([])
  })

  it('takes nothing for what is given back, or settled', async () => {
    const { limiter, purse } = scene({ m: 100 }, isAway)
    await limiter.check(ask('user', -1))
    const decision = await limiter.check(ask('model', 10))
    await limiter.settle(ask('model', 10), decision, 30)
    await limiter.settle(ask('model', 10), decision, 1)
    expect(purse.asked).toHaveLength(1)
    expect(purse.left.m).toBe(90)
  })

  it('is paid together with the other rules of the request, or none is', async () => {
    const { limiter, purse, remaining } = scene({ m: 3, n: 1 }, isAway)
    expect((await limiter.check(ask('both'))).allowed).toBe(true)
    const refused = await limiter.check(ask('both'))
    expect([refused.allowed, refused.tightest?.rule.name]).toEqual([false, 'n'])
    expect(purse.left).toEqual({ m: 2, n: 0 })
    expect(await remaining('both')).toBe(9)
  })

  it('gives places back that no one pays for', async () => {
    const { limiter, purse } = scene({ m: 0 }, isAway)
    const held = await limiter.acquire(ask('job'))
    expect([held.decision.allowed, held.permits]).toEqual([false, undefined])
    purse.left.m = 1
    const next = await limiter.acquire(ask('job'))
    expect([next.decision.allowed, next.permits?.held.length]).toEqual([true, 1])
  })

  it('keeps the headers of its author, and neither status nor body, which are about the limit', async () => {
    const { limiter } = scene({ m: 0 }, isAway)
    const { tightest } = await limiter.check(ask('author'))
    expect(tightest?.rule.response).toEqual({ status: 402, body: undefined, headers: [['x-a', 'b']] })
  })

  it('holds what an estimate takes, and an estimate of nothing takes one', async () => {
    const { limiter, purse } = scene({ m: 100 }, isAway)
    const { holds, charged } = await limiter.reserve(ask('model', 0))
    expect(holds).toMatchObject([{ meter: 'm', amount: 1, weight: 1 }])
    expect(await limiter.settleReserved(ask('model', 0), charged, 'r', 40, holds)).toBe(true)
    expect([purse.left.m, purse.booked.m]).toEqual([60, 40])
  })

  it('holds a fixed amount, which no settlement changes', async () => {
    const { limiter, purse } = scene({ m: 100 }, isAway)
    const { holds, charged } = await limiter.reserve(ask('fixed', 2))
    await limiter.settleReserved(ask('fixed', 2), charged, 'r', 9, holds)
    expect([purse.left.m, purse.booked.m]).toEqual([93, 7])
  })
})

it('a Decider without a payer is not slowed by promises, and rules without a meter make none', () => {
  const { limiter } = scene({ m: 1 }, false)
  expect(limiter.check(ask('plain'))).not.toBeInstanceOf(Promise)
  expect(limiter.check(ask('user', 0))).not.toBeInstanceOf(Promise)
})
