import type { Clock } from '../../core/clock.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { lentCounter } from './lent-counter.ts'
import type { Slice } from './slice.ts'
import type { Slices } from './slices.ts'

/**
 * Gives a part of this node's slice to another holder. It first asks its own lender when the slice lacks what is
 * needed, or when its lease is nearly over: nothing is lent for longer than it is held.
 */
export async function lend(request: SliceRequest, slices: Slices, clock: Clock): Promise<SliceReply> {
  const { key, limit, need, timeoutMs, leaseMs } = request
  const slice = slices.find(key, { limit, syncMs: undefined, timeoutMs }, clock.nowMs())
  if (isWorthAsking(slice, request, clock.nowMs())) {
    // What came is for the first caller that asks. Spending it and putting it back would lose it if a report to the
    // lender came in between.
    await slices.request(slice, { cost: need, timeoutMs, isForOthers: true }, clock.nowMs())
  }
  const nowMs = clock.nowMs()
  slice.lastUsedMs = nowMs
  const leftMs = Math.max(0, slice.leaseLeftMs(nowMs))
  const reply = slice.lent.exchange(
    { ...request, leaseMs: Math.min(leaseMs, leftMs) },
    nowMs,
    lentCounter(slice, nowMs),
  )
  if (slice.wantsMore) slices.refill(slice, nowMs)
  return reply
}

function isWorthAsking(slice: Slice, { need, leaseMs }: SliceRequest, nowMs: number): boolean {
  if (slice.leaseLeftMs(nowMs) < leaseMs / 2) return true
  return need > slice.inHand && !slice.isRefused(need, nowMs)
}
