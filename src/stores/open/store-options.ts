import type { Clock } from '../../core/clock.ts'
import { got, SluiceError } from '../../core/errors.ts'
import type { KeyForm } from '../../core/key-form.ts'
import { LIMIT_OPTIONS } from '../../core/limit-options.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'
import { ClaimedNames } from './claimed-names.ts'
import { type OpenStore, openStore } from './open-store.ts'

/** What an app says of where its counters live. */
export interface StoreOptions {
  /**
   * Where counters are shared: `redis://…`, `rediss://…`, `redis+cluster://…`, `redis+sentinel://…`; or a client of `redis`
   * or `ioredis`. Default: memory.
   */
  readonly redis?: string | RedisClient | undefined
  /**
   * Keys the hashes of secret values and partitions; the same on every node. Default: SLUICE_SECRET of the environment.
   */
  readonly secret?: string | undefined
  /** How long Redis may take where a limit or a rule does not say, from 1 to 60,000. Default: 5. */
  readonly redisTimeoutMs?: number | undefined
  /** What keys in Redis begin with: apps with other prefixes share nothing. Default: nothing. */
  readonly keyPrefix?: string | undefined
  /** How counters are named in Redis: `'compact'` takes less memory there, and needs a secret. Default: `'readable'`. */
  readonly keys?: KeyForm | undefined
  /** The maximum number of counters to keep in memory; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** Receives lines about Redis for operators. Default: a process warning. */
  readonly log?: (line: string) => void
  /** Memory only, for tests. Default: the system's clock. */
  readonly clock?: Clock
}

interface SharedStore {
  readonly open: OpenStore
  readonly names: ClaimedNames
  users: number
}

/** Limits of one process on one address with the same options share a connection, and so its batches. */
const shared = new Map<string | RedisClient, Map<string, SharedStore>>()

/**
 * Opens the store that an app names. Limits in memory have one each; those on one Redis share it, and the last one to
 * let go closes the connection. It does not keep the process alive.
 */
export function openAppStore(options: StoreOptions): OpenStore {
  const { redis, keyPrefix, keys, redisTimeoutMs, maxKeys, clock, log = warn } = options
  if (redisTimeoutMs !== undefined) checkTimeout(redisTimeoutMs)
  if (redis === undefined) return openStore({ maxKeys, clock })
  const secret = options.secret ?? globalThis.process?.env.SLUICE_SECRET ?? ''
  const identity = { secret, keyPrefix, keys, timeoutMs: redisTimeoutMs }
  const name = JSON.stringify(identity)
  const byName = shared.get(redis) ?? new Map<string, SharedStore>()
  const entry = byName.get(name) ?? {
    open: openStore({ redis, ...identity, keepAlive: false, events: loggedOnce(log) }),
    names: new ClaimedNames(),
    users: 0,
  }
  shared.set(redis, byName.set(name, entry))
  entry.users++
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
    for (const release of claims) release()
    if (--entry.users > 0) return
    byName.delete(name)
    if (byName.size === 0) shared.delete(redis)
    await entry.open.close()
  }
  return { ...entry.open, claim, close }
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

function warn(line: string): void {
  process.emitWarning(line, 'SluiceWarning')
}
