import { got, SluiceError } from 'sluice/internal/core/errors'
import { checkCompact, type KeyForm } from 'sluice/internal/core/key-form'
import { checkKeyPrefix } from 'sluice/internal/core/key-prefix'
import { LIMIT_OPTIONS } from 'sluice/internal/core/limit-options'
import type { SettingSources } from './setting-sources.ts'
import { isOn, lastOf } from './setting-values.ts'

type Env = NodeJS.ProcessEnv

/** Names files. */
export interface RedisTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly anyHostName: boolean
}

/** Checks the deadline like a rule's: without time, no decision would ever reach Redis. */
export function redisTimeoutOf(from: SettingSources): number | undefined {
  const timeoutMs = from.value('redis-timeout')
  if (timeoutMs === undefined) return undefined
  const { min, max } = LIMIT_OPTIONS.timeout_ms.schema
  if (timeoutMs >= min && timeoutMs <= max) return timeoutMs
  const { where = '--redis-timeout', values = [] } = from.given('redis-timeout') ?? {}
  throw new SluiceError('REDIS_TIMEOUT_INVALID', where, got(values.at(-1)))
}

export function keyPrefixOf(from: SettingSources): string | undefined {
  const given = from.given('key-prefix')
  return given && checkKeyPrefix(lastOf(given), given.where)
}

/** Returns how counters are named in Redis. */
export function keyFormOf(from: SettingSources): KeyForm {
  const form = from.value('keys')
  checkCompact(form, from.value('secret'), from.given('keys')?.where ?? '--keys')
  return form
}

export function redisTlsOf(from: SettingSources, env: Env): RedisTls {
  const name = 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION'
  const value = env[name] ?? ''
  const [cert, key] = [from.given('redis-cert'), from.given('redis-key')]
  if (cert !== undefined && key === undefined)
    throw new SluiceError('TLS_INCOMPLETE', cert.where, '--redis-key is missing')
  if (key !== undefined && cert === undefined)
    throw new SluiceError('TLS_INCOMPLETE', key.where, '--redis-cert is missing')
  return {
    caFile: from.value('redis-ca'),
    certFile: from.value('redis-cert'),
    keyFile: from.value('redis-key'),
    anyHostName: value !== '' && isOn({ values: [value], where: name, source: 'env' }),
  }
}
