import type { Budget } from './rate-limits.ts'

/** A Cost is what a call takes of budgets, by what they count. A call that says nothing takes 1 of `requests`. */
export type Cost = Readonly<Record<string, number>>

/** How many calls go out before anything is known of the server. It doubles with each round of answers. */
const FIRST_CALLS = 4
/** What is waited for where the server says that nothing is left, and not for how long. */
const UNKNOWN_WAIT_MS = 1_000

/**
 * A Pacer knows the budgets that one caller has at one server, and says when the next call may go: at once while there is ample
 * budget, then spread over what is left until there is more, and not before that when nothing is left. Time is an argument.
 */
export class Pacer {
  readonly #budgets = new Map<string, KnownBudget>()
  #pausedUntilMs = 0
  #calls = 0
  #window = FIRST_CALLS

  /** isPaced says whether the server has told of a budget. */
  get isPaced(): boolean {
    return this.#budgets.size > 0
  }

  /** waitMs says how long a call waits from now. Infinity: until an answer comes. */
  waitMs(nowMs: number, cost: Cost): number {
    let waitMs = Math.max(0, this.#pausedUntilMs - nowMs)
    if (!this.isPaced && this.#calls >= this.#window) return Number.POSITIVE_INFINITY
    for (const budget of this.#budgets.values()) {
      waitMs = Math.max(waitMs, budget.waitMs(nowMs, amountOf(cost, budget.unit), this.#calls > 0))
    }
    return waitMs
  }

  /** leastMs is the least that a call waits behind others that cost so much together, as far as is known. */
  leastMs(nowMs: number, ahead: Cost): number {
    let leastMs = Math.max(0, this.#pausedUntilMs - nowMs)
    for (const budget of this.#budgets.values()) {
      leastMs = Math.max(leastMs, budget.leastMs(nowMs, amountOf(ahead, budget.unit)))
    }
    return leastMs
  }

  sent(nowMs: number, cost: Cost): void {
    this.#calls++
    for (const budget of this.#budgets.values()) budget.take(nowMs, amountOf(cost, budget.unit))
  }

  /** ended is told of every call that was sent, with what the answer says, if one came. */
  ended(nowMs: number, cost: Cost, budgets: readonly Budget[] = []): void {
    this.#calls--
    for (const budget of this.#budgets.values()) budget.settle(amountOf(cost, budget.unit))
    this.#window = Math.min(this.#window + 1, Number.MAX_SAFE_INTEGER)
    this.told(nowMs, budgets)
  }

  /** told takes what a server says, here or in another tab. */
  told(nowMs: number, budgets: readonly Budget[]): void {
    for (const told of budgets) {
      const key = `${told.unit} ${told.name}`
      const known = this.#budgets.get(key)
      if (known !== undefined) known.tell(nowMs, told)
      else if (this.#budgets.size < MAX_BUDGETS) this.#budgets.set(key, new KnownBudget(nowMs, told))
    }
  }

  /** pause has nothing go before a time. */
  pause(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs)
  }
}

/** Below this share of a limit, little is left. */
const LITTLE = 0.1
/** Timers are late: what they lost of late is made up for. */
const SLACK_MS = 25
/** A server that names its policies anew each time cannot fill the memory. */
const MAX_BUDGETS = 32

function amountOf(cost: Cost, unit: string): number {
  return (
    cost[unit] ?? (unit === 'tokens' || unit.endsWith('-tokens') || unit.endsWith('-bytes') ? 0 : (cost.requests ?? 1))
  )
}

/** A KnownBudget is a budget as it was told last, less what was sent since. */
class KnownBudget {
  readonly unit: string
  #limit: number | undefined
  #left = 0
  #inFlight = 0
  #resetAtMs = 0
  #windowMs: number | undefined
  #nextMs = 0

  constructor(nowMs: number, told: Budget) {
    this.unit = told.unit
    this.tell(nowMs, told)
  }

  tell(nowMs: number, { limit, remaining, resetMs, windowMs }: Budget): void {
    this.#limit = limit ?? this.#limit
    this.#windowMs = windowMs ?? this.#windowMs
    if (remaining === undefined) {
      // A policy alone: its rate is kept to from the first call on.
      if (this.#resetAtMs === 0) this.#left = limit ?? 0
      this.#resetAtMs = nowMs + (this.#windowMs ?? 0)
      return
    }
    // What is under way may be counted in it or not: it is taken off, so that too little is sent rather than too much.
    this.#left = remaining - this.#inFlight
    this.#resetAtMs = nowMs + (resetMs ?? this.#perHitMs())
  }

  waitMs(nowMs: number, amount: number, isAnyUnderWay: boolean): number {
    if (nowMs >= this.#resetAtMs) {
      // How much there is by now is not known: one call asks.
      return isAnyUnderWay ? Number.POSITIVE_INFINITY : 0
    }
    if (this.#left < Math.max(amount, Number.MIN_VALUE)) return this.#resetAtMs - nowMs
    return this.#isAmple ? 0 : Math.max(0, this.#nextMs - nowMs)
  }

  leastMs(nowMs: number, amount: number): number {
    const missing = amount - this.#left
    if (missing <= 0 || nowMs >= this.#resetAtMs) return 0
    const windows = this.#limit === undefined || this.#limit === 0 ? 1 : Math.ceil(missing / this.#limit)
    return this.#resetAtMs - nowMs + (windows - 1) * (this.#windowMs ?? 0)
  }

  take(nowMs: number, amount: number): void {
    const spaceMs = this.#spaceMs(nowMs) * Math.max(1, amount)
    this.#nextMs = Math.max(this.#nextMs, nowMs - SLACK_MS) + (this.#isAmple ? 0 : spaceMs)
    this.#left -= amount
    this.#inFlight += amount
  }

  settle(amount: number): void {
    this.#inFlight = Math.max(0, this.#inFlight - amount)
  }

  get #isAmple(): boolean {
    return this.#limit === undefined ? this.#left > 0 : this.#left * 2 > this.#limit
  }

  /**
   * #spaceMs is the time between two hits: what is left spread over the time until there is more, or the policy's own rate,
   * whichever is shorter. With little left it grows, so that several callers who share a budget come to equal parts.
   */
  #spaceMs(nowMs: number): number {
    if (nowMs >= this.#resetAtMs || this.#left <= 0) return this.#perHitMs()
    const spreadMs = (this.#resetAtMs - nowMs) / this.#left
    if (this.#windowMs === undefined || this.#limit === undefined) return spreadMs
    return Math.min(spreadMs, this.#perHitMs() * Math.max(1, (this.#limit * LITTLE) / this.#left))
  }

  /** #perHitMs is how long one hit takes to come back at the rate that the policy names. */
  #perHitMs(): number {
    if (this.#windowMs === undefined || this.#limit === undefined || this.#limit === 0) return UNKNOWN_WAIT_MS
    return this.#windowMs / this.#limit
  }
}
