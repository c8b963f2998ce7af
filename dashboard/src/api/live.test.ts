import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { follow, frames, liveState, lostAtMs } from './live.ts'
import { recovery } from './recovery.ts'

/** Streams that the test speaks through. */
class FakeStream {
  static all: FakeStream[] = []
  onmessage: ((event: { data: string }) => void) | undefined
  onerror: (() => void) | undefined
  isClosed = false
  constructor() {
    FakeStream.all.push(this)
  }
  close(): void {
    this.isClosed = true
  }
}

const last = (): FakeStream => FakeStream.all.at(-1) as FakeStream
const frame = (at_ms: number) => ({ data: JSON.stringify({ at_ms }) })

let answer: () => Promise<Response>
let asked = 0
let stop: () => void

beforeEach(() => {
  vi.useFakeTimers()
  FakeStream.all = []
  asked = 0
  answer = async () => Response.json({ frames: [] })
  vi.stubGlobal('EventSource', FakeStream)
  vi.stubGlobal('addEventListener', () => {})
  vi.stubGlobal('removeEventListener', () => {})
  vi.stubGlobal('document', { addEventListener: () => {}, removeEventListener: () => {}, visibilityState: 'visible' })
  vi.stubGlobal('fetch', () => {
    asked++
    return answer()
  })
})
afterEach(() => {
  stop()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const begin = async (): Promise<void> => {
  stop = follow()
  await vi.advanceTimersByTimeAsync(0)
}
const away = async (): Promise<Response> => {
  throw new TypeError('failed to fetch')
}

describe('following the figures', () => {
  it('keeps each frame once, in order', async () => {
    answer = async () => Response.json({ frames: [{ at_ms: 1 }, { at_ms: 2 }] })
    await begin()
    for (const at of [2, 3]) last().onmessage?.(frame(at))
    expect([frames.value.map(({ at_ms }) => at_ms), liveState.value]).toEqual([[1, 2, 3], 'live'])
  })

  it('a stream that ends is opened again, without a notice', async () => {
    await begin()
    last().onmessage?.(frame(1))
    const states: string[] = []
    const forget = liveState.subscribe((state) => states.push(state))
    last().onerror?.()
    await vi.advanceTimersByTimeAsync(1_000)
    forget()
    expect([FakeStream.all.length, FakeStream.all[0].isClosed, states]).toEqual([2, true, ['live']])
  })

  it('a server that does not answer is lost, is asked again, and recovers', async () => {
    await begin()
    last().onmessage?.(frame(1))
    const before = recovery.value
    answer = away
    last().onerror?.()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([liveState.value, typeof lostAtMs.value]).toEqual(['lost', 'number'])
    answer = async () => Response.json({ frames: [{ at_ms: 5 }] })
    await vi.advanceTimersByTimeAsync(15_000)
    expect([liveState.value, lostAtMs.value, recovery.value]).toEqual(['live', undefined, before + 1])
  })

  it('what was read without the database is read again when it is there', async () => {
    await begin()
    const before = recovery.value
    const times = ['up', 'away', 'away', 'up', 'up'].map((database, i) => {
      last().onmessage?.({ data: JSON.stringify({ at_ms: i + 1, database }) })
      return recovery.value - before
    })
    expect(times).toEqual([0, 0, 0, 1, 1])
  })

  it('a stream that says nothing is not trusted', async () => {
    await begin()
    last().onmessage?.(frame(1))
    answer = away
    await vi.advanceTimersByTimeAsync(6_500)
    expect(liveState.value).toBe('lost')
  })

  it('a server that refuses is there', async () => {
    answer = async () => Response.json({ code: 'ADMIN_TOKEN_REQUIRED' }, { status: 401 })
    await begin()
    expect(liveState.value).toBe('waiting')
  })

  it('begins once', async () => {
    await begin()
    expect([asked, FakeStream.all.length]).toEqual([1, 1])
  })

  it('that is stopped asks nothing more', async () => {
    answer = away
    await begin()
    stop()
    const before = asked
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked, liveState.value]).toEqual([before, 'waiting'])
  })
})
