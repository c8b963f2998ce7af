import { AccountBook, type Known } from './account-book.ts'
import type {
  AccountState,
  Balance,
  Booked,
  Claim,
  Forced,
  Hold,
  Issue,
  Operation,
  Outcome,
  Rejection,
} from './account-state.ts'
import { NO_LOT, UNPAID } from './entry.ts'
import { noParts, type Parts } from './lot.ts'
import { closePeriod, lapse, turnPeriod } from './period-turn.ts'
import type { Terms } from './terms.ts'

const DEFAULT_PRIORITY = 50
const FUTURE_MS = 5 * 60_000
/** Sums of all lots stay whole numbers in every language that reads them. */
const MOST = Number.MAX_SAFE_INTEGER

/**
 * An Account applies operations to what is stored of one customer and one meter, at one moment. What they change, and
 * has to be stored, is in its book. It is pure: the same state, terms, moment and operations lead to the same entries.
 */
export class Account {
  readonly book: AccountBook

  /** `expired` are the holds whose time is over. */
  constructor(state: AccountState, terms: Terms, nowMs: number, known: Known, expired: readonly Hold[] = []) {
    this.book = new AccountBook(state, terms, nowMs, known)
    for (const hold of expired) this.book.end(hold, 'expire')
    turnPeriod(this.book)
  }

  apply(operation: Operation): Outcome {
    if (operation.kind === 'look') return { kind: 'looked' }
    if (operation.kind === 'close') return this.#close(operation.periodMs)
    const outcome = this.#applyTo(operation)
    this.book.repay()
    lapse(this.book)
    return outcome
  }

  get balance(): Balance {
    const { lots, debt, debtHeld, period } = this.book.state
    const held = lots.reduce((sum, lot) => sum + lot.held, debtHeld)
    return { available: this.book.available(this.book.nowMs), held, debt, period: period! }
  }

