import { signal } from '@preact/signals'
import { addressOf, ask } from './client.ts'
import { forgetFrames, keepFrames, lastFrameMs, showFrames } from './frames.ts'
import type { LiveFrame } from './operations.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** Frames come every second: without one for so long, the stream is not alive, whatever the browser says. */
const SILENCE_MS = 6_000

/** Whether figures come: the first ones are awaited, they come, or the server cannot be reached. */
export type LiveState = 'waiting' | 'live' | 'lost'

export { frames } from './frames.ts'
export const liveState = signal<LiveState>('waiting')

/** follow reads the last hour and then each second, until it is told to stop. It begins again when it is lost. */
export function follow(): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = FIRST_WAIT_MS
  let isOver = false

  const later = (ms: number, work: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }
  const lose = (): void => {
    source?.close()
    if (isOver) return
    liveState.value = 'lost'
    later(waitMs, begin)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
  const begin = (): void => {
    const since = lastFrameMs()
    ask('readLiveHistory', { query: { since } }).then(({ body }) => {
      if (isOver) return
      keepFrames(body.frames)
      open()
    }, lose)
  }
  const open = (): void => {
    source = new EventSource(addressOf('watchLive', { query: { since: lastFrameMs() || undefined } }))
    source.onmessage = ({ data }) => {
      keepFrames([JSON.parse(String(data)) as LiveFrame])
      liveState.value = 'live'
      waitMs = FIRST_WAIT_MS
      later(SILENCE_MS, lose)
    }
    // A browser opens an ended stream again by itself, but not one that was answered with an error.
    source.onerror = lose
    later(SILENCE_MS, lose)
  }

  begin()
  document.addEventListener('visibilitychange', showFrames)
  return () => {
    isOver = true
    document.removeEventListener('visibilitychange', showFrames)
    clearTimeout(timer)
    source?.close()
    forgetFrames()
    liveState.value = 'waiting'
  }
}
