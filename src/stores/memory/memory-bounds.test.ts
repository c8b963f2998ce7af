import { describe, expect, it } from 'vitest'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { LendingMemoryStore } from '../lending/lending-memory-store.ts'

const START_MS = 1_780_000_020_000
const SHARED_COUNTERS = 64

/** Five a minute, in each of the algorithms. */
const FIVE = [
  { limit: 5, window: '1m' },
  { limit: 5, window: '1m', subWindows: 6 },
  { algorithm: 'token_bucket', limit: 5, window: '1m' },
  { algorithm: 'gcra', limit: 5, window: '1m' },
  { algorithm: 'leaky_bucket', limit: 5, window: '1m' },
  { algorithm: 'fixed_window', limit: 5, window: '1m' },
  { algorithm: 'sliding_log', limit: 5, window: '1m' },
  { algorithm: 'concurrency', limit: 5, leaseTtl: '1m' },
] as const satisfies readonly LimitOptions[]
const LIMITS = FIVE.map((options) => [compileLimit(options).shape, compileLimit(options)] as const)
const [[, window]] = LIMITS
const places = compileLimit(FIVE[7])

/** A Bounded store of few keys, and its clock. `use` takes places of a concurrency limit, and charges any other. */
function bounded(maxKeys: number) {
  const clock = { atMs: START_MS, nowMs: (): number => clock.atMs }
  const store = new LendingMemoryStore({ maxKeys, clock })
  const use = (key: string, limit: Limit, cost = 1) => store.acquire([charge(key, limit, cost)])
  return {
    clock,
    store,
    use,
    allows: (key: string, limit: Limit, cost = 1): boolean => use(key, limit, cost).verdicts[0].allowed,
    remaining: (key: string, limit: Limit): number => store.decideOne(key, limit, 0).remaining,
  }
}

function charge(key: string, limit: Limit, cost: number): Charge {
  return { key, limit, cost, enforce: true }
}

describe('memory under a flood of keys', () => {
  it('holds at most maxKeys counters, and no more bytes after 100,000 keys than after 5,000', () => {
    const { store, use, clock } = bounded(1_000)
    let early = 0
    for (let i = 0; i < 100_000; i++) {
      use(`key:${i}`, LIMITS[i % LIMITS.length][1], 1 + (i % 3))
      if (i % 10 === 0) clock.atMs++
      if (store.stats.keys > 1_000) expect.fail(`${store.stats.keys} keys after ${i}`)
      if (i === 5_000) early = store.stats.bytes
    }
    expect(store.stats).toMatchObject({ keys: 1_000, bytes: early, shared: 0 })
    expect(early).toBeLessThan(200_000)
  })

  it.each(LIMITS)('keeps refusing a key of %s that is being refused', (_, limit) => {
    for (const maxKeys of [1, 10, 500]) {
      const { use, allows } = bounded(maxKeys)
      use('attacker', limit, 5)
      expect(allows('attacker', limit)).toBe(false)
      for (let i = 0; i < 3_000; i++) use(`flood:${i}`, LIMITS[i % LIMITS.length][1])
      expect(allows('attacker', limit)).toBe(false)
    }
  })

  it.each(LIMITS)('keeps refusing it when the flood of %s is refused as well', (_, limit) => {
    for (const maxKeys of [1, 10, 500]) {
      const { use, allows } = bounded(maxKeys)
      use('attacker', limit, 5)
      expect(allows('attacker', limit)).toBe(false)
      for (let i = 0; i < 1_500; i++) {
        use(`flood:${i}`, limit, 5)
        use(`flood:${i}`, limit, 1)
      }
      expect(allows('attacker', limit)).toBe(false)
    }
  })

  it('keeps refusing a cost that does not fit although a smaller one would', () => {
    const { use, allows } = bounded(4)
    use('costly', window, 3)
    expect(allows('costly', window, 3)).toBe(false)
    for (let i = 0; i < 100; i++) use(`flood:${i}`, window)
    expect(allows('costly', window, 3)).toBe(false)
  })

  it('is not talked out of it by looks, nor by impossible costs', () => {
    const { use, allows, remaining } = bounded(4)
    use('attacker', window, 5)
    allows('attacker', window)
    remaining('attacker', window)
    allows('attacker', window, 6)
    for (let i = 0; i < 100; i++) use(`flood:${i}`, window, 5)
    expect(allows('attacker', window)).toBe(false)
  })

  it('does not take a key for refused that asked for the impossible', () => {
    const { store, use } = bounded(1)
    use('wishful', window, 1)
    use('wishful', window, 6)
    use('new', window)
    expect(store.stats).toMatchObject({ keys: 1, evicted: 1, shared: 0 })
  })

  it('keeps holders that are above a lowered limit, when one of them leaves', () => {
    const { store, use, allows } = bounded(4)
    const lowered = compileLimit({ ...FIVE[7], limit: 2 })
    const first = use('holder', lowered, 1).permits
    use('holder', places, 3)
    expect(allows('holder', lowered)).toBe(false)
    store.release(first!)
    for (let i = 0; i < 100; i++) use(`flood:${i}`, window)
    expect(allows('holder', lowered)).toBe(false)
  })
})

