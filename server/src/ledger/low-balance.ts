import type { Sql } from '../quotas/database/database.ts'
import { insertDeliveries, type ThresholdEvent } from '../quotas/webhooks/insert-deliveries.ts'
import { lowBalanceEvent } from '../quotas/webhooks/webhook-event.ts'
import type { AccountState } from './core/account-state.ts'

/** The lowest share that endpoints may ask for, in percent. */
const LOWEST = 50

/** How much of what a period has is used. */
export interface UsedShare {
  readonly periodMs: number | undefined
  readonly percent: number
}

export function usedShareOf({ period, totals }: AccountState): UsedShare {
  const { opening, issued, carried, used, unpaid } = totals
  const had = Math.max(0, opening) + issued + carried
  const percent = had === 0 ? 0 : Math.floor(((used - unpaid) / had) * 100)
  return { periodMs: period?.startMs, percent: Math.min(100, Math.max(0, percent)) }
}

/** A Drain is an account of which more is used than before. */
export interface Drain {
  readonly customerId: string
  readonly meterId: string
  readonly before: UsedShare
  readonly state: AccountState
}

/**
 * Makes webhooks of the shares that were reached, each once in a period. They are part of the transaction that books
 * what was used.
 */
export async function notifyLowBalances(tx: Sql, drains: readonly Drain[], nowMs: number): Promise<void> {
  const events: ThresholdEvent[] = []
  for (const drain of drains) addEvents(events, drain, nowMs)
  if (events.length > 0) await insertDeliveries(tx, events, nowMs)
}

function addEvents(events: ThresholdEvent[], { customerId, meterId, before, state }: Drain, nowMs: number): void {
  const { periodMs, percent } = usedShareOf(state)
  const last = before.periodMs === periodMs ? before.percent : 0
  const { totals, balance, debt, period } = state
  for (let threshold = Math.max(last + 1, LOWEST); threshold <= percent; threshold++) {
    const about = { customerId, meterId, threshold, used: totals.used, balance, debt, period: period! }
    events.push({ ...lowBalanceEvent(about, nowMs), customerId, threshold })
  }
}
