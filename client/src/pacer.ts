import type { Budget } from './rate-limits.ts'

/**
 * A Cost is what a call takes of budgets, by what they count. A call that says nothing takes 1 of `requests`. A pacer tells calls
 * apart by their costs: no two that are under way share one.
 */
export type Cost = Readonly<Record<string, number>>

/** How many calls go out before anything is known of the server. It doubles with each round of answers. */
const FIRST_CALLS = 4
/** A call that has no answer for so long keeps no other back. */
const SILENCE_MS = 1_000
/** What is waited for where the server says that nothing is left, and not for how long. */
const UNKNOWN_WAIT_MS = 1_000
/** No word of a server holds for longer: then one call asks again. */
const TRUST_MS = 3_600_000
/** For how long nothing is sent as a burst after a refusal. */
const CAUTION_MS = 10_000
/** Below this share of a limit, little is left. */
const LITTLE = 0.1
/** Timers are late: what they lost of late is made up for. */
const SLACK_MS = 25
/** A server that names its policies anew each time cannot fill the memory. */
const MAX_BUDGETS = 32

/**
 * A Pacer knows the budgets that one caller has at one server, and says when the next call may go: at once while there is ample
 * budget, then spread over what is left until there is more, and not before that when nothing is left. Time is an argument.
 */
export class Pacer {
  readonly #budgets = new Map<string, KnownBudget>()
  readonly #underWay = new Set<Cost>()
  #pausedUntilMs = 0
  #window = FIRST_CALLS
  #cautiousUntilMs = 0
  #sentMs = 0

  /** isPaced says whether the server has told of a budget. */
  get isPaced(): boolean {
    return this.#budgets.size > 0
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0
  }

  /** waitMs says how long a call waits from now. One that is not patient goes as soon as there is budget, and spreads nothing. */
  waitMs(nowMs: number, cost: Cost, isPatient = true): number {
    const silenceMs = this.isIdle ? 0 : Math.max(0, this.#sentMs + SILENCE_MS - nowMs)
    const isCautious = nowMs < this.#cautiousUntilMs
    const startMs = !this.isPaced && this.#underWay.size >= this.#window ? silenceMs : 0
    return this.#longest(nowMs, startMs, (budget) =>
      budget.isOld(nowMs) ? silenceMs : budget.waitMs(nowMs, amountOf(cost, budget.unit), isPatient, isCautious),
    )
  }

