import { signal } from '@preact/signals'
import { addressOf, ask } from './client.ts'
import { withFrames } from './frame-list.ts'
import type { LiveFrame } from './operations.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** Frames come every second: without one for so long, the stream is not alive, whatever the browser says. */
const SILENCE_MS = 6_000

/** Whether figures come: the first ones are awaited, they come, or the server cannot be reached. */
export type LiveState = 'waiting' | 'live' | 'lost'

/** frames are those of the last hour, the oldest first; rules are told of the last five minutes. Each change is a new list. */
export const frames = signal<readonly LiveFrame[]>([])
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
    const since = lastMs()
    ask('readLiveHistory', { query: { since } }).then(({ body }) => {
      if (isOver) return
      keep(body.frames)
      open()
    }, lose)
  }
  const open = (): void => {
    source = new EventSource(addressOf('watchLive', { query: { since: lastMs() || undefined } }))
    source.onmessage = ({ data }) => {
      keep([JSON.parse(String(data)) as LiveFrame])
      liveState.value = 'live'
      waitMs = FIRST_WAIT_MS
      later(SILENCE_MS, lose)
    }
    // A browser opens an ended stream again by itself, but not one that was answered with an error.
    source.onerror = lose
    later(SILENCE_MS, lose)
  }

  document.addEventListener('visibilitychange', showUnseen)
  begin()
  return () => {
    isOver = true
    document.removeEventListener('visibilitychange', showUnseen)
    unseen = []
    clearTimeout(timer)
    source?.close()
    frames.value = []
    liveState.value = 'waiting'
  }
}

/** Frames that came while nobody looked: a page that is hidden is not drawn. */
let unseen: readonly LiveFrame[] = []

const lastMs = (): number => (unseen.at(-1) ?? frames.value.at(-1))?.at_ms ?? 0

/** keep adds frames that are newer than those before. */
function keep(more: readonly LiveFrame[]): void {
  const last = lastMs()
  const newer = more.filter(({ at_ms }) => at_ms > last)
  if (newer.length === 0) return
  unseen = withFrames(unseen, newer)
  if (document.visibilityState === 'visible') showUnseen()
}

function showUnseen(): void {
  if (document.visibilityState !== 'visible' || unseen.length === 0) return
  const list = withFrames(frames.value, unseen)
  unseen = []
  frames.value = list
}
