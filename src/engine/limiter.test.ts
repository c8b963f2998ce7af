import { describe, expect, it } from 'vitest'
import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/combine.ts'
import type { CheckRequest, Entry } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { DescriptorRule } from '../core/rules/schema.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { awayStore } from './away-store.suite.ts'
import { Limiter } from './limiter.ts'
import type { HeldPermits } from './ports.ts'

const START_MS = 1_700_000_040_000

/** A limiter on rules of the domain `api`, with a clock of its own. */
function bench(...descriptors: DescriptorRule[]) {
  let nowMs = START_MS
  const clock: Clock = { nowMs: () => nowMs }
  const rules = compileObjects([{ domain: 'api', descriptors }])
  const store = new MemoryStore({ clock })
  const advance = (ms: number): void => {
    nowMs += ms
  }
  return { limiter: new Limiter(() => rules, store), rules, store, advance }
}

const perMinute = (name: string, requests_per_unit: number) =>
  ({ name, algorithm: 'fixed_window', unit: 'minute', requests_per_unit }) as const

/** Makes a request of descriptors, each written as `key=value key=value`. */
function ask(descriptors: string | string[], cost?: number, domain = 'api'): CheckRequest {
  const list = typeof descriptors === 'string' ? [descriptors] : descriptors
  const parsed = list.map((each) => ({
    entries: each.split(' ').map((part): Entry => ({ key: part.split('=')[0], value: part.split('=')[1] })),
  }))
  return { domain, descriptors: parsed, ...(cost !== undefined && { cost }) }
}

/** Lists what every rule said: `name remaining kind`. */
const standings = ({ verdicts }: Decision): string[] =>
  verdicts.map(({ rule, verdict }) => `${rule.name} ${verdict.remaining} ${verdict.kind}`)

