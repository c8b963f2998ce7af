import { Account } from './account.ts'
import type { AccountBook } from './account-book.ts'
import type { AccountState, Balance, Booked, Hold, Operation, Outcome } from './account-state.ts'
import { type Entry, noTotals } from './entry.ts'
import type { Terms } from './terms.ts'

const newState = (): AccountState => ({
  period: undefined,
  totals: noTotals(0),
  balance: 0,
  debt: 0,
  debtHeld: 0,
  lastEntry: 0,
  lastLot: 0,
  allowanceLot: 0,
  had: 0,
  lots: [],
  ended: [],
})

/** A MemoryAccount keeps what a database would, and forgets the same: lots that are over, periods that are closed. */
export class MemoryAccount {
  state = newState()
  readonly entries: Entry[] = []
  readonly holds = new Map<string, Hold>()
  readonly closed: { startMs: number; totals: AccountState['totals'] }[] = []
  readonly #lots = new Map<number, AccountState['lots'][number]>()
  readonly #returned = new Map<number, number>()

  run(
    operations: readonly Operation[],
    terms: Terms,
    nowMs: number,
  ): { outcomes: readonly Outcome[]; balance: Balance } {
    const expired = [...this.holds.values()].filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
    const known = { hold: (id: string) => this.holds.get(id), booked: (id: string) => this.#booked(id) }
    this.#load(operations)
    const account = new Account(structuredClone(this.state), terms, nowMs, known, expired)
    const outcomes = operations.map((operation) => account.apply(operation))
    this.#store(account.book)
    return { outcomes, balance: account.balance }
  }

  /** Lots that are over are only read where a correction names what they paid. */
  #load(operations: readonly Operation[]): void {
    const corrected = operations.flatMap((each) => (each.kind === 'correct' ? [each.corrects] : []))
    const named = this.entries.filter(({ id }) => corrected.includes(id!)).map(({ lot }) => lot)
    for (const number of named) {
      const lot = this.#lots.get(number)
      if (lot !== undefined && !this.state.lots.some((each) => each.number === number)) this.state.lots.push(lot)
    }
  }

  #store(book: AccountBook): void {
    const { state } = book
    for (const each of book.newHolds.values()) this.holds.set(each.id, each)
    for (const id of book.endedHolds) this.holds.delete(id)
    this.entries.push(...book.entries)
    for (const { corrects, amount } of book.entries) {
      if (corrects !== undefined) this.#returned.set(corrects, (this.#returned.get(corrects) ?? 0) + amount)
    }
    for (const lot of state.lots) this.#lots.set(lot.number, lot)
    for (const each of book.changedPeriods) if (each.closedAtMs !== undefined) this.closed.push(each)
    const isOpen = (lot: AccountState['lots'][number]): boolean =>
      lot.remaining > 0 || lot.held > 0 || lot.number === state.allowanceLot
    const ended = state.ended.filter((each) => each.closedAtMs === undefined)
    this.state = { ...state, lots: state.lots.filter(isOpen), ended }
  }

  #booked(id: string): Booked[] {
    return this.entries
      .filter((each) => each.id === id)
      .map((each) => ({
        ...each,
        paidBy: each.kind === 'use' ? this.#paidBy(each.lot) : undefined,
        returned: this.#returned.get(each.number) ?? 0,
      }))
  }

  #paidBy(lot: number): Booked['paidBy'] {
    if (lot <= 0) return lot === 0 ? 'overdraft' : 'unpaid'
    return ({ allowance: 'allowance', carried: 'allowance', grant: 'grants', credit: 'credits' } as const)[
      this.#lots.get(lot)!.kind
    ]
  }
}
