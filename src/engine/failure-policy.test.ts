import { describe, expect, it } from 'vitest'
import { compileLimit } from '../core/limit.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { FailurePolicy } from './failure-policy.ts'
import type { Charge, ChargePolicy, HeldPermits, Store } from './ports.ts'
import { StoreFault } from './store-fault.ts'

const TEN = compileLimit({ limit: 10, window: '1m' })
const PLACES = compileLimit({ limit: 4, algorithm: 'concurrency' })

function charge(key: string, onStoreFailure: ChargePolicy['onStoreFailure'], change: Partial<Charge> = {}): Charge {
  const policy = { onStoreFailure, localShare: 0.5, timeoutMs: 5 }
  return { key, limit: TEN, cost: 1, enforce: true, policy, ...change }
}

/** A store that fails in the way it is told, and works otherwise. */
function bench(
  fail: () => never = () => {
    throw new StoreFault('offline', 'redis', 'not connected')
  },
) {
  const clock = { nowMs: () => 1_780_000_000_000 }
  const shared = new MemoryStore({ clock })
  const events: string[] = []
  let isDown = false
  const guarded = <T>(work: () => T): T => (isDown ? fail() : work())
  const flaky: Store = {
    decide: async (charges) => guarded(() => shared.decide(charges)),
    acquire: async (charges) => guarded(() => shared.acquire(charges)),
    release: async (permits) => guarded(() => shared.release(permits)),
    renew: async (permits) => guarded(() => shared.renew(permits)),
    reset: async (key, limit) => guarded(() => shared.reset(key, limit)),
    close: async () => {},
  }
  let nowMs = 0
  const policy = new FailurePolicy(
    flaky,
    new MemoryStore({ clock }),
    { fellBack: (mode, reason, shard) => events.push(`${mode} ${reason} ${shard}`) },
    () => nowMs,
  )
  return {
    policy,
    advance: (ms: number) => {
      nowMs += ms
    },
    events,
    shared,
    down: () => {
      isDown = true
    },
    up: () => {
      isDown = false
    },
  }
}