describe('the choice of what to forget', () => {
  const windowed = (seconds: number): Limit =>
    compileLimit({ algorithm: 'sliding_log', limit: 5, window: `${seconds}s` })

  it('takes the place of an expired key before any other', () => {
    const { store, clock, use, remaining } = bounded(8)
    use('short', windowed(1))
    for (let i = 0; i < 7; i++) use(`long:${i}`, windowed(60))
    clock.atMs += 1_001
    use('new', windowed(60))
    expect(store.stats).toMatchObject({ keys: 8, evicted: 0 })
    for (let i = 0; i < 7; i++) expect(remaining(`long:${i}`, windowed(60))).toBe(4)
  })

  it('takes the place of expired keys while there is room, so that memory stays as small as the traffic', () => {
    const { store, clock, use } = bounded(100_000)
    for (let i = 0; i < 50_000; i++, clock.atMs += 10) use(`key:${i}`, windowed(1))
    expect(store.stats.keys).toBeLessThan(400)
    expect(store.stats.evicted).toBe(0)
  })

  it('then forgets the key that is whole again soonest', () => {
    const { store, use, remaining } = bounded(8)
    const seconds = [60, 50, 40, 30, 20, 90, 70, 80]
    for (const s of seconds) use(`key:${s}`, windowed(s))
    use('new', windowed(3_600))
    expect(store.stats.evicted).toBe(1)
    expect(seconds.filter((s) => remaining(`key:${s}`, windowed(s)) === 5)).toEqual([20])
  })

  it('then a key that has spent its budget, though it be whole again sooner than one that has not', () => {
    const { use, remaining } = bounded(3)
    use('refused', windowed(10), 5)
    use('refused', windowed(10), 1)
    use('spent', windowed(20), 5)
    use('open', windowed(60), 1)
    use('new', windowed(60), 5)
    expect(remaining('open', windowed(60))).toBe(5)
    expect(remaining('spent', windowed(20))).toBe(0)
    use('newer', windowed(90), 5)
    expect(remaining('spent', windowed(20))).toBe(5)
    expect(remaining('refused', windowed(10))).toBe(0)
  })

  it.each(LIMITS)('keeps a key of %s that has one hit left, and forgets keys that have used little', (_, limit) => {
    const { store, clock, use, remaining } = bounded(1_000)
    use('nearly', limit, 4)
    for (let i = 0; i < 5_000; i++) {
      if (i % 100 === 0) clock.atMs++
      use(`flood:${i}`, limit)
    }
    expect(store.stats).toMatchObject({ keys: 1_000, shared: 0 })
    expect(remaining('nearly', limit)).toBe(1)
  })

  it('forgets little for long before much for a short while: a flood on a long window buys nothing on a short one', () => {
    const { use, remaining } = bounded(8)
    use('much', windowed(10), 4)
    for (let i = 0; i < 100; i++) use(`little:${i}`, windowed(3_600), 1)
    expect(remaining('much', windowed(10))).toBe(1)
  })

  it('looks on elsewhere when it meets a run of refused keys, instead of sending newcomers to shared counters', () => {
    const { store, use } = bounded(1_000)
    for (let i = 0; i < 1_000; i++) {
      use(`old:${i}`, window, i < 150 ? 5 : 1)
      if (i < 150) use(`old:${i}`, window, 1)
    }
    for (let i = 0; i < 3_000; i++) use(`new:${i}`, window)
    expect(store.stats.shared).toBeLessThan(150)
  })
})

