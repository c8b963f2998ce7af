import type {
  AccountState,
  Balance,
  Booked,
  Claim,
  EndedPeriod,
  Hold,
  Issue,
  Operation,
  Outcome,
  Rejection,
} from './account-state.ts'
import { addTo, type Entry, type EntryKind, NO_LOT, noTotals, UNPAID } from './entry.ts'
import { byBurning, freeOf, type Lot, noParts, PART_OF_KIND, type Parts, pays } from './lot.ts'
import type { Period } from './period-calendar.ts'
import type { Terms } from './terms.ts'

/** What is known of the ids that operations name. */
export interface Known {
  hold(id: string): Hold | undefined
  /** The entries of an id, by part. */
  booked(id: string): readonly Booked[]
}

const DEFAULT_PRIORITY = 50
const FUTURE_MS = 5 * 60_000
/** Sums of all lots stay whole numbers in every language that reads them. */
const MOST = Number.MAX_SAFE_INTEGER

/**
 * An Account applies operations to what is stored of one customer and one meter, at one moment. It changes its state
 * in place and notes what has to be stored. It is pure: the same state, terms, moment and operations lead to the same
 * entries.
 */
export class Account {
  readonly state: AccountState
  readonly entries: Entry[] = []
  readonly changedLots = new Set<Lot>()
  readonly changedPeriods = new Set<EndedPeriod>()
  readonly newHolds = new Map<string, Hold>()
  /** Ids of holds that are no more. */
  readonly endedHolds = new Set<string>()
  readonly #terms: Terms
  readonly #nowMs: number
  readonly #known: Known
  readonly #booked = new Map<string, Booked[]>()
  readonly #isNew: boolean
  #burning: Lot[] | undefined

  /** `expired` are the holds whose time is over. */
  constructor(state: AccountState, terms: Terms, nowMs: number, known: Known, expired: readonly Hold[] = []) {
    this.state = state
    this.#isNew = state.period === undefined
    this.#terms = terms
    // A clock that is set back does not lead to a period that is over.
    this.#nowMs = Math.max(nowMs, state.period?.startMs ?? nowMs)
    this.#known = known
    for (const hold of expired) this.#expire(hold)
    this.#turn()
  }

  apply(operation: Operation): Outcome {
    if (operation.kind === 'look') return { kind: 'looked' }
    if (operation.kind === 'close') return this.#close(operation.periodMs)
    const outcome = this.#applyTo(operation)
    this.#repay()
    this.#lapse()
    return outcome
  }

  /** Whether there is anything to store: whoever only looks changes nothing. */
  get isChanged(): boolean {
    const changed = [
      this.entries.length,
      this.changedLots.size,
      this.changedPeriods.size,
      this.newHolds.size,
      this.endedHolds.size,
    ]
    return this.#isNew || changed.some((count) => count > 0)
  }

  get balance(): Balance {
    const { lots, debt, debtHeld, period } = this.state
    const held = lots.reduce((sum, lot) => sum + lot.held, debtHeld)
    return { available: this.#available(this.#nowMs), held, debt, period: period! }
  }

  #applyTo(operation: Exclude<Operation, { kind: 'look' | 'close' }>): Outcome {
    // An absurd amount is no reason for sums that numbers cannot hold.
    if (this.state.totals.used + amountOf(operation) > MOST) return rejected('amount_too_large')
    switch (operation.kind) {
      case 'reserve':
        return this.#reserve(operation.id, operation.amount, operation.holdMs)
      case 'commit':
        return operation.used === 0 ? this.#release(operation.id) : this.#commit(operation.id, operation.used)
      case 'release':
        return this.#release(operation.id)
      case 'event':
        return this.#event(operation.id, operation.amount, operation.atMs)
      case 'issue':
        return this.#issue(operation)
      case 'correct':
        return this.#correct(operation)
    }
  }

