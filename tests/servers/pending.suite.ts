import type { RespConnection } from './resp.mjs'

const ROUND_TRIPS = 50

/**
 * Returns whether a promise is still open after a healthy server has answered many times over. A busy machine slows that
 * down as well, which no number of milliseconds would be.
 */
export async function isPending(promise: Promise<unknown>, healthy: RespConnection): Promise<boolean> {
  let isSettled = false
  const settled = () => {
    isSettled = true
  }
  promise.then(settled, settled)
  for (let i = 0; i < ROUND_TRIPS; i++) await healthy.send('PING')
  return !isSettled
}
