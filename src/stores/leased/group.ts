import { impossibleVerdict, unaskedVerdict, type Verdict } from '../../core/decision.ts'
import { type Charge, isRefused } from '../../engine/ports.ts'
import type { Found } from './find-slices.ts'
import type { Refusals } from './refusals.ts'
import type { Slice } from './slice.ts'
import type { Slices } from './slices.ts'

/** Answers a cost that can never be admitted: with what is known of the counter, or a whole window. */
function impossibleOf({ limit }: Charge, slice: Slice | undefined, nowMs: number): Verdict {
  const { remaining = 0, resetAfterMs = 0 } = slice?.verdict(true, nowMs) ?? {}
  return impossibleVerdict(limit.max, remaining, resetAfterMs > 0 ? resetAfterMs : limit.windowMs, limit.capacity)
}

/**
 * The charges of one request: some decided here, some whose slice lacks budget, and some that the parent decides. If
 * any refuses, what was taken here is given back.
 */
export class Group {
  readonly charges: readonly Charge[]
  /** Positions of the charges whose slice must ask, and of charges that the parent decides. */
  lacking: number[] = []
  remote: number[] = []
  /** Slices that are no longer used and must report first. */
  former: readonly Slice[]
  readonly #verdicts: (Verdict | undefined)[]
  readonly #slices: (Slice | undefined)[]
  readonly #taken: boolean[]

