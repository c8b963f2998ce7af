import { signal } from '@preact/signals'
import { addressOf, ask } from './client.ts'
import { forgetFrames, keepFrames, lastFrameMs, showFrames } from './frames.ts'
import type { LiveFrame } from './operations.ts'
import { ApiProblem } from './problem.ts'
import { announceRecovery, recovery } from './recovery.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** Frames come every second: without one for so long, the stream is not alive, whatever the browser says. */
const SILENCE_MS = 6_000

/** An answer that takes longer is none. */
const PATIENCE_MS = 8_000

/** Whether figures come: the first ones are awaited, they come, or the server cannot be reached. */
export type LiveState = 'waiting' | 'live' | 'lost'

export { frames } from './frames.ts'
export const liveState = signal<LiveState>('waiting')
/** Since when the server cannot be reached. */
export const lostAtMs = signal<number | undefined>(undefined)

/**
 * follow reads the last hour and then each second, until it is stopped. A stream that ends is opened again after a look at
 * what was missed; only when that look fails is the server lost. It recovers automatically.
 */
export function follow(): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = FIRST_WAIT_MS
  let isOver = false
  /** Which look is the latest: a former one that is answered late opens nothing. */
  let turn = 0
  let database: LiveFrame['database'] | undefined

  const later = (ms: number, work: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }
  const lose = (error: unknown): void => {
    if (isOver) return
    // A server that answers is there, though it refuses: a session that ended is asked for again.
    const isThere = error instanceof ApiProblem && error.status > 0 && error.status < 500
    if (!isThere) {
      liveState.value = 'lost'
      lostAtMs.value ??= Date.now()
    }
    later(waitMs, begin)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
  const begin = (): void => {
    clearTimeout(timer)
    source?.close()
    const mine = ++turn
    const since = lastFrameMs()
    ask('readLiveHistory', { query: { since }, signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      ({ body }) => {
        if (isOver || mine !== turn) return
        found(body.frames)
        open()
      },
      (error) => mine === turn && lose(error),
    )
  }
  const found = (more: readonly LiveFrame[]): void => {
    keepFrames(more)
    const wasLost = liveState.peek() === 'lost'
    const wasDatabaseAway = database === 'away'
    database = more.at(-1)?.database ?? database
    liveState.value = 'live'
    lostAtMs.value = undefined
    if (wasLost || (wasDatabaseAway && database === 'up')) announceRecovery()
  }
  const open = (): void => {
    source = new EventSource(addressOf('watchLive', { query: { since: lastFrameMs() || undefined } }))
    source.onmessage = ({ data }) => {
      found([JSON.parse(String(data)) as LiveFrame])
      waitMs = FIRST_WAIT_MS
      later(SILENCE_MS, begin)
    }
    // A browser reopens an ended stream, but not one that was answered with an error.
    source.onerror = () => {
      source?.close()
      later(waitMs, begin)
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    }
    later(SILENCE_MS, begin)
  }
  const again = (): void => {
    if (!isOver && liveState.peek() !== 'live') begin()
  }

  addEventListener('online', again)
  document.addEventListener('visibilitychange', again)
  // A subscription is notified of the current value immediately, and so begins.
  const forget = recovery.subscribe(again)
  document.addEventListener('visibilitychange', showFrames)
  return () => {
    isOver = true
    document.removeEventListener('visibilitychange', showFrames)
    clearTimeout(timer)
    source?.close()
    forget()
    removeEventListener('online', again)
    document.removeEventListener('visibilitychange', again)
    forgetFrames()
    liveState.value = 'waiting'
    lostAtMs.value = undefined
  }
}
