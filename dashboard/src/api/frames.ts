import { signal } from '@preact/signals'
import { withFrames } from './frame-list.ts'
import type { LiveFrame } from './operations.ts'

/** frames are those of the last hour, the oldest first; only those of the last five minutes have rules. Each change is a new list. */
export const frames = signal<readonly LiveFrame[]>([])

/** Frames that arrived while the page was hidden: it is not drawn then. */
let unseen: readonly LiveFrame[] = []

/** lastFrameMs is the time of the newest frame, whether it is shown yet or not; 0 where there is none. */
export const lastFrameMs = (): number => (unseen.at(-1) ?? frames.peek().at(-1))?.at_ms ?? 0

/** keepFrames adds frames that are newer than those before. */
export function keepFrames(more: readonly LiveFrame[]): void {
  const last = lastFrameMs()
  unseen = withFrames(
    unseen,
    more.filter(({ at_ms }) => at_ms > last),
  )
  showFrames()
}

/** showFrames shows what came while the page was hidden. */
export function showFrames(): void {
  if (document.visibilityState !== 'visible' || unseen.length === 0) return
  const list = withFrames(frames.peek(), unseen)
  unseen = []
  frames.value = list
}

export function forgetFrames(): void {
  unseen = []
  frames.value = []
}