  #reserve(id: string, amount: number, holdMs: number | undefined): Outcome {
    const request = `reserve ${amount} ${holdMs ?? ''}`
    const before = this.#reservedBefore(id, request)
    if (before !== undefined) return before
    const claims = this.#take(amount, this.#nowMs)
    if (claims === undefined) return this.#refuse(amount, this.#nowMs)
    for (const claim of claims) this.#hold(claim, 1)
    const expiresAtMs = this.#nowMs + (holdMs ?? this.#terms.holdMs)
    this.newHolds.set(id, { id, amount, claims, atMs: this.#nowMs, expiresAtMs, request })
    return {
      kind: 'reserved',
      amount,
      paidFrom: this.#partsOf(claims),
      state: 'held',
      expiresAtMs,
      isRepeated: false,
    }
  }

  #reservedBefore(id: string, request: string): Outcome | undefined {
    const hold = this.#holdOf(id)
    if (hold !== undefined) {
      if (hold.request !== request) return rejected('id_reused')
      const { amount, claims, expiresAtMs } = hold
      return {
        kind: 'reserved',
        amount,
        paidFrom: this.#partsOf(claims),
        state: 'held',
        expiresAtMs,
        isRepeated: true,
      }
    }
    const booked = this.#bookedOf(id)
    if (booked.length === 0) return undefined
    const [{ request: first, reserved = 0, kind }] = booked
    if (first !== request) return rejected('id_reused')
    const state = kind === 'release' ? 'released' : kind === 'expire' ? 'expired' : 'committed'
    const paidFrom = paidBy(booked)
    return { kind: 'reserved', amount: reserved, paidFrom, state, expiresAtMs: undefined, isRepeated: true }
  }

