import { allowedVerdict, refusedVerdict, type Verdict } from 'sluice/internal/core/decision'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { Limiter, type LimiterParts } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { type ObservedDoor, observerOf } from '../door-observer.ts'
import { DecisionMetrics } from './decision-metrics.ts'
import { ReportBuilder } from './metrics-report.ts'

const minute = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit }) as const
const RULES: RuleFile = {
  domain: 'd',
  tiers: { pro: { rate_limit: minute(20) } },
  descriptors: [
    { key: 'user', rate_limit: minute(10) },
    { key: 'shadow', shadow_mode: true, rate_limit: minute(1) },
    { key: 'free', rate_limit: { unlimited: true } },
    { key: 'plan', tiered: true, rate_limit: minute(2) },
  ],
}

interface BenchOptions extends LimiterParts {
  readonly door?: ObservedDoor
  readonly maxRules?: number
}

/** Has a limiter in memory that is counted. */
function bench(file: RuleFile = RULES, { door = 'rls', maxRules = 100, ...parts }: BenchOptions = {}) {
  let rules: RuleSet = compileObjects([file])
  const metrics = new DecisionMetrics(() => rules, maxRules)
  const store = new MemoryStore()
  const limiter = new Limiter(() => rules, store, { ...parts, observer: observerOf(door, [metrics]) })
  const ask = (key: string, cost = 1, value = 'a', more: object = {}) =>
    limiter.check({ domain: 'd', descriptors: [{ entries: [{ key, value }], ...more }], cost })
  const series = (name: string): Record<string, number> => {
    const into = new ReportBuilder()
    metrics.report(into)
    const { labels, values } = into.build()[name] ?? { labels: [], values: [] }
    const width = values.length / labels.length
    return Object.fromEntries(labels.flatMap((label, i) => (values[i * width] > 0 ? [[label, values[i * width]]] : [])))
  }
  const row = (name: string, label: string): number[] => {
    const into = new ReportBuilder()
    metrics.report(into)
    const { labels, values } = into.build()[name]
    const width = values.length / labels.length
    const at = labels.indexOf(label)
    return [...values.subarray(at * width, (at + 1) * width)]
  }
  /** Has it counted what a store might have said. */
  const tell = (key: string, verdict: Verdict, cost = 1) => {
    const charges = limiter.plan({ domain: 'd', descriptors: [{ entries: [{ key, value: 'a' }] }], cost })
    const verdicts = charges.map(({ rule, descriptor }) => ({ rule, descriptor, verdict }))
    const decision = { allowed: verdict.allowed, retryAfterMs: 0, delayMs: 0, tightest: verdicts[0], verdicts }
    metrics.decided('rls', charges, decision, 1)
  }
  const load = (next: RuleFile): void => {
    rules = compileObjects([next])
  }
  return { ask, tell, series, row, limiter, load }
}

const USER = 'domain="d",rule="user"'

