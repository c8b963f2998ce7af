import { loadEntry } from '../../core/load-entry.ts'
import type { RedisCode } from './opened-store.ts'

/** Loads the code that opens Redis, where nothing is bundled. */
export function redisCode(): RedisCode {
  const { code } = loadEntry(
    'sluice/redis',
    "import { redis } from 'sluice/redis' and pass redis(…) with the address or the client",
  )
  return code as RedisCode
}