  #commit(id: string, used: number): Outcome {
    const hold = this.#holdOf(id)
    if (hold !== undefined) return this.#settle(hold, used)
    const booked = this.#bookedOf(id)
    if (booked.length === 0 || booked[0].reserved === undefined) return rejected('hold_unknown')
    if (booked[0].kind === 'release') return rejected('hold_released')
    const uses = booked.filter(({ kind }) => kind === 'use')
    const isLate = booked[0].kind === 'expire'
    if (uses.length === 0) return this.#settleLate(id, used, booked)
    const isSame = sumOf(uses) === used
    if (!isSame) return rejected('id_reused')
    return { kind: 'settled', used, paidFrom: paidBy(uses), isLate, isRepeated: true }
  }

  /**
   * Pays from what was held; what was not used goes back to the lots that it came from, and what is above the hold is
   * a new charge.
   */
  #settle(hold: Hold, used: number): Outcome {
    const uses: Claim[] = []
    let left = used
    for (const claim of hold.claims) {
      this.#hold(claim, -1)
      const amount = Math.min(left, claim.amount)
      left -= amount
      if (amount > 0) uses.push({ lot: claim.lot, amount })
    }
    this.endedHolds.add(hold.id)
    const { id, atMs, request, amount: reserved } = hold
    const first = { id, request, reserved }
    this.#use(uses, atMs, first)
    const over = left === 0 ? [] : this.#takeAll(left, this.#paidAt(atMs))
    this.#use(over, atMs, uses.length === 0 ? first : { id }, uses.length)
    return { kind: 'settled', used, paidFrom: this.#partsOf([...uses, ...over]), isLate: false, isRepeated: false }
  }

  /** The work was done, so it is booked: paid with what is there now, and the rest unpaid. */
  #settleLate(id: string, used: number, booked: readonly Booked[]): Outcome {
    const { eventAtMs } = booked[0]
    const uses = this.#takeAll(used, this.#paidAt(eventAtMs))
    this.#use(uses, eventAtMs, { id }, booked.length)
    return { kind: 'settled', used, paidFrom: this.#partsOf(uses), isLate: true, isRepeated: false }
  }

  #release(id: string): Outcome {
    const hold = this.#holdOf(id)
    if (hold !== undefined) {
      this.#end(hold, 'release')
      return { kind: 'released', isRepeated: false }
    }
    const booked = this.#bookedOf(id)
    if (booked.length === 0 || booked[0].reserved === undefined) return rejected('hold_unknown')
    return booked.some(({ kind }) => kind === 'use')
      ? rejected('hold_committed')
      : { kind: 'released', isRepeated: true }
  }

  #expire(hold: Hold): void {
    this.#end(hold, 'expire')
  }

  #end({ id, claims, amount: reserved, request, atMs }: Hold, kind: 'release' | 'expire'): void {
    for (const claim of claims) this.#hold(claim, -1)
    this.endedHolds.add(id)
    this.#post(kind, NO_LOT, 0, { id, part: 0, reserved, request, eventAtMs: atMs })
  }

  #event(id: string, amount: number, atMs: number | undefined): Outcome {
    const request = `event ${amount} ${atMs ?? ''}`
    if (this.#holdOf(id) !== undefined) return rejected('id_reused')
    const booked = this.#bookedOf(id)
    if (booked.length > 0) {
      if (booked[0].request !== request) return rejected('id_reused')
      return { kind: 'settled', used: amount, paidFrom: paidBy(booked), isLate: false, isRepeated: true }
    }
    const eventAtMs = atMs ?? this.#nowMs
    if (eventAtMs > this.#nowMs + FUTURE_MS) return rejected('event_in_future')
    const claims = this.#take(amount, this.#paidAt(eventAtMs))
    if (claims === undefined) return this.#refuse(amount, this.#paidAt(eventAtMs))
    this.#use(claims, eventAtMs, { id, request })
    return { kind: 'settled', used: amount, paidFrom: this.#partsOf(claims), isLate: false, isRepeated: false }
  }

  #issue(issue: Issue): Outcome {
    const { id, lotKind, amount, priority = DEFAULT_PRIORITY, effectiveAtMs, expiresAtMs, note } = issue
    const request = `issue ${lotKind} ${amount} ${priority} ${effectiveAtMs ?? ''} ${expiresAtMs ?? ''}`
    if (this.#holdOf(id) !== undefined) return rejected('id_reused')
    const booked = this.#bookedOf(id)
    if (booked.length > 0) {
      return booked[0].request === request ? { kind: 'issued', amount, isRepeated: true } : rejected('id_reused')
    }
    if (this.state.balance + amount > MOST) return rejected('amount_too_large')
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY
    this.#newLot(
      lotKind,
      amount,
      { priority, effectiveAtMs: effectiveAtMs ?? this.#nowMs, expiresAtMs: untilMs },
      (lot) => this.#post('issue', lot, amount, { id, part: 0, request, note }),
    )
    this.state.had |= lotKind === 'grant' ? 1 : 2
    return { kind: 'issued', amount, isRepeated: false }
  }

  /** Returns what an id used, the last part first. An entry that is there is never changed. */
  #correct({ id, corrects, amount, note }: Extract<Operation, { kind: 'correct' }>): Outcome {
    const request = `correct ${corrects} ${amount}`
    if (this.#holdOf(id) !== undefined) return rejected('id_reused')
    const before = this.#bookedOf(id)
    if (before.length > 0) {
      return before[0].request === request ? { kind: 'corrected', amount, isRepeated: true } : rejected('id_reused')
    }
    const uses = this.#bookedOf(corrects).filter(({ kind }) => kind === 'use')
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
        this.#post('return', lot, each, { ...entry, part: part++ })
      }
      this.#noteReturned(corrects, use.part, given)
    }
    return { kind: 'corrected', amount, isRepeated: false }
  }

  #noteReturned(id: string, part: number, amount: number): void {
    const booked = this.#bookedOf(id).map((each) =>
      each.part === part && each.kind === 'use' ? { ...each, returned: each.returned + amount } : each,
    )
    this.#booked.set(id, booked)
  }

  /** What was used on overdraft lowers the debt; where that was repaid meanwhile, it becomes a grant. */
  #returnTo(lot: number, amount: number): Claim[] {
    if (lot === UNPAID) return [{ lot, amount }]
    if (lot !== NO_LOT) {
      const found = this.#lot(lot)
      this.#change(found, amount)
      return [{ lot, amount }]
    }
    const off = Math.min(amount, this.state.debt)
    this.state.debt -= off
    const rest = amount - off
    const made: Claim[] = off > 0 ? [{ lot: NO_LOT, amount: off }] : []
    if (rest === 0) return made
    const span = { priority: DEFAULT_PRIORITY, effectiveAtMs: this.#nowMs, expiresAtMs: Number.POSITIVE_INFINITY }
    this.#newLot('grant', rest, span, (number) => made.push({ lot: number, amount: rest }))
    this.state.had |= 1
    return made
  }

  #close(periodMs: number): Outcome {
    const found = this.state.ended.find(({ startMs }) => startMs === periodMs)
    if (found === undefined) return rejected('period_not_ended')
    for (const each of this.state.ended) if (each.startMs <= periodMs) this.#closePeriod(each)
    return { kind: 'closed', periodMs }
  }

  #closePeriod(period: EndedPeriod): void {
    if (period.closedAtMs !== undefined) return
    period.closedAtMs = this.#nowMs
    this.changedPeriods.add(period)
  }

  // Periods

  /**
   * Brings the account to the period of now: issues allowances, lets lots lapse, closes periods whose grace is over.
   */
  #turn(): void {
    const { state } = this
    if (state.period === undefined) this.#begin(this.#terms.calendar.at(this.#nowMs), 0)
    else this.#catchUp(state.period)
    this.#raiseAllowance()
    this.#repay()
    this.#lapse()
    for (const each of state.ended) if (each.endMs + this.#terms.graceMs <= this.#nowMs) this.#closePeriod(each)
    this.state.ended.splice(0, this.state.ended.length, ...state.ended.filter((each) => each.closedAtMs === undefined))
  }

  /** A debt is repaid by the first allowances that were due, whether anyone asked in their periods or not. */
  #catchUp(last: Period): void {
    let { endMs } = last
    while (this.#nowMs >= endMs && this.state.debt > 0 && this.#terms.allowance > 0) {
      const next = this.#terms.calendar.after(endMs, endMs)
      this.#begin(next)
      endMs = next.endMs
    }
    if (this.#nowMs >= endMs) for (const period of this.#missedPeriods(this.state.period!)) this.#begin(period)
  }

  /** The period of now, and those before it whose allowance may still pay for something. In others nothing happened. */
  #missedPeriods(last: Period): Period[] {
    const { calendar, carry, graceMs } = this.#terms
    const periods = [calendar.after(last.endMs, this.#nowMs)]
    while (periods[0].startMs > last.endMs) {
      const before = calendar.after(last.endMs, periods[0].startMs - 1)
      const paysUntil = carry.most === 0 ? before : periods[carry.periods - 1]
      if (paysUntil !== undefined && paysUntil.endMs + graceMs <= this.#nowMs) break
      periods.unshift(before)
    }
    return periods
  }

  #begin(period: Period, opening = this.state.balance - this.state.debt): void {
    const { state } = this
    if (state.period !== undefined) {
      const ended = { ...state.period, totals: state.totals, closedAtMs: undefined }
      state.ended.push(ended)
      this.changedPeriods.add(ended)
    }
    state.period = period
    state.totals = noTotals(opening)
    if (state.allowanceLot !== 0) this.changedLots.add(this.#lot(state.allowanceLot))
    state.allowanceLot = 0
    this.#raiseAllowance()
    this.#repay(period.startMs)
  }

  /** A plan that gives more gives the difference now; one that gives less begins with the next period. */
  #raiseAllowance(): void {
    const { state } = this
    const { startMs, endMs } = state.period!
    const lot = state.allowanceLot === 0 ? undefined : this.#lot(state.allowanceLot)
    const more = this.#terms.allowance - (lot?.issued ?? 0)
    if (more <= 0) return
    if (lot === undefined) {
      const span = { priority: 0, effectiveAtMs: startMs, expiresAtMs: endMs }
      state.allowanceLot = this.#newLot('allowance', more, span, (number) =>
        this.#post('issue', number, more, { eventAtMs: startMs }),
      )
    } else {
      lot.issued += more
      this.#change(lot, more)
      this.#post('issue', lot.number, more, { eventAtMs: startMs })
    }
  }

  #lapse(): void {
    for (const lot of [...this.state.lots]) {
      const amount = freeOf(lot)
      if (lot.lapsesAtMs > this.#nowMs || amount === 0) continue
      const carried = lot.kind === 'allowance' ? this.#carry(lot, amount) : 0
      if (amount === carried) continue
      this.#change(lot, carried - amount)
      this.#post('lapse', lot.number, amount - carried, { eventAtMs: lot.expiresAtMs - 1 })
    }
  }

  /** Carries over what would still be good for something. */
  #carry(lot: Lot, free: number): number {
    const { carry, calendar, graceMs } = this.#terms
    const amount = Math.min(free, carry.most - lot.carried)
    if (amount <= 0) return 0
    let endMs = lot.expiresAtMs
    for (let n = 0; n < carry.periods; n++) endMs = calendar.after(endMs, endMs).endMs
    if (endMs + graceMs <= this.#nowMs) return 0
    lot.carried += amount
    this.#change(lot, -amount)
    this.#post('carry_out', lot.number, amount, { eventAtMs: lot.expiresAtMs - 1 })
    this.#newLot('carried', amount, { priority: 0, effectiveAtMs: lot.expiresAtMs, expiresAtMs: endMs }, (number) =>
      this.#post('carry_in', number, amount, { eventAtMs: lot.expiresAtMs }),
    )
    return amount
  }

  // Lots

  #newLot(
    kind: Lot['kind'],
    amount: number,
    span: Pick<Lot, 'priority' | 'effectiveAtMs' | 'expiresAtMs'>,
    post: (lot: number) => void,
  ): number {
    const number = ++this.state.lastLot
    const lapsesAtMs = span.expiresAtMs + this.#terms.graceMs
    const lot: Lot = { number, kind, ...span, lapsesAtMs, issued: amount, carried: 0, remaining: 0, held: 0 }
    this.state.lots.push(lot)
    this.#burning = undefined
    this.#change(lot, amount)
    post(number)
    return number
  }

  /** A debt is repaid as soon as a lot has something. */
  #repay(atMs = this.#nowMs): void {
    if (this.state.debt === 0) return
    for (const lot of this.#sorted()) {
      const amount = Math.min(this.state.debt, freeOf(lot))
      if (amount === 0 || !pays(lot, atMs, atMs)) continue
      this.state.debt -= amount
      this.#change(lot, -amount)
      this.#post('repay', lot.number, amount, { eventAtMs: atMs })
    }
  }

  #lot(number: number): Lot {
    const found = this.state.lots.find((lot) => lot.number === number)
    if (found === undefined) throw new Error(`lot ${number} was not loaded`)
    return found
  }

  #change(lot: Lot, by: number): void {
    lot.remaining += by
    this.state.balance += by
    this.changedLots.add(lot)
  }

  #hold({ lot, amount }: Claim, sign: 1 | -1): void {
    if (lot === NO_LOT) {
      this.state.debtHeld += sign * amount
      return
    }
    const found = this.#lot(lot)
    found.held += sign * amount
    this.changedLots.add(found)
  }

  #sorted(): readonly Lot[] {
    this.#burning ??= [...this.state.lots].sort(byBurning)
    return this.#burning
  }

  #overdraftLeft(): number {
    return Math.max(0, this.#terms.overdraft - this.state.debt - this.state.debtHeld)
  }

  /**
   * Finds what pays for an amount: lots in the order in which they burn, then the overdraft. Undefined: there is not
   * enough.
   */
  #take(amount: number, eventAtMs: number): Claim[] | undefined {
    const claims = this.#takeAll(amount, eventAtMs)
    return claims.at(-1)?.lot === UNPAID ? undefined : claims
  }

  #takeAll(amount: number, eventAtMs: number): Claim[] {
    const claims: Claim[] = []
    let left = amount
    const take = (lot: number, most: number): void => {
      const taken = Math.min(left, most)
      left -= taken
      if (taken > 0) claims.push({ lot, amount: taken })
    }
    for (const lot of this.#sorted()) {
      if (left === 0) break
      if (pays(lot, eventAtMs, this.#nowMs)) take(lot.number, freeOf(lot))
    }
    take(NO_LOT, this.#overdraftLeft())
    take(UNPAID, left)
    return claims
  }

  #available(eventAtMs: number): Parts {
    const parts = noParts()
    for (const lot of this.state.lots) {
      if (pays(lot, eventAtMs, this.#nowMs)) parts[PART_OF_KIND[lot.kind]] += freeOf(lot)
    }
    parts.overdraft = this.#overdraftLeft()
    return parts
  }

  #partsOf(claims: readonly Pick<Claim, 'lot' | 'amount'>[]): Parts {
    const parts = noParts()
    for (const { lot, amount } of claims) parts[this.#partOf(lot)] += amount
    return parts
  }

  #partOf(lot: number): keyof Parts {
    if (lot === NO_LOT) return 'overdraft'
    if (lot === UNPAID) return 'unpaid'
    return PART_OF_KIND[this.#lot(lot).kind]
  }

  #refuse(needed: number, eventAtMs: number): Outcome {
    const { had, debt, period } = this.state
    const available = this.#available(eventAtMs)
    const ranOut: ('allowance' | 'grants' | 'credits')[] = ['allowance']
    if (had & 1) ranOut.push('grants')
    if (had & 2) ranOut.push('credits')
    const next = this.#terms.allowance - debt
    const renewsAtMs = next >= needed ? period!.endMs : undefined
    return { kind: 'refused', shortage: { needed, available, ranOut, renewsAtMs } }
  }

  // Entries

  #use(claims: readonly Claim[], eventAtMs: number, first: Partial<Entry>, from = 0): void {
    claims.forEach(({ lot, amount }, i) => {
      if (lot === NO_LOT) this.state.debt += amount
      else if (lot !== UNPAID) this.#change(this.#lot(lot), -amount)
      this.#post('use', lot, amount, { ...(i === 0 ? first : { id: first.id }), part: from + i, eventAtMs })
    })
  }

  #post(kind: EntryKind, lot: number, amount: number, more: Partial<Entry>): void {
    const eventAtMs = more.eventAtMs ?? this.#nowMs
    const entry: Entry = {
      number: ++this.state.lastEntry,
      id: more.id,
      part: more.part ?? 0,
      kind,
      lot,
      amount,
      request: more.request,
      reserved: more.reserved,
      atMs: this.#nowMs,
      eventAtMs,
      periodMs: this.#book(kind, lot, amount, eventAtMs),
      corrects: more.corrects,
      note: more.note,
    }
    this.entries.push(entry)
    if (entry.id !== undefined) this.#note(entry.id, entry)
  }

  #note(id: string, entry: Entry): void {
    const booked = { ...entry, paidBy: entry.kind === 'use' ? this.#partOf(entry.lot) : undefined, returned: 0 }
    this.#booked.set(id, [...this.#bookedOf(id), booked])
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
  #paidAt(eventAtMs: number): number {
    const isOpen = eventAtMs >= this.state.period!.startMs || this.state.ended.some(isOpenAt(eventAtMs))
    return isOpen ? eventAtMs : this.#nowMs
  }

  #holdOf(id: string): Hold | undefined {
    if (this.endedHolds.has(id)) return undefined
    return this.newHolds.get(id) ?? this.#known.hold(id)
  }

  #bookedOf(id: string): readonly Booked[] {
    return this.#booked.get(id) ?? this.#known.booked(id)
  }
}

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

const isOpenAt =
  (instantMs: number) =>
  ({ startMs, endMs, closedAtMs }: EndedPeriod): boolean =>
    closedAtMs === undefined && startMs <= instantMs && instantMs < endMs