describe('failure policy', () => {
  it('passes on what the store says while it says something', async () => {
    const { policy, events } = bench()
    expect(await policy.decide([charge('a', 'closed')])).toEqual([
      { kind: 'allowed', allowed: true, limit: 10, remaining: 9, resetAfterMs: 20_000, delayMs: 0 },
    ])
    expect(events).toEqual([])
  })

  it('admits for as long as an open rule says, and counts locally from then on, in each outage again', async () => {
    const { policy, down, up, advance } = bench()
    const openFor = charge('a', 'open', {
      policy: { onStoreFailure: 'open', openForMs: 60_000, localShare: 0.2, timeoutMs: 5 },
    })
    const fallbacks = async (times: number): Promise<(string | undefined)[]> => {
      const seen = []
      for (let i = 0; i < times; i++) seen.push((await policy.decide([openFor]))[0])
      return seen.map(({ allowed, fallback }) => `${fallback} ${allowed}`)
    }
    down()
    expect(await fallbacks(3)).toEqual(['open true', 'open true', 'open true'])
    advance(59_999)
    expect(await fallbacks(1)).toEqual(['open true'])
    advance(1)
    expect(await fallbacks(3)).toEqual(['local true', 'local true', 'local false'])
    advance(59_999)
    expect(await fallbacks(1)).toEqual(['local false'])
    up()
    advance(60_001)
    down()
    expect(await fallbacks(1)).toEqual(['open true'])
  })

  it('admits everything under an open rule', async () => {
    const { policy, events, down } = bench()
    down()
    for (let i = 0; i < 20; i++) {
      expect(await policy.decide([charge('a', 'open')])).toMatchObject([{ kind: 'allowed', fallback: 'open' }])
    }
    expect(events).toHaveLength(20)
    expect(events[0]).toBe('open offline redis')
  })

  it('refuses everything under a closed rule, and says to come again in a second', async () => {
    const { policy, down } = bench()
    down()
    expect(await policy.decide([charge('a', 'closed')])).toEqual([
      {
        kind: 'refused',
        allowed: false,
        limit: 10,
        remaining: 0,
        resetAfterMs: 1_000,
        retryAfterMs: 1_000,
        fallback: 'closed',
      },
    ])
  })

  it('admits a share of the budget under a local rule', async () => {
    const { policy, down } = bench()
    down()
    const kinds: string[] = []
    for (let i = 0; i < 7; i++) kinds.push((await policy.decide([charge('a', 'local')]))[0].kind)
    expect(kinds).toEqual(['allowed', 'allowed', 'allowed', 'allowed', 'allowed', 'refused', 'refused'])
  })

  it('admits a share of the burst under a local rule', async () => {
    const { policy, down } = bench()
    down()
    const limit = compileLimit({ algorithm: 'token_bucket', limit: 60, window: '1m', burst: 6 })
    const kinds: string[] = []
    for (let i = 0; i < 5; i++) kinds.push((await policy.decide([charge('a', 'local', { limit })]))[0].kind)
    expect(kinds).toEqual(['allowed', 'allowed', 'allowed', 'refused', 'refused'])
  })

  it('forgets what was counted locally when a counter is reset', async () => {
    const { policy, down, up } = bench()
    down()
    expect(await policy.decide([charge('a', 'local', { cost: 5 })])).toMatchObject([{ kind: 'allowed' }])
    expect(await policy.decide([charge('a', 'local')])).toMatchObject([{ kind: 'refused' }])
    up()
    await policy.reset('a', TEN)
    down()
    expect(await policy.decide([charge('a', 'local')])).toMatchObject([{ kind: 'allowed', remaining: 4 }])
  })

  it('charges nothing locally when a closed rule of the same request refuses', async () => {
    const { policy, down } = bench()
    down()
    for (let i = 0; i < 9; i++) await policy.decide([charge('a', 'local'), charge('b', 'closed')])
    expect(await policy.decide([charge('a', 'local', { cost: 5 })])).toMatchObject([{ kind: 'allowed' }])
  })

  it('does not let a closed rule in shadow mode stop local counting', async () => {
    const { policy, down } = bench()
    down()
    await policy.decide([charge('a', 'local', { cost: 5 }), charge('b', 'closed', { enforce: false })])
    expect(await policy.decide([charge('a', 'local')])).toMatchObject([{ kind: 'refused', fallback: 'local' }])
  })

  it('takes places locally, and gives them back where they were taken', async () => {
    const { policy, down, up } = bench()
    down()
    const place = charge('p', 'local', { limit: PLACES })
    const leases = [await policy.acquire([place]), await policy.acquire([place])].map(({ permits }) => permits)
    expect((await policy.acquire([place])).verdicts).toMatchObject([{ kind: 'refused' }])
    up()
    await policy.release(leases[0] as HeldPermits)
    down()
    expect((await policy.acquire([place])).verdicts).toMatchObject([{ kind: 'allowed' }])
  })

  it('counts a charge without a policy locally, with the whole budget: a limit never just disappears', async () => {
    const { policy, down } = bench()
    down()
    const bare: Charge = { key: 'a', limit: TEN, cost: 1, enforce: true }
    const kinds: string[] = []
    for (let i = 0; i < 12; i++) kinds.push((await policy.decide([bare]))[0].kind)
    expect(kinds).toEqual([...Array(10).fill('allowed'), 'refused', 'refused'])
  })

  it('lets a release go by when the store is unavailable: the permit ends on its own', async () => {
    const { policy, down } = bench()
    const { permits } = await policy.acquire([charge('p', 'open', { limit: PLACES })])
    down()
    await expect(policy.release(permits as HeldPermits)).resolves.toBeUndefined()
  })

  it('renews permits where they were taken, and misses permits of a store that is unavailable', async () => {
    const { policy, down, up } = bench()
    const { permits: there } = await policy.acquire([charge('p', 'local', { limit: PLACES })])
    down()
    const { permits: here } = await policy.acquire([charge('p', 'local', { limit: PLACES })])
    const both = [here as HeldPermits, there as HeldPermits, here as HeldPermits]
    expect(await policy.renew(both)).toEqual(['held', 'missed', 'held'])
    expect(await policy.renew([there as HeldPermits])).toEqual(['missed'])
    up()
    expect(await policy.renew(both)).toEqual(['held', 'held', 'held'])
    expect(await policy.renew([here as HeldPermits])).toEqual(['held'])
  })

  it.each([
    [
      'a fault of any kind',
      () => {
        throw new Error('boom')
      },
    ],
    [
      'something that is no error',
      () => {
        throw 'boom'
      },
    ],
    [
      'a broken connection',
      () => {
        throw new StoreFault('broken', 'redis', 'closed')
      },
    ],
  ] as [string, () => never][])('answers through %s', async (_, fail) => {
    const { policy, down } = bench(fail)
    down()
    expect(await policy.decide([charge('a', 'open'), charge('b', 'closed'), charge('c', 'local')])).toMatchObject([
      { fallback: 'open' },
      { fallback: 'closed' },
      { fallback: 'local' },
    ])
  })

  it('counts rules that share a limit by the share of each', async () => {
    const { policy, down } = bench()
    down()
    const shareOf = (key: string, localShare: number) =>
      charge(key, 'local', { cost: 0, policy: { onStoreFailure: 'local', localShare, timeoutMs: 5 } })
    const verdicts = await policy.decide([shareOf('a', 0.5), shareOf('b', 0.2), shareOf('c', 1)])
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([5, 2, 10])
  })

  it('answers synchronously before a store that answers synchronously', () => {
    const local = new MemoryStore()
    const policy = new FailurePolicy(new MemoryStore(), local)
    expect(policy.decide([charge('a', 'open')])).toMatchObject([{ kind: 'allowed', remaining: 9 }])
  })

  it('forgets what it counted of a counter that was reset anywhere', async () => {
    const { policy, down } = bench()
    const left = async (key: string) => (await policy.decide([charge(key, 'local', { cost: 0 })]))[0].remaining
    down()
    for (const key of ['a', 'b']) await policy.decide([charge(key, 'local', { cost: 3 })])
    policy.noticed({ kind: 'clear', key: 'a' })
    expect([await left('a'), await left('b')]).toEqual([2, 2])
    policy.noticed({ kind: 'reset', key: `a|${TEN.shape}` })
    expect([await left('a'), await left('b')]).toEqual([5, 2])
    policy.noticed({ kind: 'reset_domain', key: 'd' })
    expect([await left('a'), await left('b')]).toEqual([5, 5])
  })

  it('takes back places that were held when everything was forgotten', async () => {
    const { policy, down } = bench()
    down()
    const { permits } = await policy.acquire([charge('a', 'local', { limit: PLACES })])
    policy.noticed({ kind: 'reset_domain', key: 'd' })
    const other = await policy.acquire([charge('a', 'local', { limit: PLACES })])
    await policy.release(permits as HeldPermits)
    expect(other.verdicts).toMatchObject([{ remaining: 1 }])
    const [look] = await policy.decide([charge('a', 'local', { limit: PLACES, cost: 0 })])
    expect(look.remaining).toBe(1)
  })

  it('counts in the store again as soon as that has recovered', async () => {
    const { policy, down, up, shared } = bench()
    down()
    for (let i = 0; i < 3; i++) await policy.decide([charge('a', 'open')])
    up()
    await policy.decide([charge('a', 'open')])
    expect(shared.decideOne('a', TEN, 0).remaining).toBe(9)
  })
})
