import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { compileLimit } from '../core/limit.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import type { HeldPermits, Renewal, Store } from './ports.ts'
import { Renewals } from './renewals.ts'
import { StoreFault } from './store-fault.ts'

const MINUTE_MS = 60_000
const TEN = compileLimit({ algorithm: 'concurrency', limit: 10, leaseTtl: '1m' })

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

/** A store whose calls are counted, and that fails while it is away; and what renews its places. */
function bench() {
  const memory = new MemoryStore({ clock: { nowMs: () => 1_780_000_000_000 + performance.now() } })
  const calls: number[] = []
  const received: [Renewal, number][] = []
  const state = { isAway: false, released: 0, answer: undefined as Promise<void> | undefined }
  const store: Pick<Store, 'renew' | 'release'> = {
    renew: async (permits) => {
      calls.push(permits.length)
      if (state.isAway) throw new StoreFault('offline', 'redis', 'not connected')
      await state.answer
      return memory.renew(permits)
    },
    release: (permits) => {
      state.released++
      memory.release(permits)
    },
  }
  const renewals = new Renewals({ renewed: (renewal, count) => void received.push([renewal, count]) })
  onTestFinished(() => renewals.close())
  const take = (key = 'k', limit = TEN): HeldPermits => {
    const { permits } = memory.acquire([{ key, limit, cost: 1, enforce: true }])
    if (permits === undefined) throw new Error('no place left')
    return permits
  }
  /** Takes a place and keeps it, as a request does. */
  const keep = (key?: string, limit?: typeof TEN): HeldPermits => {
    const permits = take(key, limit)
    renewals.keep(store, permits, permits)
    return permits
  }
  const left = (key = 'k', limit = TEN): number => memory.decideOne(key, limit, 0).remaining
  const end = (permits: HeldPermits): void => {
    renewals.letGo(store, permits)
    memory.release(permits)
  }
  return { memory, store, renewals, state, calls, received, take, keep, left, end }
}

