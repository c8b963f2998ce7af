import type { Meter } from '../quotas/model.ts'
import { PeriodCalendar } from './core/period-calendar.ts'
import type { Terms } from './core/terms.ts'
import type { TermsRow } from './tables/ledger-tables.ts'

const MOST_CALENDARS = 1_000
const calendars = new Map<string, PeriodCalendar>()

/** A calendar costs a tenth of a millisecond to make, and there are few of them. */
function calendarOf(unit: Meter['period'], timeZone: string, anchor: string | undefined): PeriodCalendar {
  const key = `${unit} ${timeZone} ${anchor}`
  let found = calendars.get(key)
  if (found === undefined) {
    found = new PeriodCalendar({ unit, timeZone, anchor })
    if (calendars.size >= MOST_CALENDARS) calendars.clear()
    calendars.set(key, found)
  }
  return found
}

/** Returns what a meter and the plan of a customer say. A customer that was removed gets no allowance. */
export function termsOf(meter: Meter, { has_customer, tier, time_zone, period_anchor }: TermsRow): Terms {
  const { allowances } = meter
  const ofTier = tier !== null && Object.hasOwn(allowances, tier) ? allowances[tier] : meter.allowance
  return {
    calendar: calendarOf(meter.period, time_zone ?? 'UTC', period_anchor ?? undefined),
    allowance: has_customer ? ofTier : 0,
    carry: { most: meter.carryMost, periods: meter.carryPeriods },
    graceMs: meter.graceSeconds * 1000,
    overdraft: meter.overdraft,
    holdMs: meter.holdSeconds * 1000,
  }
}
