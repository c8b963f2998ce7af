import type { AccountState, Booked, Claim, EndedPeriod, Hold } from './account-state.ts'
import { addTo, type Entry, type EntryKind, NO_LOT, UNPAID } from './entry.ts'
import { byBurning, freeOf, type Lot, noParts, PART_OF_KIND, type Parts, pays } from './lot.ts'
import type { Terms } from './terms.ts'

/** What is known of the ids that operations name. */
export interface Known {
  hold(id: string): Hold | undefined
  /** The entries of an id, by part. */
  booked(id: string): readonly Booked[]
}

/**
 * An AccountBook holds the lots, holds and entries of one account at one moment. It changes the state in place, and
 * notes what has to be stored. What an operation means is no concern of it.
 */
export class AccountBook {
  readonly state: AccountState
  readonly terms: Terms
  readonly nowMs: number
  readonly entries: Entry[] = []
  readonly changedLots = new Set<Lot>()
  readonly changedPeriods = new Set<EndedPeriod>()
  readonly newHolds = new Map<string, Hold>()
  /** Ids of holds that are no more. */
  readonly endedHolds = new Set<string>()
  readonly #known: Known
  /** What was posted under an id, and what was returned of it. */
  readonly #posted = new Map<string, Entry[]>()
  readonly #returned = new Map<string, number>()
  readonly #isNew: boolean
  #burning: Lot[] | undefined

  constructor(state: AccountState, terms: Terms, nowMs: number, known: Known) {
    this.state = state
    this.terms = terms
    // A clock that is set back does not lead to a period that is over.
    this.nowMs = Math.max(nowMs, state.period?.startMs ?? nowMs)
    this.#known = known
    this.#isNew = state.period === undefined
  }

  /** Whether there is anything to store. A look alone changes nothing. */
  get isChanged(): boolean {
    const changed = this.entries.length + this.changedLots.size + this.changedPeriods.size
    return this.#isNew || changed + this.newHolds.size + this.endedHolds.size > 0
  }

  // Lots

  newLot(
    kind: Lot['kind'],
    amount: number,
    span: Pick<Lot, 'priority' | 'effectiveAtMs' | 'expiresAtMs'>,
    post: (lot: number) => void,
  ): number {
    const number = ++this.state.lastLot
    const lapsesAtMs = span.expiresAtMs + this.terms.graceMs
    const lot: Lot = { number, kind, ...span, lapsesAtMs, issued: amount, carried: 0, remaining: 0, held: 0 }
    this.state.lots.push(lot)
    this.#burning = undefined
    this.change(lot, amount)
    post(number)
    return number
  }

  lot(number: number): Lot {
    const found = this.state.lots.find((lot) => lot.number === number)
    if (found === undefined) throw new Error(`lot ${number} was not loaded`)
    return found
  }

  change(lot: Lot, by: number): void {
    lot.remaining += by
    this.state.balance += by
    this.changedLots.add(lot)
  }

  /** A debt is repaid as soon as a lot has something. */
  repay(atMs = this.nowMs): void {
    if (this.state.debt === 0) return
    for (const lot of this.#sorted()) {
      const amount = Math.min(this.state.debt, freeOf(lot))
      if (amount === 0 || !pays(lot, atMs, atMs)) continue
      this.state.debt -= amount
      this.change(lot, -amount)
      this.post('repay', lot.number, amount, { eventAtMs: atMs })
    }
  }

  /**
   * Finds what pays for an amount: lots in the order in which they burn, then the overdraft. Undefined: there is not
   * enough.
   */
  take(amount: number, eventAtMs: number): Claim[] | undefined {
    const claims = this.takeAll(amount, eventAtMs)
    return claims.at(-1)?.lot === UNPAID ? undefined : claims
  }

  /** Like take; what nothing pays for is a claim on UNPAID, or on the overdraft beyond its bound. */
  takeAll(amount: number, eventAtMs: number, rest: 'unpaid' | 'debt' = 'unpaid'): Claim[] {
    const claims: Claim[] = []
    let left = amount
    const take = (lot: number, most: number): void => {
      const taken = Math.min(left, most)
      left -= taken
      if (taken > 0) claims.push({ lot, amount: taken })
    }
    for (const lot of this.#sorted()) {
      if (left === 0) break
      if (pays(lot, eventAtMs, this.nowMs)) take(lot.number, freeOf(lot))
    }
    take(NO_LOT, rest === 'debt' ? left : this.#overdraftLeft())
    take(UNPAID, left)
    return claims
  }

  available(eventAtMs: number): Parts {
    const parts = noParts()
    for (const lot of this.state.lots) {
      if (pays(lot, eventAtMs, this.nowMs)) parts[PART_OF_KIND[lot.kind]] += freeOf(lot)
    }
    parts.overdraft = this.#overdraftLeft()
    return parts
  }

  partsOf(claims: readonly Pick<Claim, 'lot' | 'amount'>[]): Parts {
    const parts = noParts()
    for (const { lot, amount } of claims) parts[this.#partOf(lot)] += amount
    return parts
  }

  #sorted(): readonly Lot[] {
    this.#burning ??= [...this.state.lots].sort(byBurning)
    return this.#burning
  }

  #overdraftLeft(): number {
    return Math.max(0, this.terms.overdraft - this.state.debt - this.state.debtHeld)
  }

