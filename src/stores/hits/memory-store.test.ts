import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryStore } from './memory-store.ts'

describe('MemoryStore', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('gives its memory back after two windows in which no one came, and not before', () => {
    vi.useFakeTimers()
    const store = new MemoryStore()
    const forgets = vi.spyOn(store, 'resetAll')
    store.init({ windowMs: 60_000 })
    void store.increment('a')
    vi.advanceTimersByTime(60_000)
    void store.increment('a')
    vi.advanceTimersByTime(120_000)
    expect(forgets).not.toHaveBeenCalled()
    vi.advanceTimersByTime(60_000)
    expect(forgets).toHaveBeenCalledOnce()
    store.shutdown()
  })

  it('remembers hits for longer than a timer can wait', () => {
    vi.useFakeTimers({ now: 1_700_000_000_000 })
    const store = new MemoryStore()
    const thirtyDays = 30 * 86_400_000
    store.init({ windowMs: thirtyDays })
    expect(store.increment('a')).toEqual({ totalHits: 1, resetTime: new Date(1_700_000_000_000 + thirtyDays) })
    vi.advanceTimersByTime(25 * 86_400_000)
    expect(store.increment('a')).toMatchObject({ totalHits: 2 })
    vi.advanceTimersByTime(5 * 86_400_000)
    expect(store.increment('a')).toMatchObject({ totalHits: 1 })
    store.shutdown()
  })

  it('does not forget a refused key for the sake of others', () => {
    const store = new MemoryStore({ maxKeys: 100 })
    store.init({ windowMs: 60_000, limit: 5 })
    for (let i = 0; i < 50; i++) void store.increment('attacker')
    for (let i = 0; i < 5_000; i++) void store.increment(`other ${i}`)
    expect(store.get('attacker')).toMatchObject({ totalHits: 50 })
    store.shutdown()
  })
})
