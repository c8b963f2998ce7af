import { describe, expect, it } from 'vitest'
import type { Decision } from '../core/combine.ts'
import { allowedVerdict, refusedVerdict, type Verdict } from '../core/decision.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RateLimitRule } from '../core/rules/schema.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { awayStore } from './away-store.suite.ts'
import type { PlannedCharge } from './charge.ts'
import { FullDecider as Decider } from './full-decider.ts'
import { Limiter } from './limiter.ts'
import { LoneDecider } from './lone-decider.ts'
import type { Observer } from './observer.ts'
import type { Charge, Store } from './ports.ts'

interface Received {
  readonly charges: readonly PlannedCharge[]
  readonly decision: Decision
  readonly ms: number
}

class Listener implements Observer {
  readonly received: Received[] = []

  decided(charges: readonly PlannedCharge[], decision: Decision, ms: number): void {
    this.received.push({ charges, decision, ms })
  }
}

const perMinute = (name: string, limit: number, changes: RateLimitRule = {}): RateLimitRule => ({
  name,
  unit: 'minute',
  requests_per_unit: limit,
  ...changes,
})

const rules = compileObjects([
  {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: perMinute('per-user', 2) },
      { key: 'ip', rate_limits: [perMinute('per-ip', 2), { name: 'hourly', unit: 'hour', requests_per_unit: 1 }] },
      { key: 'free', rate_limit: { unlimited: true } },
      { key: 'shadow', shadow_mode: true, rate_limit: perMinute('shadow', 0) },
      { key: 'job', rate_limit: { algorithm: 'concurrency', requests_per_unit: 1 } },
    ],
  },
])

const clock = { nowMs: () => 1_700_000_000_000 }
const ask = (entry: string, cost = 1) => {
  const [key, value] = entry.split('=')
  return { domain: 'd', descriptors: [{ entries: [{ key, value }] }], cost }
}

/** Has a decider and plans for it, on a store in memory, or on the same a round trip away. */
function bench(isShared = false) {
  const listener = new Listener()
  const memory = new MemoryStore({ clock })
  const store: Store = isShared ? awayStore(memory) : memory
  const planner = new Limiter(() => rules, memory)
  const decider = new Decider<Store>(store, listener)
  return { decider, listener, memory, plan: (entry: string, cost?: number) => planner.plan(ask(entry, cost)) }
}

describe.each([
  ['at once', false],
  ['later', true],
])('a Decider on a store that answers %s', (_, isShared) => {
  it.each(['user=a', 'ip=a', 'free=a', 'shadow=a', 'nobody=a'])(
    'notifies the observer of a decision about %s',
    async (entry) => {
      const { decider, listener, plan } = bench(isShared)
      const charges = plan(entry)
      const decision = await decider.decide(charges)
      expect(listener.received).toEqual([{ charges, decision, ms: expect.any(Number) }])
      expect(listener.received[0].charges).toHaveLength(decision.verdicts.length)
      expect(listener.received[0].ms).toBeGreaterThanOrEqual(0)
    },
  )

  it('reports what a request was about: domain, entries and rule', async () => {
    const { decider, listener, plan } = bench(isShared)
    await decider.decide(plan('user=a'))
    const [{ charges }] = listener.received
    expect(charges).toMatchObject([{ domain: 'd', entries: [{ key: 'user', value: 'a' }], rule: { name: 'per-user' } }])
  })

  it('reports an acquire, and gives the permit back', async () => {
    const { decider, listener, plan } = bench(isShared)
    const { decision, permits } = await decider.acquire(plan('job=a'))
    expect(listener.received).toMatchObject([{ decision: { allowed: true } }])
    expect(decision).toBe(listener.received[0].decision)
    expect((await decider.acquire(plan('job=a'))).decision.allowed).toBe(false)
    await decider.release(permits as NonNullable<typeof permits>)
    expect((await decider.acquire(plan('job=a'))).decision.allowed).toBe(true)
    expect(listener.received).toHaveLength(3)
  })

  it('holds nothing for charges that have no places, and decides all the same', async () => {
    const { decider, plan } = bench(isShared)
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await decider.acquire(plan('user=a')))
    expect(answers.map(({ decision, permits }) => [decision.allowed, permits])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, undefined],
    ])
  })

  it('charges all rules of a group or none', async () => {
    const { decider, plan } = bench(isShared)
    await decider.decide(plan('ip=a'))
    expect((await decider.decide(plan('ip=a'))).allowed).toBe(false)
    const { verdicts } = await decider.decide(plan('ip=a', 0))
    expect(verdicts.map(({ verdict }) => verdict.remaining)).toEqual([1, 0])
  })

  it('refunds what was charged', async () => {
    const { decider, listener, plan } = bench(isShared)
    const charges = plan('user=a')
    await decider.refund(charges, await decider.decide(charges))
    expect(listener.received.at(-1)).toMatchObject({ charges: [{ cost: -1 }] })
    expect((await decider.decide(plan('user=a', 0))).verdicts[0].verdict.remaining).toBe(2)
  })

  it('refunds nothing of what was refused', async () => {
    const { decider, plan } = bench(isShared)
    const charges = plan('user=a', 2)
    await decider.decide(charges)
    await decider.refund(charges, await decider.decide(charges))
    expect((await decider.decide(plan('user=a', 0))).verdicts[0].verdict.remaining).toBe(0)
  })

  it('resets the counters of its charges', async () => {
    const { decider, plan } = bench(isShared)
    await decider.decide(plan('user=a', 2))
    await decider.reset(plan('user=a'))
    expect((await decider.decide(plan('user=a', 2))).allowed).toBe(true)
  })
})

