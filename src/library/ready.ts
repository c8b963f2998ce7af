import type { OpenStore } from '../stores/open/open-store.ts'

/** How long a first call waits at most: the attempt itself ends after a second, unless this process stalls. */
const CONNECT_MS = 10_000

/**
 * Returns what to wait for before a call: the end of the first attempt to connect, and nothing from then on. A job that
 * asks once and exits would otherwise never reach Redis. Keeps the process alive while a call waits.
 */
export function firstConnection({ ready }: OpenStore): () => Promise<void> | undefined {
  let isReady = false
  void ready.then(() => {
    isReady = true
  })
  return () => {
    if (isReady) return undefined
    return new Promise((resolve) => {
      const goOn = (): void => {
        isReady = true
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(goOn, CONNECT_MS)
      void ready.then(goOn)
    })
  }
}