  #applyTo(operation: Exclude<Operation, { kind: 'look' | 'close' }>): Outcome {
    // An absurd amount is no reason for sums that numbers cannot hold.
    if (this.book.state.totals.used + amountOf(operation) > MOST) return rejected('amount_too_large')
    switch (operation.kind) {
      case 'reserve':
        return this.#reserve(operation)
      case 'commit':
        return operation.used === 0 ? this.#release(operation.id) : this.#commit(operation)
      case 'release':
        return this.#release(operation.id)
      case 'event':
        return this.#event(operation)
      case 'issue':
        return this.#issue(operation)
      case 'correct':
        return this.#correct(operation)
    }
  }

  #reserve({ id, amount, holdMs, forced }: Asked<'reserve'>): Outcome {
    const request = `reserve ${amount} ${holdMs ?? ''}`
    const before = this.#reservedBefore(id, request)
    if (before !== undefined) return before
    const claims = this.book.take(amount, this.book.nowMs)
    if (claims === undefined && forced !== undefined) return this.#reserveNothing(id, amount, request)
    if (claims === undefined) return this.#refuse(amount, this.book.nowMs)
    const expiresAtMs = this.book.nowMs + (holdMs ?? this.book.terms.holdMs)
    this.book.keep({ id, amount, claims, atMs: this.book.nowMs, expiresAtMs, request })
    return {
      kind: 'reserved',
      amount,
      paidFrom: this.book.partsOf(claims),
      state: 'held',
      expiresAtMs,
      isRepeated: false,
    }
  }

  /** Notes a reservation for which nothing is there: its commit is settled as one that comes late. */
  #reserveNothing(id: string, amount: number, request: string): Outcome {
    this.book.post('expire', NO_LOT, 0, { id, part: 0, reserved: amount, request })
    return {
      kind: 'reserved',
      amount,
      paidFrom: noParts(),
      state: 'expired',
      expiresAtMs: undefined,
      isRepeated: false,
    }
  }

  #reservedBefore(id: string, request: string): Outcome | undefined {
    const hold = this.book.holdOf(id)
    if (hold !== undefined) {
      if (hold.request !== request) return rejected('id_reused')
      const { amount, claims, expiresAtMs } = hold
      return {
        kind: 'reserved',
        amount,
        paidFrom: this.book.partsOf(claims),
        state: 'held',
        expiresAtMs,
        isRepeated: true,
      }
    }
    const booked = this.book.bookedOf(id)
    if (booked.length === 0) return undefined
    const [{ request: first, reserved = 0, kind }] = booked
    if (first !== request) return rejected('id_reused')
    const state = kind === 'release' ? 'released' : kind === 'expire' ? 'expired' : 'committed'
    const paidFrom = paidBy(booked)
    return { kind: 'reserved', amount: reserved, paidFrom, state, expiresAtMs: undefined, isRepeated: true }
  }

  #commit({ id, used, forced }: Asked<'commit'>): Outcome {
    const hold = this.book.holdOf(id)
    if (hold !== undefined) return this.#settle(hold, used, forced?.as)
    const booked = this.book.bookedOf(id)
    if (booked.length === 0 || booked[0].reserved === undefined) return rejected('hold_unknown')
    if (booked[0].kind === 'release') return rejected('hold_released')
    const uses = booked.filter(({ kind }) => kind === 'use')
    const isLate = booked[0].kind === 'expire'
    if (uses.length === 0) return this.#settleLate(id, used, booked, forced?.as)
    const isSame = sumOf(uses) === used
    if (!isSame) return rejected('id_reused')
    return { kind: 'settled', used, paidFrom: paidBy(uses), isLate, isRepeated: true }
  }

  /**
   * Pays from what was held; what was not used goes back to the lots that it came from, and what is above the hold is
   * a new charge.
   */
  #settle(hold: Hold, used: number, rest: Forced['as'] | undefined): Outcome {
    const uses: Claim[] = []
    let left = used
    this.book.free(hold)
    for (const claim of hold.claims) {
      const amount = Math.min(left, claim.amount)
      left -= amount
      if (amount > 0) uses.push({ lot: claim.lot, amount })
    }
    const { id, atMs, request, amount: reserved } = hold
    const first = { id, request, reserved }
    this.book.use(uses, atMs, first)
    const over = left === 0 ? [] : this.book.takeAll(left, this.book.paidAt(atMs), rest)
    this.book.use(over, atMs, uses.length === 0 ? first : { id }, uses.length)
    return { kind: 'settled', used, paidFrom: this.book.partsOf([...uses, ...over]), isLate: false, isRepeated: false }
  }

  /** The work was done, so it is booked: paid with what is there now, and the rest unpaid. */
  #settleLate(id: string, used: number, booked: readonly Booked[], rest: Forced['as'] | undefined): Outcome {
    const { eventAtMs } = booked[0]
    const uses = this.book.takeAll(used, this.book.paidAt(eventAtMs), rest)
    this.book.use(uses, eventAtMs, { id }, booked.length)
    return { kind: 'settled', used, paidFrom: this.book.partsOf(uses), isLate: true, isRepeated: false }
  }

  #release(id: string): Outcome {
    const hold = this.book.holdOf(id)
    if (hold !== undefined) {
      this.book.end(hold, 'release')
      return { kind: 'released', isRepeated: false }
    }
    const booked = this.book.bookedOf(id)
    if (booked.length === 0 || booked[0].reserved === undefined) return rejected('hold_unknown')
    return booked.some(({ kind }) => kind === 'use')
      ? rejected('hold_committed')
      : { kind: 'released', isRepeated: true }
  }

  #event({ id, amount, atMs, forced }: Asked<'event'>): Outcome {
    const request = `event ${amount} ${atMs ?? ''}`
    if (this.book.holdOf(id) !== undefined) return rejected('id_reused')
    const booked = this.book.bookedOf(id)
    if (booked.length > 0) {
      if (booked[0].request !== request) return rejected('id_reused')
      return { kind: 'settled', used: amount, paidFrom: paidBy(booked), isLate: false, isRepeated: true }
    }
    const eventAtMs = atMs ?? Math.min(forced?.atMs ?? this.book.nowMs, this.book.nowMs)
    if (eventAtMs > this.book.nowMs + FUTURE_MS) return rejected('event_in_future')
    const paidAtMs = this.book.paidAt(eventAtMs)
    const claims =
      forced === undefined ? this.book.take(amount, paidAtMs) : this.book.takeAll(amount, paidAtMs, forced.as)
    if (claims === undefined) return this.#refuse(amount, paidAtMs)
    this.book.use(claims, eventAtMs, { id, request })
    return { kind: 'settled', used: amount, paidFrom: this.book.partsOf(claims), isLate: false, isRepeated: false }
  }

  #issue(issue: Issue): Outcome {
    const { id, lotKind, amount, priority = DEFAULT_PRIORITY, effectiveAtMs, expiresAtMs, note } = issue
    const request = `issue ${lotKind} ${amount} ${priority} ${effectiveAtMs ?? ''} ${expiresAtMs ?? ''}`
    if (this.book.holdOf(id) !== undefined) return rejected('id_reused')
    const booked = this.book.bookedOf(id)
    if (booked.length > 0) {
      return booked[0].request === request ? { kind: 'issued', amount, isRepeated: true } : rejected('id_reused')
    }
    if (this.book.state.balance + amount > MOST) return rejected('amount_too_large')
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY
    this.book.newLot(
      lotKind,
      amount,
      { priority, effectiveAtMs: effectiveAtMs ?? this.book.nowMs, expiresAtMs: untilMs },
      (lot) => this.book.post('issue', lot, amount, { id, part: 0, request, note }),
    )
    this.book.state.had |= lotKind === 'grant' ? 1 : 2
    return { kind: 'issued', amount, isRepeated: false }
  }

  /** Returns what an id used, the last part first. An entry that is there is never changed. */
  #correct({ id, corrects, amount, note }: Asked<'correct'>): Outcome {
    const request = `correct ${corrects} ${amount}`
    if (this.book.holdOf(id) !== undefined) return rejected('id_reused')
    const before = this.book.bookedOf(id)
    if (before.length > 0) {
      return before[0].request === request ? { kind: 'corrected', amount, isRepeated: true } : rejected('id_reused')
    }
    const uses = this.book.bookedOf(corrects).filter(({ kind }) => kind === 'use')
    if (uses.length === 0) return rejected('entry_unknown')
    const open = uses.map((use) => ({ ...use, amount: use.amount - use.returned }))
    if (amount > sumOf(open)) return rejected('correction_too_large')
    let left = amount
    let part = 0
    for (const use of open.reverse()) {
      const given = Math.min(left, use.amount)
      if (given === 0) continue
      left -= given
      const entry = { id, request: part === 0 ? request : undefined, corrects: use.number, note }
      for (const { lot, amount: each } of this.#returnTo(use.lot, given)) {
        this.book.post('return', lot, each, { ...entry, part: part++ })
      }
      this.book.noteReturned(corrects, use.part, given)
    }
    return { kind: 'corrected', amount, isRepeated: false }
  }

  /** What was used on overdraft lowers the debt; where that was repaid meanwhile, it becomes a grant. */
  #returnTo(lot: number, amount: number): Claim[] {
    if (lot === UNPAID) return [{ lot, amount }]
    if (lot !== NO_LOT) {
      const found = this.book.lot(lot)
      this.book.change(found, amount)
      return [{ lot, amount }]
    }
    const off = Math.min(amount, this.book.state.debt)
    this.book.state.debt -= off
    const rest = amount - off
    const made: Claim[] = off > 0 ? [{ lot: NO_LOT, amount: off }] : []
    if (rest === 0) return made
    const span = { priority: DEFAULT_PRIORITY, effectiveAtMs: this.book.nowMs, expiresAtMs: Number.POSITIVE_INFINITY }
    this.book.newLot('grant', rest, span, (number) => made.push({ lot: number, amount: rest }))
    this.book.state.had |= 1
    return made
  }

  #close(periodMs: number): Outcome {
    const found = this.book.state.ended.find(({ startMs }) => startMs === periodMs)
    if (found === undefined) return rejected('period_not_ended')
    for (const each of this.book.state.ended) if (each.startMs <= periodMs) closePeriod(this.book, each)
    return { kind: 'closed', periodMs }
  }

  #refuse(needed: number, eventAtMs: number): Outcome {
    const { had, debt, period } = this.book.state
    const available = this.book.available(eventAtMs)
    const ranOut: ('allowance' | 'grants' | 'credits')[] = ['allowance']
    if (had & 1) ranOut.push('grants')
    if (had & 2) ranOut.push('credits')
    const next = this.book.terms.allowance - debt
    const renewsAtMs = next >= needed ? period!.endMs : undefined
    return { kind: 'refused', shortage: { needed, available, ranOut, renewsAtMs } }
  }
}

type Asked<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>

const amountOf = (operation: Operation): number =>
  'amount' in operation ? operation.amount : operation.kind === 'commit' ? operation.used : 0

const rejected = (reason: Rejection): Outcome => ({ kind: 'rejected', reason })

function paidBy(booked: readonly Booked[]): Parts {
  const parts = noParts()
  for (const each of booked) if (each.paidBy !== undefined) parts[each.paidBy] += each.amount
  return parts
}

const sumOf = (claims: readonly { readonly amount: number }[]): number =>
  claims.reduce((sum, { amount }) => sum + amount, 0)