describe('a Decider whose limits in quota mode bind', () => {
  const quotas = compileObjects([
    {
      domain: 'd',
      descriptors: [
        { key: 'small', quota_mode: true, rate_limit: perMinute('small', 1) },
        { key: 'large', quota_mode: true, rate_limit: perMinute('large', 4) },
      ],
    },
  ])
  const both = (cost = 1) => ({
    domain: 'd',
    descriptors: ['small', 'large'].map((key) => ({ entries: [{ key, value: 'a' }] })),
    cost,
  })
  const leftOf = ({ verdicts }: Decision) => verdicts.map(({ verdict }) => verdict.remaining)

  function exhausted() {
    const limiter = new Limiter(() => quotas, new MemoryStore({ clock }), { quotasBind: true })
    limiter.check(both())
    const charges = limiter.plan(both())
    return { limiter, charges, decision: limiter.decide(charges) }
  }

  it('lets a request pass while one of them fits, and counts it on none', () => {
    const { limiter, decision } = exhausted()
    expect(decision.allowed).toBe(true)
    expect(leftOf(limiter.check(both(0)))).toEqual([0, 3])
  })

  it.each<[string, (bench: ReturnType<typeof exhausted>) => unknown]>([
    ['refunds', ({ limiter, charges, decision }) => limiter.decider.refund(charges, decision)],
    ['settles', ({ limiter, decision }) => limiter.settle(both(), decision, 0)],
    ['charges late', ({ limiter, decision }) => limiter.settle(both(), decision, 3)],
  ])('%s nothing of a request that was not counted', (_, act) => {
    const bench = exhausted()
    act(bench)
    expect(leftOf(bench.limiter.check(both(0)))).toEqual([0, 3])
  })

  it('reserves nothing for a request that was not counted', async () => {
    expect((await exhausted().limiter.reserve(both())).charged).toEqual([])
  })
})