  /** leastMs is the least that a call waits behind others that cost so much together, as far as is known. */
  leastMs(nowMs: number, ahead: Cost): number {
    return this.#longest(nowMs, 0, (budget) =>
      budget.isOld(nowMs) ? 0 : budget.leastMs(nowMs, amountOf(ahead, budget.unit)),
    )
  }

  #longest(nowMs: number, startMs: number, waitOf: (budget: KnownBudget) => number): number {
    return Math.max(startMs, this.#pausedUntilMs - nowMs, 0, ...[...this.#budgets.values()].map(waitOf))
  }

  sent(nowMs: number, cost: Cost): void {
    this.#underWay.add(cost)
    this.#sentMs = nowMs
    for (const budget of this.#budgets.values())
      budget.take(nowMs, amountOf(cost, budget.unit), nowMs < this.#cautiousUntilMs)
  }

  /** failed is told of a call that got no answer. */
  failed(cost: Cost): void {
    if (!this.#underWay.delete(cost)) return
    for (const budget of this.#budgets.values()) budget.ended(amountOf(cost, budget.unit))
  }

  /** answered is told of a call that got an answer, and of what that says. A budget that is not told of any more is forgotten. */
  answered(nowMs: number, cost: Cost, budgets: readonly Budget[]): void {
    this.failed(cost)
    this.#window++
    const told = new Set(budgets.map(keyOf))
    for (const [key, budget] of this.#budgets) if (!told.has(key) && budget.isOld(nowMs)) this.#budgets.delete(key)
    this.told(nowMs, budgets)
  }

  /** told takes what a server says, here or in another tab. */
  told(nowMs: number, budgets: readonly Budget[]): void {
    for (const told of budgets) {
      const key = keyOf(told)
      const known = this.#budgets.get(key)
      if (known !== undefined) known.tell(nowMs, told)
      else if (this.#budgets.size < MAX_BUDGETS && (told.remaining ?? told.windowMs) !== undefined) {
        // A limit without a window does not say how fast to go.
        let underWay = 0
        for (const cost of this.#underWay) underWay += amountOf(cost, told.unit)
        const budget = new KnownBudget(told.unit, underWay)
        budget.tell(nowMs, told)
        this.#budgets.set(key, budget)
      }
    }
  }

  /** refused has nothing go for a while, and fewer at once after it. */
  refused(nowMs: number, pauseMs: number): void {
    this.#window = Math.max(1, this.#window / 2)
    this.#cautiousUntilMs = nowMs + CAUTION_MS
    this.pause(nowMs, pauseMs)
  }

  pause(nowMs: number, pauseMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(pauseMs, TRUST_MS))
  }
}

const keyOf = ({ unit, name, partition }: Budget): string => `${unit} ${name} ${partition}`

/** amountOf is what a call takes of a budget. Tokens and bytes are taken by calls that say so. */
function amountOf(cost: Cost, unit: string): number {
  return cost[unit] ?? (/(tokens|bytes)$/.test(unit) ? 0 : (cost.requests ?? 1))
}

/** A KnownBudget is a budget as it was told last, less what was sent since. A limit or window of 0 is one that was not told. */
class KnownBudget {
  readonly unit: string
  #limit = 0
  #windowMs = 0
  #remaining = 0
  #left = 0
  #underWay: number
  #toldMs = 0
  #resetAtMs = 0
  #nextMs = 0

  constructor(unit: string, underWay: number) {
    this.unit = unit
    this.#underWay = underWay
  }

  tell(nowMs: number, { limit, remaining, resetMs, windowMs }: Budget): void {
    const isOld = this.isOld(nowMs)
    this.#limit = limit ?? this.#limit
    this.#windowMs = windowMs ?? this.#windowMs
    this.#toldMs = nowMs
    // What was spread over the time before is over with it.
    if (isOld) this.#nextMs = nowMs
    // Where the server does not say, there is more a window after the first that was seen of it.
    const isSameWindow = !isOld && (remaining ?? 0) <= this.#remaining
    if (resetMs !== undefined) this.#resetAtMs = nowMs + resetMs
    else if (!isSameWindow || !this.#windowMs) this.#resetAtMs = nowMs + (this.#windowMs || UNKNOWN_WAIT_MS)
    // A policy alone: what is left is counted here.
    if (remaining === undefined && isSameWindow) return
    this.#remaining = remaining ?? this.#limit
    // What is under way may be counted in it or not: it is taken off, so that too little is sent rather than too much.
    this.#left = this.#remaining - this.#underWay
  }

  /** isOld says whether it is to be asked anew how much there is. */
  isOld(nowMs: number): boolean {
    return nowMs >= this.#untilMs
  }

  /** Who is cautious spreads calls however much is left: somebody else takes of it too. */
  waitMs(nowMs: number, amount: number, isPatient: boolean, isCautious: boolean): number {
    // A call that costs more than there ever is goes when all is there.
    if (this.#left <= 0 || this.#left < Math.min(amount, this.#limit || amount)) return this.#untilMs - nowMs
    return !isPatient || this.#isAmple(isCautious) ? 0 : Math.max(0, this.#nextMs - nowMs)
  }

  leastMs(nowMs: number, amount: number): number {
    if (amount <= this.#left && this.#left > 0) return 0
    const windows = this.#limit ? Math.ceil((amount - this.#left) / this.#limit) : 1
    return this.#untilMs - nowMs + Math.max(0, windows - 1) * this.#windowMs
  }

  take(nowMs: number, amount: number, isCautious: boolean): void {
    const spaceMs = this.#isAmple(isCautious) ? 0 : this.#spaceMs(nowMs) * amount
    this.#nextMs = Math.min(Math.max(this.#nextMs, nowMs - SLACK_MS) + spaceMs, nowMs + TRUST_MS)
    this.#left -= amount
    this.#underWay += amount
  }

  ended(amount: number): void {
    this.#underWay -= amount
  }

  #isAmple(isCautious: boolean): boolean {
    return !isCautious && this.#left * 2 > this.#limit
  }

  get #untilMs(): number {
    return Math.min(this.#resetAtMs, this.#toldMs + TRUST_MS)
  }

  /**
   * #spaceMs is the time between two hits: what is left spread over the time until there is more, or the policy's own rate,
   * whichever is shorter. With little left it grows, so that several callers who share a budget come to equal parts.
   */
  #spaceMs(nowMs: number): number {
    const isKnown = this.#windowMs > 0 && this.#limit > 0
    const perHitMs = isKnown ? this.#windowMs / this.#limit : UNKNOWN_WAIT_MS
    if (this.isOld(nowMs) || this.#left <= 0) return perHitMs
    const spreadMs = (this.#resetAtMs - nowMs) / this.#left
    return isKnown ? Math.min(spreadMs, perHitMs * Math.max(1, (this.#limit * LITTLE) / this.#left)) : spreadMs
  }
}