  #partOf(lot: number): keyof Parts {
    if (lot === NO_LOT) return 'overdraft'
    if (lot === UNPAID) return 'unpaid'
    return PART_OF_KIND[this.lot(lot).kind]
  }

  // Holds

  holdOf(id: string): Hold | undefined {
    if (this.endedHolds.has(id)) return undefined
    return this.newHolds.get(id) ?? this.#known.hold(id)
  }

  /** Keeps what a hold claims. */
  keep(hold: Hold): void {
    for (const claim of hold.claims) this.#claim(claim, 1)
    this.newHolds.set(hold.id, hold)
  }

  /** Frees what a hold claims; the hold is no more. */
  free({ id, claims }: Hold): void {
    for (const claim of claims) this.#claim(claim, -1)
    this.endedHolds.add(id)
  }

  /** Ends a hold of which nothing was used. */
  end(hold: Hold, kind: 'release' | 'expire'): void {
    this.free(hold)
    const { id, amount: reserved, request, atMs } = hold
    this.post(kind, NO_LOT, 0, { id, part: 0, reserved, request, eventAtMs: atMs })
  }

  #claim({ lot, amount }: Claim, sign: 1 | -1): void {
    if (lot === NO_LOT) {
      this.state.debtHeld += sign * amount
      return
    }
    const found = this.lot(lot)
    found.held += sign * amount
    this.changedLots.add(found)
  }

  // Entries

  bookedOf(id: string): readonly Booked[] {
    const known = this.#known.booked(id)
    const posted = this.#posted.get(id)
    if (posted === undefined && this.#returned.size === 0) return known
    return [...known, ...(posted ?? []).map((entry) => this.#bookedAs(entry))].map((each) => {
      const more = this.#returned.get(partKey(id, each.part))
      return more === undefined || each.kind !== 'use' ? each : { ...each, returned: each.returned + more }
    })
  }

  #bookedAs(entry: Entry): Booked {
    return { ...entry, paidBy: entry.kind === 'use' ? this.#partOf(entry.lot) : undefined, returned: 0 }
  }

  /** Books what claims used, as the parts of one id. */
  use(claims: readonly Claim[], eventAtMs: number, first: Partial<Entry>, from = 0): void {
    claims.forEach(({ lot, amount }, i) => {
      if (lot === NO_LOT) this.state.debt += amount
      else if (lot !== UNPAID) this.change(this.lot(lot), -amount)
      this.post('use', lot, amount, { ...(i === 0 ? first : { id: first.id }), part: from + i, eventAtMs })
    })
  }

  post(kind: EntryKind, lot: number, amount: number, more: Partial<Entry>): void {
    const eventAtMs = more.eventAtMs ?? this.nowMs
    const entry: Entry = {
      number: ++this.state.lastEntry,
      id: more.id,
      part: more.part ?? 0,
      kind,
      lot,
      amount,
      request: more.request,
      reserved: more.reserved,
      atMs: this.nowMs,
      eventAtMs,
      periodMs: this.#book(kind, lot, amount, eventAtMs),
      corrects: more.corrects,
      note: more.note,
    }
    this.entries.push(entry)
    if (entry.id === undefined) return
    const posted = this.#posted.get(entry.id)
    if (posted === undefined) this.#posted.set(entry.id, [entry])
    else posted.push(entry)
  }

  noteReturned(id: string, part: number, amount: number): void {
    const key = partKey(id, part)
    this.#returned.set(key, (this.#returned.get(key) ?? 0) + amount)
  }

  /** Adds an amount to its period, and to what later periods began with. Returns the start of that period. */
  #book(kind: EntryKind, lot: number, amount: number, eventAtMs: number): number {
    const { state } = this
    const at = state.ended.findIndex(isOpenAt(eventAtMs))
    if (at === -1) {
      addTo(state.totals, kind, lot, amount)
      return state.period!.startMs
    }
    const ended = state.ended[at]
    const change = addTo(ended.totals, kind, lot, amount)
    this.changedPeriods.add(ended)
    for (const later of state.ended.slice(at + 1)) {
      later.totals.opening += change
      this.changedPeriods.add(later)
    }
    state.totals.opening += change
    return ended.startMs
  }

  /** What happened in a period that is closed is paid like something of today. */
  paidAt(eventAtMs: number): number {
    const isOpen = eventAtMs >= this.state.period!.startMs || this.state.ended.some(isOpenAt(eventAtMs))
    return isOpen ? eventAtMs : this.nowMs
  }
}

const isOpenAt =
  (instantMs: number) =>
  ({ startMs, endMs, closedAtMs }: EndedPeriod): boolean =>
    closedAtMs === undefined && startMs <= instantMs && instantMs < endMs

const partKey = (id: string, part: number): string => `${part} ${id}`
