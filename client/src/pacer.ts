import { LearnedRate } from './learned-rate.ts'
import type { Budget, RateLimits } from './rate-limits.ts'
import { jittered } from './retries.ts'

/**
 * What a call takes of budgets, by unit. The default is 1 of `requests`. A pacer identifies calls by their costs: no
 * two in flight share one.
 */
export type Cost = Readonly<Record<string, number>>

/**
 * How many calls are in flight before anything is known of the server. Each round of answers adds one, since what is in
 * flight at the first refusal is refused as well.
 */
const FIRST_CALLS = 4
/** From here on, each round of answers doubles it. */
const MANY_CALLS = 32
/** A call without an answer for this long holds no other back. */
const SILENCE_MS = 1_000
/** A budget for longer, such as one for an hour, says nothing about how many calls may be in flight. */
const BRIEF_MS = 60_000
/** What is waited for where the server says that nothing is left, and not for how long. */
const UNKNOWN_WAIT_MS = 1_000
/** No announcement of a server is trusted for longer: then one call asks again. */
const TRUST_MS = 3_600_000
/** For how long nothing is sent as a burst after a refusal. */
const CAUTION_MS = 10_000
/** Below this share of a limit, little is left. */
const LITTLE = 0.1
/** Timers are late: what they lost of late is made up for. */
const SLACK_MS = 25
/** A server that renames its policies each time cannot fill the memory. */
const MAX_BUDGETS = 32

/**
 * Knows the budgets that one caller has at one server, and determines when the next call may go: immediately while
 * there is ample budget, then spread over what remains until there is more, and not before that when nothing remains.
 * Time is an argument.
 */
export class Pacer {
  readonly #budgets = new Map<string, KnownBudget>()
  /** With the time at which each was sent. */
  readonly #inFlight = new Map<Cost, number>()
  readonly #learned = new LearnedRate()
  #pausedUntilMs = 0
  #window = FIRST_CALLS
  /** The window once the first call after a refusal is accepted; until then that call goes alone. 0: no refusal. */
  #windowAfter = 0
  #cautiousUntilMs = 0
  #sentMs = 0

  /** Whether the server has announced a budget. */
  get isPaced(): boolean {
    return this.#budgets.size > 0
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0
  }

  /**
   * Returns how long a call waits from now. One that is not patient goes as soon as there is budget, and spreads
   * nothing.
   */
  waitMs(nowMs: number, cost: Cost, isPatient = true): number {
    const silenceMs = this.isIdle ? 0 : Math.max(0, this.#sentMs + SILENCE_MS - nowMs)
    const isCautious = nowMs < this.#cautiousUntilMs
    const isFull =
      this.#inFlight.size >= this.#window && ![...this.#budgets.values()].some((each) => each.isBrief(nowMs))
    const startMs = Math.max(this.#learned.waitMs(nowMs), isFull ? silenceMs : 0)
    return this.#longest(nowMs, startMs, (budget) =>
      budget.isOld(nowMs) ? silenceMs : budget.waitMs(nowMs, amountOf(cost, budget.unit), isPatient, isCautious),
    )
  }

  /** Returns the least that a call waits behind others that cost so much together, as far as is known. */
  leastMs(nowMs: number, ahead: Cost): number {
    const learnedMs = this.#learned.waitMs(nowMs, amountOf(ahead, 'requests') - 1)
    return this.#longest(nowMs, learnedMs, (budget) =>
      budget.isOld(nowMs) ? 0 : budget.leastMs(nowMs, amountOf(ahead, budget.unit)),
    )
  }

  #longest(nowMs: number, startMs: number, waitOf: (budget: KnownBudget) => number): number {
    return Math.max(startMs, this.#pausedUntilMs - nowMs, 0, ...[...this.#budgets.values()].map(waitOf))
  }