describe('renewals', () => {
  it('keep a place for as long as its request runs, and not a moment longer', async () => {
    const { keep, left, end } = bench()
    const permits = keep()
    for (let i = 0; i < 20; i++) {
      await pass(MINUTE_MS / 2)
      expect(left()).toBe(9)
    }
    end(permits)
    expect(left()).toBe(10)
  })

  it('ask nothing for requests that are shorter than a third of the time', async () => {
    const { keep, end, calls } = bench()
    for (let i = 0; i < 50; i++) {
      const permits = keep()
      await pass(MINUTE_MS / 3 - 1)
      end(permits)
    }
    expect(calls).toEqual([])
  })

  it('ask at half of the time at the latest, and then at every third', async () => {
    const { keep, calls } = bench()
    await pass(12_345)
    keep()
    await pass(MINUTE_MS / 2)
    expect(calls).toEqual([1])
    await pass(MINUTE_MS)
    expect(calls).toEqual([1, 1, 1, 1])
  })

  it('let the places of a holder that stops free when their time is over', async () => {
    const { keep, left, renewals } = bench()
    keep()
    await pass(5 * MINUTE_MS)
    expect(left()).toBe(9)
    // As if the process had ended.
    renewals.close()
    await pass(MINUTE_MS)
    expect(left()).toBe(10)
  })

  it('try again while the store is unavailable, often enough for a short while to do no harm', async () => {
    const { keep, left, state, calls, received } = bench()
    keep()
    await pass(19_000)
    state.isAway = true
    await pass(25_000)
    expect(calls.length).toBeGreaterThan(1)
    state.isAway = false
    await pass(11_000)
    expect(received.at(-1)).toEqual(['held', 1])
    expect(received.filter(([renewal]) => renewal === 'missed')).toHaveLength(calls.length - 1)
    expect(left()).toBe(9)
  })

  it('take places again that were lost meanwhile, and say so', async () => {
    const { keep, take, left, state, received } = bench()
    const many = Array.from({ length: 8 }, () => keep())
    state.isAway = true
    await pass(3 * MINUTE_MS)
    expect(left()).toBe(10)
    for (let i = 0; i < 5; i++) take()
    state.isAway = false
    received.length = 0
    await pass(MINUTE_MS / 6)
    expect(received).toEqual([
      ['retaken', 5],
      ['overrun', 3],
    ])
    expect([many.length, left()]).toEqual([8, 0])
  })

  it('ask once a turn while the store is unavailable, however many places there are', async () => {
    const { keep, state, calls } = bench()
    const wide = compileLimit({ algorithm: 'concurrency', limit: 10_000, leaseTtl: '1m' })
    for (let i = 0; i < 2_000; i++) keep('k', wide)
    state.isAway = true
    await pass(MINUTE_MS / 2)
    expect(calls).toEqual([128])
    await pass(MINUTE_MS / 6)
    expect(calls).toEqual([128, 128])
  })

  it('ask for many in batches, each of them once', async () => {
    const { keep, calls, received } = bench()
    const wide = compileLimit({ algorithm: 'concurrency', limit: 10_000, leaseTtl: '1m' })
    for (let i = 0; i < 300; i++) keep('k', wide)
    await pass(MINUTE_MS / 2)
    await pass(100)
    expect(calls).toEqual([128, 128, 44])
    expect(received.reduce((sum, [, count]) => sum + count, 0)).toBe(300)
  })

  it('have one timer for all of it, and none when nothing is held', async () => {
    const { keep, end } = bench()
    expect(vi.getTimerCount()).toBe(0)
    const short = compileLimit({ algorithm: 'concurrency', limit: 100, leaseTtl: '6s' })
    const all = Array.from({ length: 50 }, (_, i) => keep(`k${i}`, i % 2 === 0 ? TEN : short))
    expect(vi.getTimerCount()).toBe(1)
    await pass(10 * MINUTE_MS)
    expect(vi.getTimerCount()).toBe(1)
    for (const permits of all) end(permits)
    await pass(MINUTE_MS)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('renew each by its own time', async () => {
    const { keep, left } = bench()
    const short = compileLimit({ algorithm: 'concurrency', limit: 5, leaseTtl: '3s' })
    keep('long')
    keep('short', short)
    for (let i = 0; i < 60; i++) {
      await pass(2_000)
      expect([left('long'), left('short', short)]).toEqual([9, 4])
    }
  })

  it('renew what holds places of several limits by the shortest of their times', async () => {
    const { memory, renewals, store, left } = bench()
    const short = compileLimit({ algorithm: 'concurrency', limit: 5, leaseTtl: '3s' })
    const holds = { cost: 1, enforce: true }
    const both = [
      { key: 'short', limit: short, ...holds },
      { key: 'long', limit: TEN, ...holds },
    ]
    const all = [both, both.toReversed()].map((charges) => memory.acquire(charges).permits as HeldPermits)
    for (const permits of all) renewals.keep(store, permits, permits)
    await pass(10_000)
    expect([left('short', short), left('long')]).toEqual([3, 8])
  })

  it('give back what was taken again for a request that had ended meanwhile', async () => {
    const { keep, left, state, end, memory } = bench()
    const permits = keep()
    let answer = (): void => {}
    state.answer = new Promise((resolve) => {
      answer = resolve
    })
    await pass(MINUTE_MS / 2)
    memory.reset('k', TEN)
    end(permits)
    expect(left()).toBe(10)
    answer()
    await pass(0)
    expect([left(), state.released]).toEqual([10, 1])
  })

  it('let go of what no one can give back any more', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { renewals, store, take, left } = bench()
    let holder: object | undefined = {}
    renewals.keep(store, take(), holder)
    await pass(2 * MINUTE_MS)
    collect()
    await pass(2 * MINUTE_MS)
    expect([holder !== undefined, left()]).toEqual([true, 9])
    holder = undefined
    for (let i = 0; i < 100 && left() < 10; i++) {
      // What a turn looked at is reachable until the turn is over.
      await new Promise<void>((resolve) => void queueMicrotask(resolve))
      await pass(1_000)
      collect()
      await pass(MINUTE_MS)
    }
    expect(left()).toBe(10)
  })
})
