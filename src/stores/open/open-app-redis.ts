import { addErrorRules, got, SluiceError } from '../../core/errors.ts'
import { OPTIONAL_RULES } from '../../core/library-error-rules.ts'
import { LIMIT_OPTIONS } from '../../core/limit-options.ts'
import { warnProcess } from '../../core/warn-process.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'
import { ClaimedNames } from './claimed-names.ts'
import { openShared } from './open-store.ts'
import type { AppRedisOptions, OpenStore } from './opened-store.ts'
import { StoreWatch } from './store-watch.ts'

interface SharedStore {
  readonly open: OpenStore
  readonly names: ClaimedNames
  readonly watch: StoreWatch
  users: number
}

/** Limits of one process on one address with the same options share a connection, and so its batches. */
const shared = new Map<string | RedisClient, Map<string, SharedStore>>()

/**
 * Opens the Redis that an app names. Limits on one Redis share a store, and the last one to let go closes the
 * connection. It does not keep the process alive.
 */
export function openAppRedis(redis: string | RedisClient, options: AppRedisOptions): OpenStore {
  addErrorRules(OPTIONAL_RULES)
  const { keyPrefix, keys, redisTimeoutMs, log = warnProcess } = options
  if (redisTimeoutMs !== undefined) checkTimeout(redisTimeoutMs)
  const secret = options.secret ?? globalThis.process?.env.SLUICE_SECRET ?? ''
  const identity = { secret, keyPrefix, keys, timeoutMs: redisTimeoutMs }
  const name = JSON.stringify(identity)
  const byName = shared.get(redis) ?? new Map<string, SharedStore>()
  const entry = byName.get(name) ?? openEntry({ redis, ...identity }, log)
  shared.set(redis, byName.set(name, entry))
  entry.users++
  const unwatch = entry.watch.add(options.observer)
  const claims: (() => void)[] = []
  const claim = (domain: string, encoded: string): string => {
    const { number, release } = entry.names.claim(`${domain} ${encoded}`)
    claims.push(release)
    if (number === 2) log(alike(encoded))
    return number === 1 ? domain : `${domain}#${number}`
  }
  let isOpen = true
  const close = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    unwatch()
    for (const release of claims) release()
    if (--entry.users > 0) return
    byName.delete(name)
    if (byName.size === 0) shared.delete(redis)
    await entry.open.close()
  }
  return { ...entry.open, claim, close }
}

function openEntry(place: Parameters<typeof openShared>[0], log: (line: string) => void): SharedStore {
  const watch = new StoreWatch()
  const open = openShared({ ...place, keepAlive: false, events: { ...loggedOnce(log), ...watch.events } })
  return { open, names: new ClaimedNames(), watch, users: 0 }
}

function checkTimeout(timeoutMs: number): void {
  const { min, max } = LIMIT_OPTIONS.timeout_ms.schema
  if (Number.isInteger(timeoutMs) && timeoutMs >= min && timeoutMs <= max) return
  const detail = `${got(timeoutMs)}, expected a whole number from ${min} to ${max}`
  throw new SluiceError('GATE_OPTIONS_INVALID', 'redisTimeoutMs', detail)
}

function alike(encoded: string): string {
  return `several limits "${encoded}" on one Redis have no name: each counts separately, in the order of creation. Give each a name`
}

/** Logs an outage once, not at every attempt to end it. */
function loggedOnce(log: (line: string) => void) {
  const away = new Set<string>()
  return {
    connected: (shard: string) => void away.delete(shard),
    disconnected: (shard: string, reason: string) => {
      if (!away.has(shard)) log(`no connection to ${shard}: ${reason}; limits follow onStoreFailure until there is one`)
      away.add(shard)
    },
    warned: log,
  }
}
