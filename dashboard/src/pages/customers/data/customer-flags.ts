import type { Block, NearLimit } from '../../../api/operations.ts'

/** CustomerFlags are what the list of customers highlights. */
export interface CustomerFlags {
  readonly isBlocked: boolean
  /** The share that is used of the fullest limit; 1: it is exhausted. Undefined: there is budget. */
  readonly fullest: number | undefined
}

const NO_FLAGS: CustomerFlags = { isBlocked: false, fullest: undefined }

/** flagsOf returns for each customer whether it is blocked now, and how near to a limit it is. */
export function flagsOf(
  near: readonly NearLimit[],
  blocks: readonly Block[],
  nowMs: number,
): (customerId: string) => CustomerFlags {
  const flags = new Map<string, CustomerFlags>()
  for (const { customer_id: id, limit, remaining, resets_at } of near) {
    if (id === null || Date.parse(resets_at) <= nowMs) continue
    const before = flags.get(id) ?? NO_FLAGS
    const share = limit > 0 ? Math.min(1, Math.max(0, 1 - remaining / limit)) : 1
    flags.set(id, { ...before, fullest: Math.max(before.fullest ?? 0, share) })
  }
  for (const block of blocks) {
    const { customer_id: id } = block
    if (id !== null && isInForce(block, nowMs)) flags.set(id, { ...(flags.get(id) ?? NO_FLAGS), isBlocked: true })
  }
  return (id) => flags.get(id) ?? NO_FLAGS
}

/** isInForce is true between the beginning and the end of a record. */
export function isInForce(
  { effective_at, expires_at }: { readonly effective_at: string; readonly expires_at: string | null },
  nowMs: number,
): boolean {
  return Date.parse(effective_at) <= nowMs && (expires_at === null || Date.parse(expires_at) > nowMs)
}
