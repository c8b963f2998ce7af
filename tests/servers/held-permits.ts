import { sharedRedis } from './shared.ts'

/** A HeldPlace is a place of a concurrency limit as Redis has it: since when it is held, and by whom. */
export interface HeldPlace {
  readonly sinceMs: number
  readonly id: string
}

const SPELLED =
  "local raw = redis.call('GET', KEYS[1]) or '' return (raw:gsub('.', function(c) return string.format('%02x', c:byte()) end))"
const COUNT_BYTES = 4
const RECORD_BYTES = 16

/** The places in the Redis of the test run whose keys fit a pattern. */
export async function heldPermits(pattern: string): Promise<readonly HeldPlace[]> {
  const redis = await (await sharedRedis()).connect()
  try {
    const places: HeldPlace[] = []
    for (const key of (await redis.send('KEYS', pattern)) as string[]) {
      const raw = Buffer.from(String(await redis.send('EVAL', SPELLED, 1, String(key))), 'hex')
      for (let at = COUNT_BYTES; at < raw.length; at += RECORD_BYTES) {
        places.push({ sinceMs: raw.readDoubleLE(at), id: raw.subarray(at + 8, at + RECORD_BYTES).toString('hex') })
      }
    }
    return places
  } finally {
    redis.close()
  }
}
