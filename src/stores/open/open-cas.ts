import { addErrorRules } from '../../core/errors.ts'
import { KeyEncoder } from '../../core/key-encoder.ts'
import { checkKeyPrefix } from '../../core/key-prefix.ts'
import { OPTIONAL_RULES } from '../../core/library-error-rules.ts'
import { warnProcess } from '../../core/warn-process.ts'
import { FailurePolicy } from '../../engine/failure-policy.ts'
import { PARTITIONS, sharedHash } from '../../engine/shared-hash.ts'
import type { CasEngine } from '../cas/cas-engine.ts'
import { CasStore } from '../cas/cas-store.ts'
import { LeasedStore } from '../leased/leased-store.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import type { DeadlineRange } from '../redis/batch/adaptive-deadline.ts'
import { openOnce } from './open-once.ts'
import type { AppRedisOptions, OpenStore, OpenStoreOptions } from './opened-store.ts'

/** Where counters live other than in Redis: what makes its engine, and what people call it. */
export interface CasPlace {
  /** What is the same for all limits that share it: the client of the app. */
  readonly identity: unknown
  /** What separates places of one client, such as the table. */
  readonly variant: string
  /** For people: `in PostgreSQL`. */
  readonly name: string
  readonly timeoutMs?: number | undefined
  readonly deadlines?: DeadlineRange
  makeEngine(): CasEngine
}

type CasOptions = Pick<OpenStoreOptions, 'secret' | 'keyPrefix' | 'timeoutMs' | 'events'>

/** Opens counters behind slices and the failure policy. */
export function openCas(place: CasPlace, options: CasOptions): OpenStore {
  const { secret = '', keyPrefix = '', events = {} } = options
  checkKeyPrefix(keyPrefix, 'keyPrefix')
  const timeoutMs = options.timeoutMs ?? place.timeoutMs
  const cas = new CasStore(place.makeEngine(), {
    timeoutMs,
    events,
    ...(place.deadlines && { deadlines: place.deadlines }),
  })
  const leased = new LeasedStore(cas, { timeoutMs: () => cas.timeoutMs })
  const local = new MemoryStore()
  const policy = new FailurePolicy(leased, local, events)
  cas.listen({ noticed: (notice) => policy.noticed(notice), connected() {} })
  const hash = sharedHash(secret)
  return {
    store: policy,
    parts: { hash, partitions: PARTITIONS, keyPrefix },
    keys: new KeyEncoder(hash, PARTITIONS, keyPrefix),
    memory: undefined,
    redis: undefined,
    connectedRedis: undefined,
    name: place.name,
    ready: Promise.resolve(),
    claim: (domain) => domain,
    stats: () => {
      const { keys, evicted, shared: joined } = local.stats
      return { ...leased.stats, localKeys: keys, localEvicted: evicted, localShared: joined }
    },
    close: async () => {
      await policy.close()
    },
  }
}

/** Opens the place that an app names. Limits at one place share a store. */
export function openAppCas(place: CasPlace, options: AppRedisOptions): OpenStore {
  addErrorRules(OPTIONAL_RULES)
  const { keyPrefix, log = warnProcess, observer } = options
  const secret = options.secret ?? globalThis.process?.env?.SLUICE_SECRET ?? ''
  const same = { secret, keyPrefix, timeoutMs: place.timeoutMs, variant: place.variant }
  return openOnce({ at: place.identity, options: same, name: 'store' }, { log, observer }, (events) =>
    openCas(place, { secret, keyPrefix, events }),
  )
}
