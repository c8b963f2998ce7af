import { impossibleVerdict } from '../core/decision.ts'
import type { LedgerHold } from '../core/ledger-note.ts'
import { type Due, type Paid, type Payer, settledWeightOf } from './payer.ts'

/** A Purse pays from one number for each meter, and notes what it is asked. */
export class Purse implements Payer {
  readonly left: Record<string, number>
  readonly booked: Record<string, number> = {}
  readonly asked: {
    readonly meters: readonly string[]
    readonly amounts: readonly number[]
    readonly isHeld: boolean
  }[] = []
  readonly #isAway: boolean
  readonly #holds = new Map<string, number>()
  #count = 0

  /** isAway: it answers with promises. */
  constructor(left: Record<string, number>, isAway = false) {
    this.left = left
    this.#isAway = isAway
  }

  pay(dues: readonly Due[], isHeld: boolean): Paid | Promise<Paid> {
    this.asked.push({
      meters: dues.map(({ ledger }) => ledger.meter),
      amounts: dues.map(({ amount }) => amount),
      isHeld,
    })
    const paid = this.#pay(dues, isHeld)
    return this.#isAway ? Promise.resolve(paid) : paid
  }

  commit(hold: LedgerHold, used: number, before?: number): boolean {
    const kept = before ?? this.#holds.get(hold.id) ?? 0
    this.#holds.delete(hold.id)
    this.left[hold.meter] += kept - used
    this.booked[hold.meter] = (this.booked[hold.meter] ?? 0) + used - (before ?? 0)
    return true
  }

  #pay(dues: readonly Due[], isHeld: boolean): Paid {
    const at = dues.findIndex(({ ledger, amount }) => this.left[ledger.meter] < amount)
    if (at >= 0)
      return { kind: 'unpaid', at, status: 402, verdict: { ...impossibleVerdict(0, 0, 0, 0), ledger: EMPTY } }
    for (const { ledger, amount } of dues) this.left[ledger.meter] -= amount
    const note = { field: 'paid', json: [] }
    if (isHeld) return { kind: 'paid', payment: { ...note, holds: dues.map((due) => this.#hold(due)) } }
    for (const { ledger, amount } of dues) this.booked[ledger.meter] = (this.booked[ledger.meter] ?? 0) + amount
    return { kind: 'paid', payment: { ...note, holds: [] } }
  }

  #hold(due: Due): LedgerHold {
    const { charge, ledger, amount } = due
    const id = `h${this.#count++}`
    this.#holds.set(id, amount)
    return { key: charge.key, customer: 'acme', meter: ledger.meter, id, amount, weight: settledWeightOf(due) }
  }
}

const EMPTY = { code: 'LEDGER_SHORT', reason: 'the purse is empty', field: 'empty', json: [{ meter: 'm' }] } as const
