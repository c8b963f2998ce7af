import { describe, expect, it } from 'vitest'
import type { Decision } from '../core/combine.ts'
import { KeyedHash } from '../core/hash.ts'
import { KeyEncoder } from '../core/key-encoder.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { Priority } from '../core/shedding/priority.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { Limiter, type LimiterParts } from './limiter.ts'
import { type LayerMode, LoadShedder, type LoadShedderOptions, type ShedLayer } from './load-shedder.ts'
import { ManualLoop } from './manual-loop.suite.ts'
import type { Charge, Store } from './ports.ts'

const rules = compileObjects([
  {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 5 } },
      { key: 'pay', rate_limit: { unit: 'hour', requests_per_unit: 1_000, priority: 0 } },
      { key: 'probe', rate_limit: { unit: 'hour', requests_per_unit: 1_000, priority: 3 } },
      { key: 'job', rate_limit: { algorithm: 'concurrency', requests_per_unit: 2 } },
    ],
  },
])

const keys = new KeyEncoder(KeyedHash.random())

function bench(options: Partial<LoadShedderOptions> = {}, parts: LimiterParts = {}, given?: Store) {
  const clock = { ms: 1_700_000_000_000, nowMs: () => clock.ms }
  const loop = new ManualLoop()
  const shedder = new LoadShedder({ keys, sampler: loop, random: () => 0.5, ...options })
  const asked: (readonly Charge[])[] = []
  const memory = given ?? new MemoryStore({ clock })
  const limiter = new Limiter(() => rules, memory as MemoryStore, { ...parts, shedder })
  const ask = (key: string, more: { priority?: Priority; cost?: number; value?: string } = {}) => {
    const { value = 'x', ...rest } = more
    return { domain: 'd', descriptors: [{ entries: [{ key, value }] }], ...rest }
  }
  const check = (key: string, more?: Parameters<typeof ask>[1]): Decision => limiter.check(ask(key, more))
  return { clock, loop, shedder, limiter, asked, ask, check }
}

const layerOf = ({ tightest }: Decision) => tightest?.verdict.shed
const counted = (shedder: LoadShedder) =>
  shedder
    .counts()
    .filter(({ count }) => count > 0)
    .map(({ layer, priority, mode, count }) => `${layer} P${priority} ${mode} ${count}`)

