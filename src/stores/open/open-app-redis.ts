import { addErrorRules, got, SluiceError } from '../../core/errors.ts'
import { OPTIONAL_RULES } from '../../core/library-error-rules.ts'
import { LIMIT_OPTIONS } from '../../core/limit-options.ts'
import { warnProcess } from '../../core/warn-process.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'
import { openOnce } from './open-once.ts'
import { openShared } from './open-store.ts'
import type { AppRedisOptions, OpenStore } from './opened-store.ts'

/**
 * Opens the Redis that an app names. Limits on one Redis share a store, and the last one to let go closes the
 * connection. It does not keep the process alive.
 */
export function openAppRedis(redis: string | RedisClient, options: AppRedisOptions): OpenStore {
  addErrorRules(OPTIONAL_RULES)
  const { keyPrefix, keys, redisTimeoutMs, log = warnProcess, observer } = options
  if (redisTimeoutMs !== undefined) checkTimeout(redisTimeoutMs)
  const secret = options.secret ?? globalThis.process?.env.SLUICE_SECRET ?? ''
  const identity = { secret, keyPrefix, keys, timeoutMs: redisTimeoutMs }
  return openOnce({ at: redis, options: identity, name: 'Redis' }, { log, observer }, (events) =>
    openShared({ redis, ...identity, keepAlive: false, events }),
  )
}

function checkTimeout(timeoutMs: number): void {
  const { min, max } = LIMIT_OPTIONS.timeout_ms.schema
  if (Number.isInteger(timeoutMs) && timeoutMs >= min && timeoutMs <= max) return
  const detail = `${got(timeoutMs)}, expected a whole number from ${min} to ${max}`
  throw new SluiceError('GATE_OPTIONS_INVALID', 'redisTimeoutMs', detail)
}
