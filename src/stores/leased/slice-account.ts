/**
 * What a slice has and owes, under one name. It ends with its lease: then the slice opens another, and the lender
 * charges what this one still had, spent or not.
 */
export class SliceAccount {
  /** Who the lender believes it lends to. */
  readonly name: string
  /** What can be spent. A part of it may be lent on. */
  hand = 0
  #spent = 0
  /** The part of that which was reported: it cannot be taken back here, because the lender may have received it. */
  #reported = 0
  /** Of that, what the lender has confirmed. */
  #confirmed = 0
  /** What the lender believes is held. Infinity: unknown. */
  #booked = 0

  constructor(name: string) {
    this.name = name
  }

  get spent(): number {
    return this.#spent
  }

  get confirmed(): number {
    return this.#confirmed
  }

  /** True when something is spent that the lender has not confirmed. */
  get hasUnconfirmed(): boolean {
    return this.#spent !== this.#confirmed
  }

  /** True when the lender believes that something is held, or may believe it. */
  get isBooked(): boolean {
    return this.#booked > 0
  }

  /** True when it is known what the lender believes, and that is more than nothing. */
  get isKnownBooked(): boolean {
    return this.#booked > 0 && this.#booked < Number.POSITIVE_INFINITY
  }

  /** Returns whether the lender believes in more than is lent on: what was spent, or is not used. */
  owes(lentOn: number): boolean {
    return this.hasUnconfirmed || this.#booked > lentOn
  }

  spend(cost: number): void {
    this.hand -= cost
    this.#spent += cost
  }

  /** Undoes spend, and says whether that was possible. */
  unspend(cost: number): boolean {
    if (this.#spent - this.#reported < cost) return false
    this.hand += cost
    this.#spent -= cost
    return true
  }

  /** Marks all that is spent as reported. */
  markReported(): void {
    this.#reported = this.#spent
  }

  /** Takes the lender's word: what was spent when it was asked, and what it believes is held. */
  confirm(spent: number, booked: number): void {
    this.#confirmed = spent
    this.#booked = booked
  }

  /** Says that it is unknown what the lender believes. */
  doubt(): void {
    this.#booked = Number.POSITIVE_INFINITY
  }
}
