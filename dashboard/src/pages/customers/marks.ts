import type { Block, NearLimit } from '../../api/operations.ts'

/** Marks are what stands out about a customer in the list. */
export interface Marks {
  readonly isBlocked: boolean
  /** Whether a limit is used up, and the share that is used of the fullest. Undefined: there is budget. */
  readonly fullest: number | undefined
}

const NO_MARKS: Marks = { isBlocked: false, fullest: undefined }

/** marksOf says of each customer whether it is blocked now, and how near to a limit it is. */
export function marksOf(
  near: readonly NearLimit[],
  blocks: readonly Block[],
  nowMs: number,
): (customerId: string) => Marks {
  const marks = new Map<string, Marks>()
  for (const { customer_id: id, limit, remaining, resets_at } of near) {
    if (id === null || Date.parse(resets_at) <= nowMs) continue
    const before = marks.get(id) ?? NO_MARKS
    const share = limit > 0 ? Math.min(1, Math.max(0, 1 - remaining / limit)) : 1
    marks.set(id, { ...before, fullest: Math.max(before.fullest ?? 0, share) })
  }
  for (const block of blocks) {
    const { customer_id: id } = block
    if (id !== null && isInForce(block, nowMs)) marks.set(id, { ...(marks.get(id) ?? NO_MARKS), isBlocked: true })
  }
  return (id) => marks.get(id) ?? NO_MARKS
}

/** isInForce says whether something that has a beginning and an end counts now. */
export function isInForce(
  { effective_at, expires_at }: { readonly effective_at: string; readonly expires_at: string | null },
  nowMs: number,
): boolean {
  return Date.parse(effective_at) <= nowMs && (expires_at === null || Date.parse(expires_at) > nowMs)
}
