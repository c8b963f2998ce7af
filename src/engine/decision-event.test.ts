import { describe, expect, it } from 'vitest'
import { createLimiter, type RuleFile, rateLimit } from '../index.ts'
import type { DecisionEvent } from './decision-event.ts'
import type { Observer } from './observer.ts'

const RULES: RuleFile = {
  domain: 'd',
  descriptors: [
    { key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 2 } },
    { key: 'path', descriptors: [{ key: 'ip', rate_limit: { unit: 'hour', requests_per_unit: 1 } }] },
  ],
}
const user = { entries: [{ key: 'user', value: 'alice' }] }
const place = {
  entries: [
    { key: 'path', value: '/' },
    { key: 'ip', value: '::1' },
  ],
}

/** Has a limiter, and what it told without the times. */
function bench(observer?: Observer) {
  const events: Omit<DecisionEvent, 'ms'>[] = []
  const limiter = createLimiter({
    rules: RULES,
    observer,
    onDecision: ({ ms, ...event }) => {
      expect(ms).toBeGreaterThanOrEqual(0)
      events.push(event)
    },
  })
  return { limiter, events }
}

const ALLOWED = { allowed: true, rule: 'user', keyKind: 'user', cost: 1, limit: 2, remaining: 1, fallback: undefined }

describe('onDecision', () => {
  it('is notified of each decision, by the rule that decided', () => {
    const { limiter, events } = bench()
    limiter.check({ domain: 'd', descriptors: [user] })
    limiter.check({ domain: 'd', descriptors: [user, place] })
    limiter.check({ domain: 'd', descriptors: [place] })
    expect(events).toEqual([
      ALLOWED,
      { ...ALLOWED, remaining: 0 },
      { ...ALLOWED, allowed: false, rule: 'path/ip', keyKind: 'path,ip', limit: 1, remaining: 0 },
    ])
  })

  it('is notified of requests without a rule', () => {
    const { limiter, events } = bench()
    limiter.check({ domain: 'nobody', descriptors: [user] })
    const nothing = { rule: undefined, keyKind: undefined, limit: undefined, remaining: undefined, fallback: undefined }
    expect(events).toEqual([{ allowed: true, cost: 0, ...nothing }])
  })

  it('is not notified again of a request that is settled, or given back', () => {
    const { limiter, events } = bench()
    const request = { domain: 'd', descriptors: [user] }
    limiter.settle(request, limiter.check(request), 2)
    limiter.check({ ...request, cost: -1 })
    expect(events).toEqual([ALLOWED])
  })

  it('is notified together with an observer, which receives everything', () => {
    const heard: string[] = []
    const observer = { decided: () => void heard.push('decided'), unmatched: () => void heard.push('unmatched') }
    const { limiter, events } = bench(observer)
    limiter.check({ domain: 'nobody', descriptors: [user] })
    limiter.check({ domain: 'd', descriptors: [user], cost: -1 })
    expect(heard).toEqual(['unmatched', 'decided', 'decided'])
    expect(events).toHaveLength(1)
  })

  it('is called by a limit of the library, which has no kinds of keys', () => {
    const events: DecisionEvent[] = []
    const limiter = rateLimit({ limit: 1, window: '1m', name: 'login', onDecision: (event) => void events.push(event) })
    limiter.check('alice')
    limiter.check('alice')
    expect(events.map(({ rule, keyKind, allowed }) => [rule, keyKind, allowed])).toEqual([
      ['login', undefined, true],
      ['login', undefined, false],
    ])
  })
})