describe('worker utilisation', () => {
  it('sheds by the priority of the rule, before the store is asked, with 503 and a time to retry', () => {
    const { loop, check, shedder } = bench({ worker: {} })
    expect(check('probe').allowed).toBe(true)
    loop.late(45, 60_000)
    const shed = check('probe')
    expect([shed.allowed, shed.retryAfterMs, layerOf(shed)]).toEqual([false, 5_000, 'worker'])
    expect(shed.tightest?.rule).toMatchObject({ id: 'worker_shed', response: { status: 503 } })
    expect(check('user').allowed).toBe(false)
    expect(check('pay').allowed).toBe(true)
    expect(counted(shedder)).toEqual(['worker P1 on 1', 'worker P3 on 1'])
  })

  it('charges no one for what it sheds', () => {
    const { loop, check } = bench({ worker: {} })
    loop.late(45, 60_000)
    for (let i = 0; i < 20; i++) check('user')
    loop.late(0, 60_000)
    expect(check('user').tightest?.verdict.remaining).toBe(4)
  })

  it('believes what the request says before what the rules say, and takes it for a write where no one says anything', () => {
    const { loop, check } = bench({ worker: {} })
    loop.late(41, 60_000)
    const admitted = (key: string, priority?: Priority): boolean =>
      check(key, priority === undefined ? {} : { priority }).allowed
    expect([admitted('user'), admitted('user', 2), admitted('pay', 3), admitted('probe', 0)]).toEqual([
      true,
      false,
      false,
      true,
    ])
  })

  it('sheds neither looks nor what is given back, nor releases', () => {
    const { loop, limiter, check, ask } = bench({ worker: {} })
    const { permits } = limiter.acquire(ask('job'))
    loop.late(500, 60_000)
    expect(check('user', { cost: 0 }).allowed).toBe(true)
    expect(check('user', { cost: -1 }).allowed).toBe(true)
    const { domain, descriptors } = ask('user')
    expect(limiter.check({ domain, descriptors: [{ ...descriptors[0], cost: -1 }] }).allowed).toBe(true)
    expect(limiter.acquire(ask('job')).decision.allowed).toBe(false)
    if (permits !== undefined) limiter.release(permits)
    expect(limiter.acquire(ask('job', { priority: 0 })).decision.allowed).toBe(true)
  })

  it('counts what it would shed in shadow mode, and sheds nothing', () => {
    const { loop, check, shedder } = bench({ worker: { mode: 'shadow' } })
    loop.late(45, 60_000)
    expect([check('probe').allowed, check('user').allowed]).toEqual([true, true])
    expect(counted(shedder)).toEqual(['worker P1 shadow 1', 'worker P3 shadow 1'])
  })

  it('is switched at run time, and knows by then how busy the worker is', () => {
    let mode: LayerMode | undefined = 'off'
    const modes = (layer: ShedLayer) => (layer === 'worker' ? mode : undefined)
    const { loop, check, shedder } = bench({ modes })
    loop.late(45, 60_000)
    expect([check('probe').allowed, shedder.modeOf('worker')]).toEqual([true, 'off'])
    mode = 'on'
    expect([check('probe').allowed, shedder.modeOf('worker')]).toEqual([false, 'on'])
    mode = undefined
    expect([check('probe').allowed, shedder.modeOf('worker')]).toEqual([true, 'off'])
  })

  it('is also measured by requests in flight and by their time, where these have bounds', () => {
    const { loop, shedder } = bench({ worker: { inFlight: 10, latencyMs: 100 } })
    for (let i = 0; i < 8; i++) shedder.began()
    loop.late(0, 500)
    expect(shedder.utilisation).toBeCloseTo(0.8)
    for (let i = 0; i < 8; i++) shedder.ended(95)
    loop.late(0, 500)
    expect(shedder.utilisation).toBeCloseTo(0.95)
    loop.late(0, 500)
    expect([shedder.utilisation, shedder.inFlight]).toEqual([0, 0])
    shedder.ended()
    expect(shedder.inFlight).toBe(0)
  })

  it('listens to nothing where no layer can be on, and to nothing any more when it is closed', () => {
    expect(bench().loop.listeners.size).toBe(0)
    const { loop, shedder } = bench({ worker: {} })
    expect(loop.listeners.size).toBe(1)
    shedder.close()
    expect(loop.listeners.size).toBe(0)
  })

  it('sees what is in flight while a store takes its time', async () => {
    const { limiter, ask, shedder } = bench({ worker: { inFlight: 10 } }, {}, away(new MemoryStore()))
    const decision = limiter.check(ask('user'))
    expect(shedder.inFlight).toBe(1)
    await decision
    expect(shedder.inFlight).toBe(0)
    const other = bench({ worker: {} }, {}, away(new MemoryStore()))
    const unwatched = other.limiter.check(other.ask('user'))
    expect(other.shedder.inFlight).toBe(0)
    await unwatched
  })

  it('leaves a request alone that is blocked: it is refused as such', () => {
    const block = { id: 'b', who: 'customer_id=acme', reason: undefined, status: 403, body: undefined }
    const blocks = () => ({ block, descriptor: 0, endsInMs: undefined })
    const none = { accounts: undefined, tiers: undefined, grants: undefined, switches: undefined }
    const { loop, check, shedder } = bench({ worker: {} }, { quotas: () => ({ ...none, blocks }) })
    loop.late(500, 60_000)
    expect(check('probe').tightest?.verdict.block?.id).toBe('b')
    expect(counted(shedder)).toEqual([])
  })
})