describe('DecisionMetrics', () => {
  it('counts verdicts of rules by outcome and door, and requests by what became of them', () => {
    const { ask, series } = bench(RULES, { door: 'http' })
    ask('user', 9)
    ask('user', 1)
    ask('user', 1)
    ask('nobody')
    expect(series('ratelimit_decisions_total')).toEqual({
      [`${USER},outcome="allowed",door="http"`]: 2,
      [`${USER},outcome="denied",door="http"`]: 1,
    })
    expect(series('ratelimit_requests_total')).toEqual({
      'outcome="allowed",door="http"': 2,
      'outcome="denied",door="http"': 1,
      'outcome="unmatched",door="http"': 1,
    })
    expect(series('ratelimit_denied_total')).toEqual({ [USER]: 1 })
    expect(series('ratelimit_hits_total')).toEqual({ [USER]: 10 })
    expect(series('ratelimit_unmatched_total')).toEqual({ 'reason="no_rule"': 1 })
  })

  it('counts what a shadow rule would refuse, and no request as refused', () => {
    const { ask, series } = bench()
    ask('shadow')
    ask('shadow')
    expect(series('ratelimit_shadow_denied_total')).toEqual({ 'domain="d",rule="shadow"': 1 })
    expect(series('ratelimit_denied_total')).toEqual({})
    expect(series('ratelimit_requests_total')).toEqual({ 'outcome="allowed",door="rls"': 2 })
  })

  it('counts no request as refused while every rule only reports', () => {
    const { ask, series } = bench(RULES, { shadow: true })
    ask('user', 10)
    ask('user')
    expect(series('ratelimit_shadow_denied_total')).toEqual({ [USER]: 1 })
    expect(series('ratelimit_denied_total')).toEqual({})
    expect(series('ratelimit_requests_total')).toEqual({ 'outcome="allowed",door="rls"': 2 })
  })

  it('counts a look and a refund as no request, but their time', () => {
    const { ask, series, row } = bench()
    ask('user', 0)
    ask('user', -1)
    expect(series('ratelimit_decisions_total')).toEqual({})
    expect(series('ratelimit_requests_total')).toEqual({})
    expect(
      row('ratelimit_check_duration_seconds', 'door="rls"')
        .slice(0, -1)
        .reduce((a, b) => a + b),
    ).toBe(2)
  })

  it('counts late charges as hits of the rule, and not as another request', () => {
    const { limiter, ask, series } = bench()
    const request = { domain: 'd', descriptors: [{ entries: [{ key: 'user', value: 'a' }] }] }
    limiter.settle(request, ask('user'), 4)
    expect(series('ratelimit_hits_total')).toEqual({ [USER]: 4 })
    expect(series('ratelimit_requests_total')).toEqual({ 'outcome="allowed",door="rls"': 1 })
  })

  it('counts verdicts that were made without the store separately', () => {
    const { tell, series } = bench()
    tell('user', { ...allowedVerdict(10, 10, 0), fallback: 'open' })
    tell('user', { ...allowedVerdict(10, 9, 0), fallback: 'local' })
    tell('user', { ...refusedVerdict(10, 0, 1, 1), fallback: 'closed' })
    expect(series('ratelimit_decisions_total')).toEqual({
      [`${USER},outcome="fallback_allowed",door="rls"`]: 2,
      [`${USER},outcome="fallback_denied",door="rls"`]: 1,
    })
    expect(series('ratelimit_failopen_total')).toEqual({ [USER]: 1 })
    expect(series('ratelimit_hits_total')).toEqual({})
    expect(series('ratelimit_remaining')).toEqual({})
  })

  it('leaves out a rule that was not asked, because another was known to refuse', () => {
    const { tell, series } = bench()
    tell('user', { ...refusedVerdict(10, 0, 1, 1), unasked: true })
    expect(series('ratelimit_decisions_total')).toEqual({})
  })

  it.each([
    [0, 0],
    [1, 2],
    [2, 3],
    [3, 4],
    [4, 5],
    [5, 5],
    [6, 6],
    [8, 7],
    [9, 8],
    [10, 9],
    [30, 9],
  ])('counts %d of 10 that are left into bucket %d', (remaining, bucket) => {
    const { tell, row } = bench()
    tell('user', allowedVerdict(10, remaining, 0))
    const buckets = row('ratelimit_remaining', 'domain="d",tier="none"')
    expect(buckets.indexOf(1)).toBe(bucket)
    expect(buckets.at(-1)).toBeCloseTo(Math.min(1, remaining / 10))
  })

  it('reports what remains by tier', () => {
    const { limiter, row } = bench()
    const entries = [
      { key: 'tier', value: 'pro' },
      { key: 'plan', value: 'a' },
    ]
    limiter.check({ domain: 'd', descriptors: [{ entries }] })
    expect(row('ratelimit_remaining', 'domain="d",tier="pro"').at(-1)).toBe(0.95)
  })

  it('says nothing of what remains of a rule without a limit', () => {
    const { ask, series } = bench()
    ask('free')
    expect(series('ratelimit_decisions_total')).toEqual({ 'domain="d",rule="free",outcome="allowed",door="rls"': 1 })
    expect(series('ratelimit_remaining')).toEqual({})
  })
})

describe('the rules that have series', () => {
  const of = (...keys: string[]): RuleFile => ({
    domain: 'd',
    descriptors: keys.map((key) => ({ key, rate_limit: minute(10) })),
  })

  it('exist for the rules of the file from the start, before they decide anything', () => {
    const { row } = bench(of('a', 'b'))
    expect(row('ratelimit_denied_total', 'domain="d",rule="b"')).toEqual([0])
  })

  it('are the first ones; all others are counted together', () => {
    const { ask, series } = bench(of('a', 'b', 'c', 'e'), { maxRules: 2 })
    for (const key of ['e', 'c', 'b', 'a']) ask(key)
    expect(series('ratelimit_hits_total')).toEqual({
      'domain="other",rule="other"': 2,
      'domain="d",rule="a"': 1,
      'domain="d",rule="b"': 1,
    })
  })

  it('keep counting after a reload', () => {
    const { ask, series, load } = bench(of('a'))
    ask('a')
    load(of('x', 'a'))
    ask('a')
    ask('x')
    expect(series('ratelimit_hits_total')).toEqual({ 'domain="d",rule="a"': 2, 'domain="d",rule="x"': 1 })
  })

  it('keep their counts after they are gone, until others need the room', () => {
    const { ask, series, load } = bench(of('a', 'b'), { maxRules: 2 })
    ask('a')
    ask('b')
    load(of('a'))
    expect(series('ratelimit_hits_total')).toEqual({ 'domain="d",rule="a"': 1, 'domain="d",rule="b"': 1 })
    load(of('a', 'c'))
    ask('c', 3)
    expect(series('ratelimit_hits_total')).toEqual({ 'domain="d",rule="a"': 1, 'domain="d",rule="c"': 3 })
  })

  it('do not get what was asked under a rule that is gone meanwhile', () => {
    const { limiter, load, series } = bench(of('a'), { maxRules: 1 })
    const request = (key: string) => ({ domain: 'd', descriptors: [{ entries: [{ key, value: 'a' }] }] })
    limiter.check(request('a'))
    const charges = limiter.plan(request('a'))
    load(of('b'))
    limiter.check(request('b'))
    limiter.decide(charges)
    expect(series('ratelimit_hits_total')).toEqual({ 'domain="other",rule="other"': 1, 'domain="d",rule="b"': 1 })
  })

  it('are not made by limits that requests bring along', () => {
    const { ask, series } = bench()
    for (const requestsPerUnit of [5, 6, 7]) ask('user', 1, 'a', { limit: { requestsPerUnit, unit: 'minute' } })
    expect(series('ratelimit_hits_total')).toEqual({ 'domain="other",rule="override"': 3 })
  })
})
