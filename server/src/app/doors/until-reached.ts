import { setTimeout as pause } from 'node:timers/promises'

const LOOK_MS = 100
/** Looks until a start continues without the store: after a first attempt that failed, and where none has ended. */
const LOOKS_AFTER_FAILURE = 10
const MAX_LOOKS = 50

/**
 * Resolves when the store is reached; a second after the start, if the first attempt to connect has failed by then; and
 * after five seconds in any case: a store that is unavailable, or does not answer, prevents no start. The time is
 * counted in looks, each a turn of the event loop: while a busy process has none, replies of the store are not read
 * either.
 */
export async function untilReached(
  reached: Promise<void>,
  attempted: Promise<void>,
  look: () => Promise<unknown> = () => pause(LOOK_MS),
): Promise<void> {
  let isReached = false
  let hasFailed = false
  const arrived = reached.then(() => {
    isReached = true
  })
  void attempted.then(() => {
    hasFailed = true
  })
  for (let looks = 0; !isReached && looks < (hasFailed ? LOOKS_AFTER_FAILURE : MAX_LOOKS); looks++) {
    await Promise.race([arrived, look()])
  }
}
