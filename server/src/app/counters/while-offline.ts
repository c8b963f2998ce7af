import { setTimeout as pause } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import { StoreFault } from 'sluice/internal/engine/store-fault'

/** How long a command tries to reach Redis. */
export const CONNECT_MS = 5_000
const RETRY_MS = 20

/** Retries while there is no connection, and finally throws the reason why there is none. */
export async function whileOffline<T>(act: () => Promise<T>, reason: () => string, withinMs = CONNECT_MS): Promise<T> {
  const endAt = performance.now() + withinMs
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof StoreFault)) throw error
      const isOver = error.reason !== 'offline' || performance.now() >= endAt
      if (isOver) {
        const detail = error.reason === 'offline' ? `not connected: ${reason()}` : error.message
        throw new SluiceError('REDIS_UNREACHABLE', error.shard, detail)
      }
    }
    await pause(RETRY_MS)
  }
}
