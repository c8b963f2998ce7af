import type { AccountBook } from './account-book.ts'
import type { EndedPeriod } from './account-state.ts'
import { noTotals } from './entry.ts'
import { freeOf, type Lot } from './lot.ts'
import type { Period } from './period-calendar.ts'

/** Brings an account to the period of now: issues allowances, lets lots lapse, closes periods whose grace is over. */
export function turnPeriod(book: AccountBook): void {
  const { state, terms, nowMs } = book
  if (state.period === undefined) begin(book, terms.calendar.at(nowMs), 0)
  else catchUp(book, state.period)
  raiseAllowance(book)
  book.repay()
  lapse(book)
  for (const each of state.ended) if (each.endMs + terms.graceMs <= nowMs) closePeriod(book, each)
  state.ended.splice(0, state.ended.length, ...state.ended.filter((each) => each.closedAtMs === undefined))
}

export function closePeriod(book: AccountBook, period: EndedPeriod): void {
  if (period.closedAtMs !== undefined) return
  period.closedAtMs = book.nowMs
  book.changedPeriods.add(period)
}

/** Ends lots whose time is over: what may be is carried over, the rest lapses. */
export function lapse(book: AccountBook): void {
  for (const lot of [...book.state.lots]) {
    const amount = freeOf(lot)
    if (lot.lapsesAtMs > book.nowMs || amount === 0) continue
    const carried = lot.kind === 'allowance' ? carry(book, lot, amount) : 0
    if (amount === carried) continue
    book.change(lot, carried - amount)
    book.post('lapse', lot.number, amount - carried, { eventAtMs: lot.expiresAtMs - 1 })
  }
}

/** A debt is repaid by the first allowances that were due, whether anyone asked in their periods or not. */
function catchUp(book: AccountBook, last: Period): void {
  const { state, terms, nowMs } = book
  let { endMs } = last
  while (nowMs >= endMs && state.debt > 0 && terms.allowance > 0) {
    const next = terms.calendar.after(endMs, endMs)
    begin(book, next)
    endMs = next.endMs
  }
  if (nowMs >= endMs) for (const period of missedPeriods(book, state.period!)) begin(book, period)
}

/** The period of now, and those before it whose allowance may still pay for something. In others nothing happened. */
function missedPeriods({ terms, nowMs }: AccountBook, last: Period): Period[] {
  const { calendar, carry, graceMs } = terms
  const periods = [calendar.after(last.endMs, nowMs)]
  while (periods[0].startMs > last.endMs) {
    const before = calendar.after(last.endMs, periods[0].startMs - 1)
    const paysUntil = carry.most === 0 ? before : periods[carry.periods - 1]
    if (paysUntil !== undefined && paysUntil.endMs + graceMs <= nowMs) break
    periods.unshift(before)
  }
  return periods
}

function begin(book: AccountBook, period: Period, opening = book.state.balance - book.state.debt): void {
  const { state } = book
  if (state.period !== undefined) {
    const ended = { ...state.period, totals: state.totals, closedAtMs: undefined }
    state.ended.push(ended)
    book.changedPeriods.add(ended)
  }
  state.period = period
  state.totals = noTotals(opening)
  if (state.allowanceLot !== 0) book.changedLots.add(book.lot(state.allowanceLot))
  state.allowanceLot = 0
  raiseAllowance(book)
  book.repay(period.startMs)
}

/** A plan that gives more gives the difference now; one that gives less begins with the next period. */
function raiseAllowance(book: AccountBook): void {
  const { state, terms } = book
  const { startMs, endMs } = state.period!
  const lot = state.allowanceLot === 0 ? undefined : book.lot(state.allowanceLot)
  const more = terms.allowance - (lot?.issued ?? 0)
  if (more <= 0) return
  if (lot === undefined) {
    const span = { priority: 0, effectiveAtMs: startMs, expiresAtMs: endMs }
    state.allowanceLot = book.newLot('allowance', more, span, (number) =>
      book.post('issue', number, more, { eventAtMs: startMs }),
    )
  } else {
    lot.issued += more
    book.change(lot, more)
    book.post('issue', lot.number, more, { eventAtMs: startMs })
  }
}

/** Carries over what would still be good for something. Returns how much that is. */
function carry(book: AccountBook, lot: Lot, free: number): number {
  const { carry, calendar, graceMs } = book.terms
  const amount = Math.min(free, carry.most - lot.carried)
  if (amount <= 0) return 0
  let endMs = lot.expiresAtMs
  for (let n = 0; n < carry.periods; n++) endMs = calendar.after(endMs, endMs).endMs
  if (endMs + graceMs <= book.nowMs) return 0
  lot.carried += amount
  book.change(lot, -amount)
  book.post('carry_out', lot.number, amount, { eventAtMs: lot.expiresAtMs - 1 })
  book.newLot('carried', amount, { priority: 0, effectiveAtMs: lot.expiresAtMs, expiresAtMs: endMs }, (number) =>
    book.post('carry_in', number, amount, { eventAtMs: lot.expiresAtMs }),
  )
  return amount
}