describe('a request that is refused, and has grants', () => {
  const REFUSED = refusedVerdict(2, 0, 7_000, 9_000)
  const without = { ...allowedVerdict(5, 4, 0), fallback: 'open' as const }

  /** Has a decider whose store says this, one after the other, to a rule and then to two grants of its caller. */
  function decideBy(...said: Verdict[]) {
    const { plan, listener } = bench()
    const store = { decide: () => [said.shift()] } as unknown as Store
    const again = (charges: readonly PlannedCharge[], [refused]: readonly Verdict[]) =>
      ['first', 'second'].map((id) => charges.map((charge) => ({ ...charge, key: id, grant: { id, refused } })))
    const decision = new Decider(store, listener, { again }).decide(plan('user=a')) as Decision
    return { ...decision.verdicts[0].verdict, asked: 3 - said.length, received: listener.received.length }
  }

  it('is charged on the first that has budget, and shows when its own rule has some again', () => {
    const taken = { allowed: true, remaining: 4, grant: 'first', resetAfterMs: 9_000, asked: 2, received: 1 }
    expect(decideBy(REFUSED, allowedVerdict(5, 4, 100), allowedVerdict(5, 4, 100))).toMatchObject(taken)
    expect(decideBy(REFUSED, REFUSED, allowedVerdict(5, 3, 0))).toMatchObject({ remaining: 3, grant: 'second' })
  })

  it('stays refused where the store goes away before they are asked about', () => {
    expect(decideBy(REFUSED, without, without)).toMatchObject({ kind: 'refused', retryAfterMs: 9_000, received: 1 })
    expect(decideBy(REFUSED, without, allowedVerdict(5, 3, 0))).toMatchObject({ allowed: true, grant: 'second' })
  })
})

describe('what a request has cost in the end', () => {
  it.each([
    [1, 2, 0],
    [0, 2, 2],
    [1, 1, 1],
  ])('is counted by the weight of its rule: %i times %i leaves %i of 2', (cost, weight, left) => {
    const { decider, plan } = bench()
    const charges = plan('user=a').map((charge) => ({ ...charge, weight }))
    const decision = decider.decide(charges) as Decision
    decider.settle(charges, decision, cost)
    expect((decider.decide(plan('user=a', 0)) as Decision).tightest?.verdict.remaining).toBe(left)
  })

  it('is not counted where the request was refused, or cost what was charged', () => {
    const { decider, plan, listener } = bench()
    const [tooMuch, one] = [plan('user=a', 3), plan('user=a')]
    expect(decider.settle(tooMuch, decider.decide(tooMuch) as Decision, 0)).toBeUndefined()
    expect(decider.settle(one, decider.decide(one) as Decision, 1)).toBeUndefined()
    expect(listener.received).toHaveLength(2)
  })

  it('is not counted by a rule that would have refused, where others admit the request', () => {
    const limiter = new Limiter(() => rules, new MemoryStore({ clock }))
    const shadow = (cost: number) => ask('shadow=a', cost)
    expect(limiter.settle(shadow(1), limiter.check(shadow(1)), 5)).toBeUndefined()
  })
})

describe('a Decider', () => {
  it.each<[string, Partial<Verdict>]>([
    ['the failure policy admitted', { fallback: 'open' }],
    ['was not asked', { unasked: true }],
  ])('refunds nothing that %s', async (_, changes) => {
    const asked: (readonly Charge[])[] = []
    const store = {
      decide: (charges: readonly Charge[]) => {
        asked.push(charges)
        return [{ ...allowedVerdict(2, 2, 0), ...changes }]
      },
    } as unknown as Store
    const decider = new Decider(store)
    const charges = bench().plan('user=a')
    await decider.refund(charges, await decider.decide(charges))
    expect(asked).toHaveLength(1)
  })

  it('alone decides about one key as a Decider does about a list of one', () => {
    const { memory, plan, listener } = bench()
    const [{ rule, key }] = plan('user=a')
    const decider = new LoneDecider(rule, memory, listener)
    const verdicts = [1, 1, 1].map((cost) => decider.decide(key, cost))
    expect(verdicts.map(({ kind }) => kind)).toEqual(['allowed', 'allowed', 'refused'])
    expect(listener.received.map(({ decision }) => decision.tightest?.verdict)).toEqual(verdicts)
  })

  it('looks at no clock while no one listens', () => {
    const { memory, plan } = bench()
    const now = performance.now
    performance.now = () => expect.unreachable()
    try {
      new Decider(memory).decide(plan('user=a'))
    } finally {
      performance.now = now
    }
  })
})