  sent(nowMs: number, cost: Cost): void {
    this.#inFlight.set(cost, nowMs)
    this.#learned.sent(nowMs, amountOf(cost, 'requests'))
    this.#sentMs = nowMs
    for (const budget of this.#budgets.values())
      budget.take(nowMs, amountOf(cost, budget.unit), nowMs < this.#cautiousUntilMs)
  }

  /** Records a call that got no answer. */
  failed(cost: Cost): void {
    if (!this.#inFlight.delete(cost)) return
    for (const budget of this.#budgets.values()) budget.ended(amountOf(cost, budget.unit))
  }

  /**
   * Records a call that got an answer, with the budgets in it. A budget that is no longer announced is forgotten.
   * Returns how long calls pause: 0 for an answer that is not a refusal.
   */
  answered(nowMs: number, cost: Cost, { budgets, retryAfterMs }: Announced, isRefusal = false): number {
    const sentMs = this.#inFlight.get(cost) ?? nowMs
    this.failed(cost)
    const announced = new Set(budgets.map(keyOf))
    for (const [key, budget] of this.#budgets) if (!announced.has(key) && budget.isOld(nowMs)) this.#budgets.delete(key)
    this.update(nowMs, budgets)
    if (isRefusal) return this.#refused(nowMs, sentMs, budgets, retryAfterMs)
    this.#window = this.#windowAfter || this.#window + (this.#window > MANY_CALLS ? 1 : 1 / this.#window)
    this.#windowAfter = 0
    this.#learned.accepted(sentMs)
    return 0
  }

  /** Stops calls for a while, and allows fewer concurrent ones after it. */
  #refused(nowMs: number, sentMs: number, budgets: readonly Budget[], retryAfterMs: number | undefined): number {
    const usedUp = budgets.filter(({ remaining }) => remaining === 0)
    let pauseMs = retryAfterMs
    if (usedUp.length > 0) {
      this.#cautiousUntilMs = nowMs + CAUTION_MS
      pauseMs ??= Math.max(...usedUp.map(({ resetMs }) => resetMs ?? UNKNOWN_WAIT_MS))
    } else pauseMs = this.#learned.refused(sentMs, nowMs, retryAfterMs)
    if (pauseMs) {
      this.#windowAfter ||= Math.max(1, this.#window / 2)
      this.#window = 1
      this.pause(nowMs, jittered(pauseMs, Math.random()))
    }
    return Math.max(0, this.#pausedUntilMs - nowMs)
  }

  /** Updates budgets from a server's announcement, here or in another tab. */
  update(nowMs: number, budgets: readonly Budget[]): void {
    for (const announced of budgets) {
      const key = keyOf(announced)
      const known = this.#budgets.get(key)
      if (known !== undefined) known.update(nowMs, announced)
      else if (this.#budgets.size < MAX_BUDGETS && (announced.remaining ?? announced.windowMs) !== undefined) {
        // A limit without a window does not say how fast to go.
        let inFlight = 0
        for (const cost of this.#inFlight.keys()) inFlight += amountOf(cost, announced.unit)
        const budget = new KnownBudget(announced.unit, inFlight)
        budget.update(nowMs, announced)
        this.#budgets.set(key, budget)
      }
    }
  }

  pause(nowMs: number, pauseMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(pauseMs, TRUST_MS))
  }
}

/** What an answer announces. */
type Announced = Pick<RateLimits, 'budgets'> & Partial<RateLimits>

const keyOf = ({ unit, name, partition }: Budget): string => `${unit} ${name} ${partition}`

/** Returns what a call takes of a budget. Tokens and bytes are taken by calls that say so. */
function amountOf(cost: Cost, unit: string): number {
  return cost[unit] ?? (/(tokens|bytes)$/.test(unit) ? 0 : (cost.requests ?? 1))
}

/** A budget as it was last announced, less what was sent since. A limit or window of 0 was not announced. */
class KnownBudget {
  readonly unit: string
  #limit = 0
  #windowMs = 0
  #remaining = 0
  #left = 0
  #inFlight: number
  #receivedMs = 0
  #resetAtMs = 0
  #nextMs = 0

  constructor(unit: string, inFlight: number) {
    this.unit = unit
    this.#inFlight = inFlight
  }

  update(nowMs: number, { limit, remaining, resetMs, windowMs }: Budget): void {
    const isOld = this.isOld(nowMs)
    this.#limit = limit ?? this.#limit
    this.#windowMs = windowMs ?? this.#windowMs
    this.#receivedMs = nowMs
    // What was spread over the time before is over with it.
    if (isOld) this.#nextMs = nowMs
    // Where the server does not say, there is more a window after the first that was seen of it.
    const isSameWindow = !isOld && (remaining ?? 0) <= this.#remaining
    if (resetMs !== undefined) this.#resetAtMs = nowMs + resetMs
    else if (!isSameWindow || !this.#windowMs) this.#resetAtMs = nowMs + (this.#windowMs || UNKNOWN_WAIT_MS)
    // Only a policy: what remains is counted here.
    if (remaining === undefined && isSameWindow) return
    this.#remaining = remaining ?? this.#limit
    // What is in flight may or may not be counted in it: it is subtracted, so that too little is sent rather than too
    // much.
    this.#left = this.#remaining - this.#inFlight
  }

  /** Whether the budget must be learned again. */
  isOld(nowMs: number): boolean {
    return nowMs >= this.#untilMs
  }

  isBrief(nowMs: number): boolean {
    return this.#untilMs - nowMs <= BRIEF_MS
  }

  /** A cautious caller spreads calls however much remains: others share the budget. */
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
    this.#inFlight += amount
  }

  ended(amount: number): void {
    this.#inFlight -= amount
  }

  #isAmple(isCautious: boolean): boolean {
    return !isCautious && this.#left * 2 > this.#limit
  }

  get #untilMs(): number {
    return Math.min(this.#resetAtMs, this.#receivedMs + TRUST_MS)
  }

  /**
   * The time between two hits: what remains spread over the time until there is more, or the policy's rate, whichever
   * is shorter. With little remaining it grows, so that several callers that share a budget get equal parts.
   */
  #spaceMs(nowMs: number): number {
    const isKnown = this.#windowMs > 0 && this.#limit > 0
    const perHitMs = isKnown ? this.#windowMs / this.#limit : UNKNOWN_WAIT_MS
    if (this.isOld(nowMs) || this.#left <= 0) return perHitMs
    const spreadMs = (this.#resetAtMs - nowMs) / this.#left
    return isKnown ? Math.min(spreadMs, perHitMs * Math.max(1, (this.#limit * LITTLE) / this.#left)) : spreadMs
  }
}