describe('counters that newcomers share while every key is being refused', () => {
  /** Returns a store in which every key is being refused. */
  function full(maxKeys: number, limit: Limit) {
    const subject = bounded(maxKeys)
    for (let i = 0; i < maxKeys; i++) {
      subject.use(`refused:${i}`, limit, limit.max)
      subject.use(`refused:${i}`, limit, 1)
    }
    return subject
  }

  it.each(LIMITS)('limits newcomers of %s together', (_, limit) => {
    for (const maxKeys of [1, 100]) {
      const { store, allows } = full(maxKeys, limit)
      let admitted = 0
      for (let i = 0; i < 3_000; i++) if (allows(`new:${i}`, limit)) admitted++
      expect(admitted).toBeGreaterThan(0)
      expect(admitted).toBeLessThanOrEqual(SHARED_COUNTERS * 5)
      expect(store.stats.keys).toBeLessThanOrEqual(maxKeys + SHARED_COUNTERS)
      expect(store.stats).toMatchObject({ evicted: 0, shared: 3_000 })
    }
  })

  it.each(LIMITS)('are so many in a large store that honest newcomers of %s share with hardly anybody', (_, limit) => {
    const { store, allows } = full(20_000, limit)
    let admitted = 0
    for (let i = 0; i < 2_000; i++) if (allows(`new:${i}`, limit)) admitted++
    expect(admitted).toBeGreaterThan(1_900)
    expect(store.stats.evicted).toBe(0)
  })

  it('are an eighth of maxKeys at most and 65,536, whatever newcomers do', () => {
    const { store, allows } = full(2_048, window)
    for (let count = 5; count < 30; count++) {
      const limit = compileLimit({ limit: count, window: '1m' })
      for (let i = 0; i < 1_000; i++) allows(`new:${count}:${i}`, limit)
    }
    expect(store.stats.keys).toBeLessThanOrEqual(2_048 + 256 + 25 * SHARED_COUNTERS)
    expect(store.stats.evicted).toBe(0)
    expect(allows('refused:0', window)).toBe(false)
  })

  it('leave counters for newcomers of another limit, when those of one have taken all they could', () => {
    const { allows } = full(2_048, window)
    for (let i = 0; i < 10_000; i++) allows(`new:${i}`, window)
    const other = compileLimit({ limit: 7, window: '1m' })
    expect(allows('honest', other)).toBe(true)
  })

  it('release permits in a large store, whichever counter they were taken on', () => {
    const { store, use, remaining } = full(2_048, places)
    const taken = Array.from({ length: 600 }, (_, i) => use(`new:${i}`, places).permits)
    for (const permits of taken) if (permits !== undefined) store.release(permits)
    expect(store.stats.keys).toBe(2_048)
    expect(remaining('new:0', places)).toBe(5)
  })

  it.each(LIMITS)('limits newcomers of %s that take turns', (_, limit) => {
    const { allows } = full(1, limit)
    let admitted = 0
    for (let i = 0; i < 100; i++) if (allows(`new:${i % 2}`, limit)) admitted++
    expect(admitted).toBeLessThanOrEqual(10)
  })

  it('gives new keys their own counters again, once there is room', () => {
    const { store, clock, allows } = full(2, window)
    for (let i = 0; i < 1_000; i++) allows(`new:${i}`, window)
    expect(allows('new:0', window)).toBe(false)
    store.reset('refused:0', window)
    store.reset('refused:1', window)
    clock.atMs += 120_001
    for (let i = 0; i < 100; i++) expect(allows(`new:${i}`, window, 5)).toBe(true)
  })

  it('finds room after a reset, with shared counters in use', () => {
    const { store, allows } = full(1, window)
    allows('shares', window)
    store.reset('refused:0', window)
    for (let i = 0; i < 100; i++) allows(`new:${i}`, window)
    expect(store.stats.keys).toBeLessThanOrEqual(1 + SHARED_COUNTERS)
  })

  it('releases a permits that was taken on a shared counter', () => {
    const { store, use, remaining } = full(1, places)
    const { permits } = use('new', places, 5)
    expect(remaining('new', places)).toBe(0)
    store.release(permits!)
    expect(remaining('new', places)).toBe(5)
  })

  it('releases it also when the key has its own counter by then', () => {
    const { store, use, remaining } = full(2, places)
    const shared = use('new', places, 5).permits!
    store.reset('refused:0', places)
    store.reset('refused:1', places)
    const own = use('new', places, 2).permits!
    store.release(shared)
    expect(remaining('new', places)).toBe(3)
    store.release(own)
    expect(store.stats.keys).toBe(0)
  })

  it('keeps to its bounds with more limits than there is room for shared counters', () => {
    const { store, allows } = full(1, window)
    for (let count = 5; count < 1_705; count++) {
      const limit = compileLimit({ limit: count, window: '1m' })
      for (let i = 0; i < 70; i++) allows(`new:${count}:${i}`, limit)
    }
    expect(store.stats).toMatchObject({ keys: 1 + 65_536, evicted: 0 })
    expect(allows('refused:0', window)).toBe(false)
    const last = compileLimit({ limit: 9_999, window: '1m' })
    expect(store.decideOne('new', last, 1)).toMatchObject({ kind: 'refused', remaining: 0, retryAfterMs: 60_000 })
    expect(store.decideOne('new', last, 10_000)).toMatchObject({ kind: 'impossible' })
    expect(store.decideOne('new', last, 0)).toMatchObject({ kind: 'allowed' })
  })
})