describe('check', () => {
  it('admits up to the limit, refuses, and admits again when the window is over', () => {
    const { limiter, advance } = bench({ key: 'user', rate_limit: perMinute('per-user', 2) })
    const steps = [0, 0, 0, 59_999, 1].map((ms) => {
      advance(ms)
      const { allowed, retryAfterMs } = limiter.check(ask('user=alice'))
      return [allowed, retryAfterMs]
    })
    expect(steps).toEqual([
      [true, undefined],
      [true, undefined],
      [false, 60_000],
      [false, 1],
      [true, undefined],
    ])
  })

  it('counts every caller apart', () => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 1) })
    expect(limiter.check(ask('user=alice')).allowed).toBe(true)
    expect(limiter.check(ask('user=bob')).allowed).toBe(true)
    expect(limiter.check(ask('user=alice')).allowed).toBe(false)
  })

  it.each([
    ['an unknown domain', ask('user=alice', 1, 'other')],
    ['a domain named like a part of an object', ask('user=alice', 1, '__proto__')],
    ['an unknown key', ask('tenant=alice')],
    ['a key named like a part of an object', ask('__proto__=constructor')],
    ['a descriptor that is deeper than any rule', ask('user=alice path=/')],
    ['no descriptor', { domain: 'api', descriptors: [] }],
  ])('allows %s without a limit', (_, request) => {
    const { limiter, store } = bench({ key: 'user', rate_limit: perMinute('per-user', 0) })
    const { allowed, tightest, verdicts } = limiter.check(request)
    expect({ allowed, tightest, verdicts }).toEqual({ allowed: true, tightest: undefined, verdicts: [] })
    expect(store.stats.keys).toBe(0)
  })

  it('charges every rule that matched', () => {
    const { limiter } = bench(
      { key: 'user', rate_limits: [perMinute('minute', 5), { ...perMinute('hour', 9), unit: 'hour' }] },
      { key: 'ip', rate_limit: perMinute('per-ip', 7) },
    )
    const request = ask(['user=alice', 'ip=1.2.3.4'])
    expect(standings(limiter.check(request))).toEqual(['minute 4 allowed', 'hour 8 allowed', 'per-ip 6 allowed'])
    expect(standings(limiter.check(request))).toEqual(['minute 3 allowed', 'hour 7 allowed', 'per-ip 5 allowed'])
  })

  it('charges none of them when one refuses', () => {
    const { limiter } = bench(
      { key: 'user', rate_limit: perMinute('per-user', 5) },
      { key: 'ip', rate_limit: perMinute('per-ip', 1) },
    )
    const request = ask(['user=alice', 'ip=1.2.3.4'])
    expect(limiter.check(request).allowed).toBe(true)
    for (let i = 0; i < 10; i++) expect(limiter.check(request).allowed).toBe(false)
    expect(standings(limiter.check(ask('user=alice', 0)))).toEqual(['per-user 4 allowed'])
  })

  it('reports of a rule that was not charged what is really left of it', () => {
    const { limiter } = bench(
      { key: 'user', rate_limit: perMinute('per-user', 5) },
      { key: 'ip', rate_limit: perMinute('per-ip', 1) },
    )
    const request = ask(['user=alice', 'ip=1.2.3.4'])
    limiter.check(request)
    expect(standings(limiter.check(request))).toEqual(['per-user 4 allowed', 'per-ip 0 refused'])
  })

  it('lets the strictest rule decide', () => {
    const { limiter } = bench({
      key: 'user',
      rate_limits: [perMinute('minute', 2), { ...perMinute('hour', 2), unit: 'hour' }, perMinute('wide', 100)],
    })
    const request = ask('user=alice')
    expect(limiter.check(request).tightest?.rule.name).toBe('hour')
    limiter.check(request)
    const { allowed, tightest, retryAfterMs } = limiter.check(request)
    expect([allowed, tightest?.rule.name]).toEqual([false, 'hour'])
    expect(retryAfterMs).toBe(3_600_000 - (START_MS % 3_600_000))
  })

  it('says exactly when the same request is admitted by all rules', () => {
    const { limiter, advance } = bench({
      key: 'user',
      rate_limits: [
        { name: 'log', algorithm: 'sliding_log', window: '10s', requests_per_unit: 2 },
        { name: 'bucket', algorithm: 'token_bucket', window: '30s', requests_per_unit: 3 },
      ],
    })
    const request = ask('user=alice', 2)
    expect(limiter.check(request).allowed).toBe(true)
    const { retryAfterMs = 0 } = limiter.check(request)
    advance(retryAfterMs - 1)
    expect(limiter.check(request)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    advance(1)
    expect(limiter.check(request).allowed).toBe(true)
  })

  it('reports what a shadow rule would have done, and never refuses for it', () => {
    const { limiter } = bench(
      { key: 'user', shadow_mode: true, rate_limit: perMinute('trial', 1) },
      { key: 'ip', rate_limit: perMinute('per-ip', 9) },
    )
    const request = ask(['user=alice', 'ip=1.2.3.4'])
    limiter.check(request)
    const second = limiter.check(request)
    expect([second.allowed, second.tightest?.rule.name]).toEqual([true, 'per-ip'])
    expect(standings(second)).toEqual(['trial 0 refused', 'per-ip 7 allowed'])
  })

  it('charges what fits in shadow mode, and says all the same what the rules say', () => {
    const { rules, store } = bench(
      { key: 'user', rate_limit: perMinute('none', 0) },
      { key: 'path', rate_limit: perMinute('some', 3) },
    )
    const limiter = new Limiter(() => rules, store, { shadow: true })
    for (const left of [2, 1]) {
      const decision = limiter.check(ask(['user=a', 'path=b']))
      expect([decision.allowed, standings(decision)]).toEqual([false, ['none 0 impossible', `some ${left} allowed`]])
    }
  })

  it('charges the others when a shadow rule refuses, and not the shadow rule when another refuses', () => {
    const { limiter } = bench(
      { key: 'user', shadow_mode: true, rate_limit: perMinute('trial', 3) },
      { key: 'ip', rate_limit: perMinute('per-ip', 1) },
    )
    limiter.check(ask(['user=alice', 'ip=1.2.3.4']))
    expect(limiter.check(ask(['user=alice', 'ip=1.2.3.4'])).allowed).toBe(false)
    expect(standings(limiter.check(ask('user=alice', 0)))).toEqual(['trial 2 allowed'])
  })

  it('charges a counter twice that one request names twice', () => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 3) })
    const twice = ask(['user=alice', 'user=alice'])
    expect(limiter.check(twice).allowed).toBe(true)
    expect(limiter.check(twice).allowed).toBe(false)
    expect(standings(limiter.check(ask('user=alice', 0)))).toEqual(['per-user 1 allowed'])
  })

  it.each([
    ['charges a cost', 3, ['per-user 2 allowed', 'per-user 2 allowed']],
    ['looks with a cost of 0', 0, ['per-user 5 allowed', 'per-user 5 allowed']],
    ['refuses a cost above the limit, and does not charge it', 6, ['per-user 5 impossible', 'per-user 5 allowed']],
  ])('%s', (_, cost, expected) => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 5) })
    const answers = [limiter.check(ask('user=alice', cost)), limiter.check(ask('user=alice', 0))]
    expect(answers.flatMap(standings)).toEqual(expected)
  })

  it('gives back with a cost below 0', () => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 5) })
    limiter.check(ask('user=alice', 5))
    expect(limiter.check(ask('user=alice')).allowed).toBe(false)
    expect(standings(limiter.check(ask('user=alice', -2)))).toEqual(['per-user 2 allowed'])
    expect(limiter.check(ask('user=alice', 2)).allowed).toBe(true)
  })

  it.each([
    ['1.5', 1.5],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['4294967296', 4_294_967_296],
    ['-4294967296', -4_294_967_296],
  ])('throws at a cost of %s, also where no rule applies', (encoded, cost) => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 5) })
    for (const request of [ask('user=alice', cost), ask('user=alice', cost, 'other')]) {
      expect(() => limiter.check(request)).toThrow(
        expect.objectContaining({
          message: `COST_INVALID: cost: got ${encoded}. A cost must be a whole number from -4294967295 to 4294967295.`,
        }),
      )
    }
  })

  it('keeps rules of different domains apart', () => {
    const rule = { key: 'user', rate_limit: perMinute('per-user', 1) }
    const rules = compileObjects([
      { domain: 'a', descriptors: [rule] },
      { domain: 'b', descriptors: [rule] },
    ])
    const limiter = new Limiter(() => rules, new MemoryStore({ clock: { nowMs: () => START_MS } }))
    expect(limiter.check(ask('user=alice', 1, 'a')).allowed).toBe(true)
    expect(limiter.check(ask('user=alice', 1, 'b')).allowed).toBe(true)
    expect(limiter.check(ask('user=alice', 1, 'a')).allowed).toBe(false)
  })

  it('follows the rules in force, and keeps what was counted when a limit is raised', () => {
    const rules = [1, 3].map((count) =>
      compileObjects([{ domain: 'api', descriptors: [{ key: 'user', rate_limit: perMinute('per-user', count) }] }]),
    )
    let inForce = rules[0]
    const limiter = new Limiter(() => inForce, new MemoryStore({ clock: { nowMs: () => START_MS } }))
    limiter.check(ask('user=alice'))
    expect(limiter.check(ask('user=alice')).allowed).toBe(false)
    inForce = rules[1]
    expect(standings(limiter.check(ask('user=alice')))).toEqual(['per-user 1 allowed'])
  })
})

