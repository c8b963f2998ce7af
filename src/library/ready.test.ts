import { describe, expect, it, vi } from 'vitest'
import type { OpenStore } from '../stores/open/open-store.ts'
import { firstConnection } from './ready.ts'

/** Returns what to wait for before a call, and how the first attempt to connect ends. */
function attempt() {
  let end = (): void => {}
  const ready = new Promise<void>((resolve) => {
    end = resolve
  })
  return { wait: firstConnection({ ready } as OpenStore), end: () => end() }
}

describe('firstConnection', () => {
  it('has every call wait until the first attempt has ended', async () => {
    const { wait, end } = attempt()
    const order: string[] = []
    const calls = [1, 2].map((call) => wait()?.then(() => order.push(`call ${call}`)))
    await Promise.resolve()
    order.push('attempt')
    end()
    await Promise.all(calls)
    expect(order).toEqual(['attempt', 'call 1', 'call 2'])
  })

  it('has no call wait after that', async () => {
    const { wait, end } = attempt()
    end()
    await wait()
    expect(wait()).toBeUndefined()
  })

  it('has no one wait for ever', async () => {
    vi.useFakeTimers()
    try {
      const { wait } = attempt()
      let goesOn = false
      void wait()?.then(() => {
        goesOn = true
      })
      await vi.advanceTimersByTimeAsync(10_000)
      expect([goesOn, wait()]).toEqual([true, undefined])
    } finally {
      vi.useRealTimers()
    }
  })
})
