import type { OpenStore } from '../stores/open/open-store.ts'

/** How long a first call waits at the most: the attempt itself ends after a second, unless this process is held up. */
const CONNECT_MS = 10_000

/**
 * firstConnection returns what to wait for before a call: the end of the first attempt to connect, and nothing from then
 * on. A job that asks once and ends would otherwise never reach Redis. It keeps the process
 * alive while somebody waits.
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