describe('acquire', () => {
  const held = { key: 'user', rate_limit: { name: 'at-once', algorithm: 'concurrency', requests_per_unit: 1 } } as const

  it('holds a place until it is released', () => {
    const { limiter } = bench(held)
    const first = limiter.acquire(ask('user=alice'))
    expect(first.decision.allowed).toBe(true)
    expect(limiter.acquire(ask('user=alice'))).toMatchObject({ decision: { allowed: false }, permits: undefined })
    limiter.release(first.permits as HeldPermits)
    expect(limiter.acquire(ask('user=alice')).decision.allowed).toBe(true)
  })

  it('releases once, however often it is asked', () => {
    const { limiter } = bench({ key: 'user', rate_limit: { ...held.rate_limit, requests_per_unit: 2 } })
    const [one] = [limiter.acquire(ask('user=alice')), limiter.acquire(ask('user=alice'))]
    limiter.release(one.permits as HeldPermits)
    limiter.release(one.permits as HeldPermits)
    expect(limiter.acquire(ask('user=alice')).decision.allowed).toBe(true)
    expect(limiter.acquire(ask('user=alice')).decision.allowed).toBe(false)
  })

  it('gives the place of a holder that crashed back after the permits', () => {
    const { limiter, advance } = bench({ key: 'user', rate_limit: { ...held.rate_limit, lease_ttl: '5s' } })
    limiter.acquire(ask('user=alice'))
    advance(4_999)
    expect(limiter.acquire(ask('user=alice')).decision).toMatchObject({ allowed: false, retryAfterMs: 1 })
    advance(1)
    expect(limiter.acquire(ask('user=alice')).decision.allowed).toBe(true)
  })

  it('takes no place when another rule refuses, and charges nothing when there is no place', () => {
    const { limiter } = bench(held, { key: 'ip', rate_limit: perMinute('per-ip', 2) })
    const request = ask(['user=alice', 'ip=1.2.3.4'])
    const first = limiter.acquire(request)
    expect(limiter.acquire(request).decision.allowed).toBe(false)
    expect(standings(limiter.check(ask('ip=1.2.3.4')))).toEqual(['per-ip 0 allowed'])
    limiter.release(first.permits as HeldPermits)
    expect(limiter.acquire(request)).toMatchObject({ decision: { allowed: false }, permits: undefined })
    expect(limiter.acquire(ask('user=alice')).decision.allowed).toBe(true)
  })

  it('only looks at places when it is a check', () => {
    const { limiter } = bench(held)
    for (let i = 0; i < 3; i++) expect(limiter.check(ask('user=alice')).allowed).toBe(true)
    limiter.acquire(ask('user=alice'))
    expect(limiter.check(ask('user=alice')).allowed).toBe(false)
  })

  it('allows without a permits where no rule applies', () => {
    const { limiter } = bench(held)
    expect(limiter.acquire(ask('tenant=a'))).toMatchObject({
      decision: { allowed: true, verdicts: [] },
      permits: undefined,
    })
  })
})

