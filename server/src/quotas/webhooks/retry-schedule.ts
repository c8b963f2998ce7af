const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long after an attempt the next one follows, as Standard Webhooks suggests: ten attempts in a little over three days. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

const JITTER = 0.1

/**
 * Returns when to try again after `attempts` that failed, or undefined when it is time to give up. Up to a tenth is
 * added at random, so that what failed together is not sent together. `random` is from 0 to 1.
 */
export function retryDelayMs(attempts: number, random: number): number | undefined {
  const delayMs: number | undefined = RETRY_DELAYS_MS[attempts - 1]
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 + JITTER * random))
}
