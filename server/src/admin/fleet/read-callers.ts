import type { NearLimit, RecentRefusal } from '../../quotas/ports.ts'

// What other nodes tell is checked: who can write to Redis can write anything.

type Received<T> = Omit<T, 'node'>
const MAX_ITEMS = 5_000
const MAX_TEXT = 16_384

/** listOf reads a list of things; undefined where one of them has another form. */
export function listOf<T>(read: (value: unknown) => T | undefined): (answer: unknown) => readonly T[] | undefined {
  return (answer) => {
    if (!Array.isArray(answer) || answer.length > MAX_ITEMS) return undefined
    const items = answer.map(read)
    return items.includes(undefined) ? undefined : (items as T[])
  }
}

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

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || isText(value)
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A time that no calendar has would break who shows it. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 8.64e15
}