describe('reset', () => {
  it('gives the caller the whole budget again, in every rule that matches, and no one else', () => {
    const { limiter } = bench({
      key: 'user',
      rate_limits: [perMinute('minute', 2), { ...perMinute('hour', 3), unit: 'hour' }],
    })
    for (const user of ['alice', 'bob']) limiter.check(ask(`user=${user}`, 2))
    expect(limiter.reset(ask('user=alice'))).toBeUndefined()
    expect(standings(limiter.check(ask('user=alice', 0)))).toEqual(['minute 2 allowed', 'hour 3 allowed'])
    expect(standings(limiter.check(ask('user=bob', 0)))).toEqual(['minute 0 refused', 'hour 1 allowed'])
  })
})

describe('a synchronous store', () => {
  it('gives plain values', () => {
    const { limiter } = bench({ key: 'user', rate_limit: perMinute('per-user', 5) })
    expect(limiter.check(ask('user=alice'))).not.toBeInstanceOf(Promise)
    expect(limiter.acquire(ask('user=alice'))).not.toBeInstanceOf(Promise)
    expect(limiter.reset(ask('user=alice'))).toBeUndefined()
  })
})

describe('a store that promises', () => {
  it('gives promises of the same answers', async () => {
    const { rules, store } = bench({ key: 'user', rate_limit: { ...perMinute('per-user', 2) } })
    const limiter = new Limiter(() => rules, awayStore(store))
    const answer = limiter.check(ask('user=alice'))
    expect(answer).toBeInstanceOf(Promise)
    expect(standings(await answer)).toEqual(['per-user 1 allowed'])
    const { decision, permits } = await limiter.acquire(ask('user=alice'))
    expect(standings(decision)).toEqual(['per-user 0 allowed'])
    expect(permits).toBeUndefined()
    expect((await limiter.check(ask('user=alice'))).allowed).toBe(false)
    const reset = limiter.reset(ask('user=alice'))
    expect(reset).toBeInstanceOf(Promise)
    expect(await reset).toBeUndefined()
    expect(standings(await limiter.check(ask('user=alice', 0)))).toEqual(['per-user 2 allowed'])
  })

  it('takes a place, and gives it back', async () => {
    const { rules, store } = bench({ key: 'user', rate_limit: { algorithm: 'concurrency', requests_per_unit: 1 } })
    const limiter = new Limiter(() => rules, awayStore(store))
    const { decision, permits } = await limiter.acquire(ask('user=alice'))
    expect(decision.allowed).toBe(true)
    expect((await limiter.acquire(ask('user=alice'))).decision.allowed).toBe(false)
    await limiter.release(permits as HeldPermits)
    expect((await limiter.acquire(ask('user=alice'))).decision.allowed).toBe(true)
  })

  it('is not asked at all where no rule applies', () => {
    const { rules } = bench({ key: 'user', rate_limit: perMinute('per-user', 2) })
    const fail = (): never => {
      throw new Error('asked')
    }
    const limiter = new Limiter(() => rules, {
      decide: fail,
      acquire: fail,
      release: fail,
      renew: fail,
      reset: fail,
      close: fail,
    })
    expect(limiter.check(ask('tenant=a'))).toMatchObject({ allowed: true })
    expect(limiter.acquire(ask('tenant=a'))).toMatchObject({ decision: { allowed: true } })
    expect(limiter.reset(ask('tenant=a'))).toBeUndefined()
  })
})
