import { isCount, isText, isTextOrNone, isWhole } from '../fleet/read-values.ts'

/** A RecentRefusal is one request that was refused lately. */
export interface RecentRefusal {
  /** The id of the node that refused it. */
  readonly node: string
  readonly atMs: number
  readonly customerId: string | undefined
  readonly keyId: string | undefined
  readonly domain: string
  readonly rule: string
  /** Whom it was about, as it may be shown. */
  readonly key: string
  readonly reason: string
  /** Of a block: why, or its id. */
  readonly detail: string | undefined
  readonly retryAfterMs: number | undefined
}

/** A NearLimit is a caller that has used 80 % of a limit or more. */
export interface NearLimit
  extends Pick<RecentRefusal, 'node' | 'atMs' | 'customerId' | 'keyId' | 'domain' | 'rule' | 'key'> {
  readonly limit: number
  readonly remaining: number
  readonly windowMs: number
  readonly resetAtMs: number
}

type Received<T> = Omit<T, 'node'>

export function readRefusal(value: unknown): Received<RecentRefusal> | undefined {
  const caller = readCaller(value)
  if (caller === undefined) return undefined
  const { reason, detail, retryAfterMs } = value as Record<string, unknown>
  if (!isText(reason) || !isTextOrNone(detail) || !(retryAfterMs === undefined || isCount(retryAfterMs)))
    return undefined
  return { ...caller, reason, detail, retryAfterMs }
}

export function readNearLimit(value: unknown): Received<NearLimit> | undefined {
  const caller = readCaller(value)
  if (caller === undefined) return undefined
  const { limit, remaining, windowMs, resetAtMs } = value as Record<string, unknown>
  if (!isWhole(limit) || !isWhole(remaining) || !isCount(windowMs) || !isCount(resetAtMs)) return undefined
  return { ...caller, limit, remaining, windowMs, resetAtMs }
}

function readCaller(value: unknown) {
  if (typeof value !== 'object' || value === null) return undefined
  const { atMs, customerId, keyId, domain, rule, key } = value as Record<string, unknown>
  if (!isCount(atMs) || !isTextOrNone(customerId) || !isTextOrNone(keyId)) return undefined
  return isText(domain) && isText(rule) && isText(key) ? { atMs, customerId, keyId, domain, rule, key } : undefined
}