describe('fleet usage', () => {
  it('keeps a share for critical requests, which are never counted', () => {
    const { check, shedder } = bench({ fleet: { capacity: 10, reserved: 0.2 } })
    const callers = Array.from({ length: 12 }, (_, i) => check('probe', { value: `${i}` }).allowed)
    expect(callers).toEqual([...Array(8).fill(true), ...Array(4).fill(false)])
    expect(Array.from({ length: 50 }, () => check('pay').allowed)).not.toContain(false)
    expect(counted(shedder)).toEqual(['fleet P3 on 4'])
  })

  it('has capacity again a moment later', () => {
    const { check, clock } = bench({ fleet: { capacity: 10 } })
    for (let i = 0; i < 10; i++) check('probe')
    expect(check('probe').allowed).toBe(false)
    clock.ms += 2_000
    expect(check('probe').allowed).toBe(true)
  })

  it('says 503 and when to retry, and shows no one what the fleet can take', () => {
    const { check } = bench({ fleet: { capacity: 1 } })
    expect(check('probe').verdicts.map(({ rule }) => rule.id)).toEqual(['probe'])
    const shed = check('probe')
    expect(layerOf(shed)).toBe('fleet')
    expect(shed.retryAfterMs).toBeGreaterThanOrEqual(5_000)
    expect(shed.tightest).toMatchObject({ rule: { response: { status: 503 } }, verdict: { limit: 0, remaining: 0 } })
    expect(shed.verdicts).toHaveLength(1)
  })

  it('charges no one for what it sheds, and takes nothing of the fleet for a caller without budget', () => {
    const { check, clock, shedder } = bench({ fleet: { capacity: 4, reserved: 0 } })
    for (let i = 0; i < 4; i++) check('user')
    expect(layerOf(check('user'))).toBe('fleet')
    clock.ms += 3_000
    expect(check('user').tightest?.verdict.remaining).toBe(0)
    for (let i = 0; i < 20; i++) expect(layerOf(check('user'))).toBeUndefined()
    for (let i = 0; i < 3; i++) expect(check('user', { value: 'y' }).allowed).toBe(true)
    expect(counted(shedder)).toEqual(['fleet P1 on 1'])
  })

  it('refuses a caller without budget for that, though the fleet has none either', () => {
    const { check } = bench({ fleet: { capacity: 5, reserved: 0 } })
    for (let i = 0; i < 5; i++) check('user')
    const both = check('user')
    expect([both.allowed, layerOf(both), both.tightest?.rule.id]).toEqual([false, undefined, 'user'])
  })

  it('takes no place of a concurrency limit for what it sheds', () => {
    const { limiter, ask, shedder, clock } = bench({ fleet: { capacity: 1, reserved: 0 } })
    const first = limiter.acquire(ask('job'))
    const second = limiter.acquire(ask('job'))
    expect([first.decision.allowed, layerOf(second.decision), second.permits]).toEqual([true, 'fleet', undefined])
    clock.ms += 3_000
    expect(limiter.acquire(ask('job')).decision.allowed).toBe(true)
    expect(counted(shedder)).toEqual(['fleet P1 on 1'])
  })

  it('counts what it would shed in shadow mode, and sheds nothing', () => {
    const { check, shedder } = bench({ fleet: { capacity: 2, reserved: 0, mode: 'shadow' } })
    expect(Array.from({ length: 5 }, () => check('probe').allowed)).toEqual(Array(5).fill(true))
    expect(counted(shedder)).toEqual(['fleet P3 shadow 3'])
  })

  it('is off where no one says what the fleet can take, whatever is said of it', () => {
    const { check, shedder } = bench({ modes: () => 'on' })
    expect([check('probe').allowed, shedder.modeOf('fleet')]).toEqual([true, 'off'])
  })

  it('counts requests that no rule is about', () => {
    const { check } = bench({ fleet: { capacity: 1 } })
    expect([check('other').allowed, layerOf(check('other'))]).toEqual([true, 'fleet'])
  })

  it('has one counter for all nodes of a store, and another for a fleet of another name', () => {
    const store = new MemoryStore()
    const nodes = [undefined, undefined, 'eu'].map((name) => {
      return bench({ fleet: { capacity: 2, reserved: 0, ...(name !== undefined && { name }) } }, {}, store)
    })
    const admitted = nodes.map(({ check }) => [check('probe').allowed, check('probe').allowed])
    expect(admitted).toEqual([
      [true, true],
      [false, false],
      [true, true],
    ])
  })

  it('notifies observers of what is shed with what the request was about, and of nothing else', () => {
    const received: string[] = []
    const observer = {
      decided: (
        charges: readonly { domain: string; rule: { id: string }; entries: readonly { value: string }[] }[],
      ) => {
        received.push(charges.map(({ domain, rule, entries }) => `${domain} ${rule.id} ${entries[0].value}`).join())
      },
    }
    const { check } = bench({ fleet: { capacity: 1 } }, { observer })
    check('probe')
    check('probe')
    expect(received).toEqual(['d probe x', 'd fleet_shed x'])
  })
})

/** A store that answers later. */
function away(store: Store): Store {
  const later = <T>(value: T): Promise<Awaited<T>> => Promise.resolve(value)
  return {
    decide: (charges) => later(store.decide(charges)),
    acquire: (charges) => later(store.acquire(charges)),
    release: (permits) => store.release(permits),
    renew: (permits) => store.renew(permits),
    reset: (key, limit) => store.reset(key, limit),
    close: () => store.close(),
  }
}

describe('the layer of upstreams', () => {
  it('sheds every priority where it is on, counts in shadow mode, and does neither where it is off', () => {
    let mode: LayerMode | undefined
    const { shedder } = bench({ modes: (layer: ShedLayer) => (layer === 'upstream' ? mode : undefined) })
    const counted = () =>
      shedder
        .counts()
        .filter(({ layer, count }) => layer === 'upstream' && count > 0)
        .map(({ priority, mode: how, count }) => [priority, how, count])
    expect(shedder.modeOf('upstream')).toBe('on')
    expect([0, 3].map((priority) => shedder.shedUpstream(priority as Priority)?.verdict)).toMatchObject([
      { shed: 'upstream', retryAfterMs: 1_000 },
      { shed: 'upstream', retryAfterMs: 5_000 },
    ])
    mode = 'shadow'
    expect(shedder.shedUpstream(3)).toBeUndefined()
    mode = 'off'
    expect(shedder.shedUpstream(3)).toBeUndefined()
    expect(counted()).toEqual([
      [0, 'on', 1],
      [3, 'on', 1],
      [3, 'shadow', 1],
    ])
  })
})