  constructor(charges: readonly Charge[], found: Found, slices: Slices, refusals: Refusals, nowMs: number) {
    this.charges = charges
    this.former = found.former
    this.#verdicts = new Array(charges.length).fill(undefined)
    this.#slices = new Array(charges.length).fill(undefined)
    this.#taken = new Array(charges.length).fill(false)
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const slice = found.slices[i]
      if (slice !== undefined && !slices.isBare(slice, charge.cost)) this.#start(i, slice, nowMs)
      else if (slices.counts(charge) && isTooMuch(charge)) this.#verdicts[i] = impossibleOf(charge, slice, nowMs)
      else this.#startExact(i, refusals, nowMs)
    }
  }

  sliceAt(i: number): Slice {
    return this.#slices[i] as Slice
  }

  /** Whether the whole is already known to be refused, regardless of the other charges. */
  get isKnownRefused(): boolean {
    return isRefused(this.charges, this.#verdicts)
  }

  /** Records what a slice got for a charge that it lacked budget for. */
  served(i: number, isServed: boolean): void {
    const slice = this.sliceAt(i)
    const verdict = slice.verdict(isServed, slice.lastUsedMs, true)
    this.#taken[i] = isServed
    const isSpent = this.charges[i].cost === 0 && verdict.remaining === 0
    this.#verdicts[i] = isSpent ? slice.verdict(false, slice.lastUsedMs, true) : verdict
  }

  /**
   * Records what the parent said about the charges that it decides, and says whether it has decided. What it refuses
   * because of slices becomes lacking, and gets one from `newSlice`: the lender settles, and calls back what is not
   * used. When nothing else refused, the rest was not charged, and is asked again.
   */
  heard(verdicts: readonly Verdict[], newSlice: (charge: Charge) => Slice): boolean {
    const { remote } = this
    this.lacking = remote.filter((_, at) => verdicts[at].lent)
    const isDecided = this.lacking.length === 0 || !isRefused(this.remoteCharges, verdicts)
    for (const i of this.lacking) this.#slices[i] = newSlice(this.charges[i])
    const known = (at: number): boolean => !verdicts[at].lent && (isDecided || !verdicts[at].allowed)
    remote.forEach((i, at) => {
      if (known(at)) this.#verdicts[i] = verdicts[at]
    })
    this.remote = remote.filter((_, at) => !verdicts[at].lent && known(at) === isDecided)
    return isDecided
  }

  /** Returns what the parent decides. Where a rule in quota mode has budget here, the others of them bind nothing. */
  get remoteCharges(): readonly Charge[] {
    if (this.remote.length === this.charges.length) return this.charges
    const isOpen = this.charges.some(({ enforce, quota }, i) => {
      return enforce && quota === true && this.#verdicts[i]?.allowed === true && !this.remote.includes(i)
    })
    return this.remote.map((i) => {
      return isOpen && this.charges[i].quota ? { ...this.charges[i], enforce: false } : this.charges[i]
    })
  }

  /**
   * Returns the verdicts. When the whole is refused, it gives back what slices took, with `refund` for what cannot be.
   * The parent, which is asked last and with all that bears on the answer, has refused then too, or was not asked.
   */
  close(nowMs: number, refund: (charge: Charge) => void): readonly Verdict[] {
    const known = this.#verdicts.map((verdict, i) => verdict ?? unaskedVerdict(this.charges[i].limit.max))
    if (!isRefused(this.charges, known)) return known
    this.undo(nowMs, refund)
    return known.map((verdict, i) => {
      const slice = this.#slices[i]
      return slice !== undefined && verdict.allowed && verdict.unasked !== true ? slice.verdict(true, nowMs) : verdict
    })
  }

  /** Gives back what was taken from slices. */
  undo(nowMs: number, refund: (charge: Charge) => void): void {
    for (let i = 0; i < this.charges.length; i++) {
      if (!this.#taken[i]) continue
      this.#taken[i] = false
      const { cost } = this.charges[i]
      if (cost > 0 && !this.sliceAt(i).putBack(cost, nowMs)) refund(this.charges[i])
    }
  }

  #start(i: number, slice: Slice, nowMs: number): void {
    const charge = this.charges[i]
    const { cost } = charge
    this.#slices[i] = slice
    if (charge.debit === true) this.#startDebit(i, slice, nowMs)
    else if (isTooMuch(charge)) this.#verdicts[i] = impossibleOf(charge, slice, nowMs)
    else if (cost < 0) this.#startRefund(i, slice, nowMs)
    else if (cost === 0) this.#startLook(i, slice, nowMs)
    else if (slice.take(cost, nowMs)) {
      this.#taken[i] = true
      this.#verdicts[i] = slice.verdict(true, nowMs)
    } else if (slice.isRefused(cost, nowMs)) this.#verdicts[i] = slice.verdict(false, nowMs)
    else this.lacking.push(i)
  }

  /** Answers as the next hit would be answered. */
  #startLook(i: number, slice: Slice, nowMs: number): void {
    slice.runOutBy(nowMs)
    slice.lastUsedMs = nowMs
    const verdict = slice.verdict(true, nowMs)
    if (slice.isKnown(nowMs) && verdict.remaining > 0) this.#verdicts[i] = verdict
    else if (slice.isRefused(1, nowMs)) this.#verdicts[i] = slice.verdict(false, nowMs)
    else this.lacking.push(i)
  }

  /**
   * Spends a late charge from what is in hand. One that is more goes to the parent, after the slice has given back what
   * it has: otherwise this node would keep admitting.
   */
  #startDebit(i: number, slice: Slice, nowMs: number): void {
    if (slice.take(this.charges[i].cost, nowMs)) this.#verdicts[i] = { ...slice.verdict(true, nowMs), dropped: 0 }
    else {
      if (!this.former.includes(slice)) this.former = [...this.former, slice]
      this.remote.push(i)
    }
  }

  #startRefund(i: number, slice: Slice, nowMs: number): void {
    if (slice.putBack(-this.charges[i].cost, nowMs)) this.#verdicts[i] = slice.verdict(true, nowMs)
    else this.remote.push(i)
  }

  /** Leaves a charge to the parent, unless it is known to be refused. */
  #startExact(i: number, refusals: Refusals, nowMs: number): void {
    const { key, limit, cost, debit } = this.charges[i]
    this.#verdicts[i] = cost > 0 && debit !== true ? refusals.find(key, limit, cost, nowMs) : undefined
    if (this.#verdicts[i] === undefined) this.remote.push(i)
  }
}

/** Returns whether a cost can never be admitted. A late charge can. */
export function isTooMuch({ cost, limit, debit }: Charge): boolean {
  return cost > limit.capacity && debit !== true
}
