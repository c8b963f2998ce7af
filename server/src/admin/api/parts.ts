import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { AuditLog } from '../../quotas/audit/audit-log.ts'
import type { Override, StoredTier } from '../../quotas/model.ts'
import type { RecordStore } from '../../quotas/records/record-store.ts'
import type { ApiKeyHash } from '../../quotas/tables/api-key-hash.ts'
import type { RuleTable } from '../../quotas/tables/rule-table.ts'
import type { TokenStore } from '../../quotas/tables/token-store.ts'
import type { TierUsage } from '../../quotas/usage/tier-usage.ts'
import type { UsagePages } from '../../quotas/usage/usage-pages.ts'
import type { WebhookStore } from '../../quotas/webhooks/webhook-store.ts'
import type { Access } from '../access/access.ts'

/** A PartKey names a part of the service that operations need. The folder of the part has its key. */
export interface PartKey<T> {
  readonly name: string
  /** Never there: it ties the key to its type. */
  readonly type?: T
}

/** partKey makes the key of a part. Errors name it where the part is missing. */
export const partKey = <T>(name: string): PartKey<T> => ({ name })

/** Offered is what a class offers to operations. A test may put something else in its place. */
export type Offered<T> = Pick<T, keyof T>

/** RULES are the rules in force. */
export const RULES = partKey<() => RuleSet>('rules')
/** ACCESS says who may do what. */
export const ACCESS = partKey<Access>('access')

// What the database keeps, as far as operations use it. Views of the fleet have their keys in their folders.
export type Records = Pick<RecordStore, 'get' | 'put' | 'remove' | 'changeAll' | 'list'>
export const RECORDS = partKey<Records>('quotas')
export const AUDIT = partKey<Pick<AuditLog, 'list' | 'verify'>>('audit')
/** A KeyHash turns API keys into what is kept of them. */
export type KeyHash = Pick<ApiKeyHash, 'hash'>
export const API_KEYS = partKey<KeyHash>('apiKeys')
export const RULE_TABLE = partKey<Pick<RuleTable, 'versions' | 'read' | 'check' | 'put'>>('ruleTable')
export const TOKENS =
  partKey<Pick<TokenStore, 'create' | 'list' | 'get' | 'find' | 'revoke' | 'used' | 'hasAny'>>('tokens')
export const USAGE = partKey<Pick<UsagePages, 'read'>>('usage')
export const TIER_USAGE = partKey<Offered<TierUsage>>('tierUsage')
export const WEBHOOKS = partKey<Omit<Offered<WebhookStore>, 'disable'>>('webhooks')

/** RecordProblems says why records have no effect that were put in another way, or under other rules. Undefined: nothing is wrong. */
export interface RecordProblems {
  ofTier(tier: StoredTier): string | undefined
  ofOverride(override: Override): string | undefined
  /** Says what of the scope of an override does not exist. */
  ofScope(scope: Pick<Override, 'domain' | 'rule'>): string | undefined
}

export const PROBLEMS = partKey<RecordProblems>('problems')

/** AdminParts are what operations work with. Which are there depends on the service: one without a database has no records. */
export class AdminParts {
  readonly #parts = new Map<PartKey<unknown>, unknown>()

  /** Adds a part. Undefined: the service does not have it. */
  with<T>(key: PartKey<T>, part: NoInfer<T> | undefined): this {
    if (part !== undefined) this.#parts.set(key, part)
    return this
  }

  find<T>(key: PartKey<T>): T | undefined {
    return this.#parts.get(key) as T | undefined
  }

  /** Returns a part, or throws QUOTAS_UNAVAILABLE. */
  get<T>(key: PartKey<T>): T {
    const found = this.find(key)
    if (found === undefined) throw new SluiceError('QUOTAS_UNAVAILABLE', key.name, 'not there')
    return found
  }
}