describe('logs that run out of pages', () => {
  it.each([1, 2, 3])('admit no more than the limit in any window (seed %i)', (seed) => {
    const { clock, use } = bounded(1)
    const limit = compileLimit({ algorithm: 'sliding_log', limit: 30, window: 1_000 })
    const admitted: number[] = []
    for (let i = 0, x = seed; i < 5_000; i++) {
      x = (x * 48_271) % 2_147_483_647
      clock.atMs += x % 25
      if (use('log', limit).verdicts[0].allowed) admitted.push(clock.atMs)
    }
    const within = admitted.map((atMs, i) => admitted.slice(i).filter((later) => later < atMs + 1_000).length)
    expect(Math.max(...within)).toBeLessThanOrEqual(30)
    expect(admitted.length).toBeGreaterThan(500)
  })

  it('keep to their bound of bytes', () => {
    const { clock, store, use } = bounded(10)
    const limit = compileLimit({ algorithm: 'sliding_log', limit: 10_000, window: '1h' })
    for (let i = 0; i < 50_000; i++, clock.atMs++) use(`log:${i % 10}`, limit)
    expect(store.stats.bytes).toBeLessThan(100_000)
  })
})

describe('a counter that is only lent from', () => {
  it.each(LIMITS.filter(([, { algorithm }]) => algorithm !== 'concurrency' && algorithm !== 'leaky_bucket'))(
    'of %s takes no room when a slice that ran out is worth nothing any more',
    (_, limit) => {
      const { clock, store, remaining } = bounded(100)
      const request = { key: 'k', limit, sequence: 1, spent: 0, confirmed: 0, keep: 0, ahead: 0, cost: 1 }
      const times = { leaseMs: 1_000, timeoutMs: 5 }
      expect(store.exchange({ ...request, ...times, holder: 'crashed', need: 3 })).toMatchObject({ held: 3 })
      clock.atMs += 2_000
      expect(store.exchange({ ...request, ...times, holder: 'a', need: 0 })).toMatchObject({ free: 2 })
      expect([store.stats.keys, remaining('k', limit)]).toEqual([1, 2])
      store.reset('k', limit)
      expect(store.exchange({ ...request, ...times, holder: 'b', need: 3 })).toMatchObject({ held: 3 })
      clock.atMs += 600_000
      expect(store.exchange({ ...request, ...times, holder: 'c', need: 0 })).toMatchObject({ free: 5 })
      expect(store.stats.keys).toBe(0)
    },
  )
})
