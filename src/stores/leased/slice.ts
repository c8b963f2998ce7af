import type { Verdict } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import { eventualLifeMs } from '../../core/over-admission.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { SliceBook } from '../lending/slice-book.ts'
import { SliceAccount } from './slice-account.ts'
import { SliceRefusal } from './slice-refusal.ts'
import { SliceSize } from './slice-size.ts'
import type { Ordered } from './use-order.ts'
import type { Waiter } from './waiter.ts'

/** How a rule is counted: from a slice that was lent, or from what was left at the last exchange. */
export type SliceKind = 'leased' | 'eventual'

/** How far a slice has come. Slices moves it on: `leaving` is on its way back, `gone` is not kept any more. */
export type SliceLife = 'kept' | 'leaving' | 'gone'

/** A SliceState says what a slice can spend. See Slice for what moves it from one to another. */
type SliceState =
  /** Nothing: nothing was lent yet, or the lease is over. */
  | 'empty'
  /** What the lender said, until the lease is over. */
  | 'lent'
  /** Nothing, but its lease runs on: the limit was changed after the lender was asked. */
  | 'outdated'

export interface SliceOptions {
  readonly key: string
  readonly limit: Limit
  /** Returns a name that no slice has had, of any node that shares the lender. */
  readonly newName: () => string
  readonly leaseMs: number
  /** Eventual: how often counts are exchanged. Undefined for a slice that is leased. */
  readonly syncMs: number | undefined
  readonly timeoutMs: number
}

/** What a slice asks for. */
export interface SliceWish {
  /** All that waits. */
  readonly need: number
  /** The smallest part of that; 1 when no request waits. */
  readonly cost: number
  readonly timeoutMs: number
  readonly givesBack: boolean
}

/** A request in flight to the lender. */
interface Flight {
  readonly request: SliceRequest
  readonly sentAtMs: number
  readonly dueAtMs: number
  /** All that waited when it was sent. */
  readonly need: number
  /** The lender may believe that something is held. */
  readonly isHolding: boolean
  readonly givesBack: boolean
}

/** What the lender said last. */
interface LastAnswer {
  readonly sentAtMs: number
  /** The lease is renewed after this long. */
  readonly renewMs: number
  /** The budget that remained outside all slices. */
  readonly free: number
  /** How many hold something. Notices may raise it. */
  holders: number
  readonly resetAtMs: number
  /** It gave something to a slice of which the lender was not known to believe that it holds anything. */
  readonly isFirst: boolean
}

/**
 * What this node holds of one counter's budget, and what it has spent. An eventual slice holds nothing: it spends what
 * remained at its last exchange, as every other node does.
 *
 *            answered               change
 *   empty ──────────────► lent ───────────────► outdated
 *     ▲                   │  ▲                   │  │
 *     │    runOut         │  └──── answered ─────┘  │
 *     └───────────────────┴──────── runOut ─────────┘
 *
 * A leased slice that runs out restarts under another name, and the lender accounts for the rest.
 *
 * In each of these states at most one request is in flight. `ask` makes it. It ends with `answered` or `failed`, or
 * without either when the limit changes or the slice runs out: its result is then ignored.
 */
export class Slice implements Ordered {
  readonly key: string
  readonly kind: SliceKind
  readonly size: SliceSize
  /** Eventual: how often counts are exchanged. */
  readonly syncMs: number | undefined
  /** The part of it that others hold of this node: a lease of a lease. */
  readonly lent = new SliceBook()
  /** What waits for the answer to a request, in order of arrival. */
  waiting: Waiter[] = []
  life: SliceLife = 'kept'
  /** Leased: the last answer brought so little that the parent had better decide, until it has more. */
  isShort = false
  older: this | undefined
  newer: this | undefined
  /** How long the lender may take to answer. */
  timeoutMs: number
  lastUsedMs: number
  readonly #refusal = new SliceRefusal()
  readonly #newName: () => string
  readonly #leaseMs: number
  #limit: Limit
  #state: SliceState = 'empty'
  /** The end of the lease. */
  #deadlineMs = Number.NEGATIVE_INFINITY
  #account: SliceAccount
  #flight: Flight | undefined
  #sequence = 0
  /** How many hits it answered, and how many of them before it last asked. */
  #hits = 0
  #hitsThen = 0
  #last: LastAnswer

  constructor({ key, limit, newName, leaseMs, syncMs, timeoutMs }: SliceOptions, nowMs: number) {
    this.key = key
    this.kind = syncMs === undefined ? 'leased' : 'eventual'
    this.size = new SliceSize(limit, syncMs)
    this.syncMs = syncMs
    this.timeoutMs = timeoutMs
    this.lastUsedMs = nowMs
    this.#limit = limit
    this.#newName = newName
    this.#leaseMs = leaseMs
    this.#account = new SliceAccount(newName())
    this.#last = { sentAtMs: nowMs, renewMs: leaseMs / 2, free: 0, holders: 1, resetAtMs: 0, isFirst: false }
  }

  /** The limit that the budget is of. */
  get limit(): Limit {
    return this.#limit
  }

  /** What can be spent or lent. */
  get inHand(): number {
    return this.#account.hand - this.lent.out
  }

  /** True when its budget is known from the lender, recently enough. */
  isKnown(nowMs: number): boolean {
    return this.#state === 'lent' && nowMs < this.#deadlineMs
  }

  get isAsking(): boolean {
    return this.#flight !== undefined
  }

  /** True while what it has is on the way back. */
  get isGivingBack(): boolean {
    return this.#flight?.givesBack === true
  }

  /** How many hits it answered since it last asked. */
  get hitsSinceAsked(): number {
    return this.#hits - this.#hitsThen
  }

  /** Whether the answer in flight may come later than this. */
  isAskingPast(dueAtMs: number): boolean {
    return this.#flight !== undefined && this.#flight.dueAtMs > dueAtMs
  }

  /** Returns whether the answer to a request is still awaited. */
  isCurrent(request: SliceRequest): boolean {
    return this.#flight?.request === request
  }

  /** True when there is nothing left to account for. */
  get isSettled(): boolean {
    return this.#flight === undefined && !this.#account.hasUnconfirmed && !this.#account.isBooked
  }

  /** True when the lender believes in more than is needed: what was spent, or is not used. */
  get owes(): boolean {
    return this.#account.owes(this.lent.out)
  }

  /** Returns whether it is time to ask in advance. */
  get wantsMore(): boolean {
    return this.kind === 'leased' && !this.isShort && this.#flight === undefined && this.size.isLow(this.inHand)
  }

  /** True when the last answer made this the second holder: the first one does not know yet that it is not alone. */
  get isSecond(): boolean {
    return this.#last.isFirst && this.#last.holders === 2
  }

  /** Whether it is time to report what was spent, to renew the lease, or to learn what remains. */
  isDue(nowMs: number): boolean {
    const { sentAtMs, renewMs } = this.#last
    const ageMs = nowMs - sentAtMs
    if (this.#account.isBooked && ageMs >= renewMs) return true
    if (this.#account.hasUnconfirmed) return ageMs >= this.size.reportMs
    if (this.syncMs === undefined) return false
    return ageMs >= this.syncMs && this.lastUsedMs > sentAtMs && !this.isRefused(1, nowMs)
  }

  /** In how long it may be due: a look at any other time could come when the lease is over. */
  dueAfterMs(nowMs: number): number {
    const { sentAtMs, renewMs } = this.#last
    const everyMs = Math.min(this.size.reportMs, renewMs)
    const leftMs = sentAtMs + everyMs - nowMs
    return leftMs > 0 ? leftMs : everyMs
  }

  /** How long what is in hand may still be spent. */
  leaseLeftMs(nowMs: number): number {
    return this.#deadlineMs - nowMs
  }

  /** Returns whether a cost is known to be refused. */
  isRefused(cost: number, nowMs: number): boolean {
    return this.#refusal.covers(cost, nowMs)
  }

  /** Spends a cost from what is in hand, and says whether there was enough. */
  take(cost: number, nowMs: number): boolean {
    this.runOutBy(nowMs)
    return this.serve(cost, nowMs)
  }

  /** Like take for a cost that waited for the answer that has just come. */
  serve(cost: number, nowMs: number): boolean {
    this.lastUsedMs = nowMs
    if (cost > this.inHand) return false
    this.#account.spend(cost)
    this.#hits++
    return true
  }

  /** Undoes a take. It says whether that was possible: what the lender may have heard of is not taken back here. */
  putBack(cost: number, nowMs: number): boolean {
    return nowMs < this.#deadlineMs && this.#account.unspend(cost)
  }

  /** Accounts for what another holder has spent of its part. */
  spendLent(cost: number): void {
    this.#account.spend(cost)
  }

  /** Forgets a refusal, and one that may be in flight: there may be budget again. */
  clear(nowMs: number): void {
    this.#refusal.clear(nowMs)
  }

  /**
   * beginAnew forgets what it has and what it has spent: the counter was reset, and the lender has forgotten it too.
   * Should the lender not have, it accounts for what was left over, as when a lease runs out.
   */
  restart(nowMs: number): void {
    this.#account = new SliceAccount(this.#newName())
    this.#flight = undefined
    this.lent.forget()
    this.#state = 'empty'
    this.#deadlineMs = Number.NEGATIVE_INFINITY
    this.clear(nowMs)
  }

  /** Records that other nodes also hold slices: what remains outside all slices is unknown from now on. */
  join(): void {
    this.#last.holders = Math.max(this.#last.holders, 2)
  }

  /** Ends the lease if it is over by then. */
  runOutBy(nowMs: number): void {
    if (nowMs >= this.#deadlineMs) this.#runOut()
  }

  #runOut(): void {
    if (this.kind === 'leased' && this.#state !== 'empty') {
      this.#account = new SliceAccount(this.#newName())
      this.#flight = undefined
      this.lent.forget()
    }
    this.#account.hand = 0
    this.#state = 'empty'
    this.#deadlineMs = Number.NEGATIVE_INFINITY
  }

  /** Goes over to another limit: what is in hand goes back, and the next request asks. */
  change(limit: Limit): void {
    this.#limit = limit
    this.size.change(limit)
    this.#refusal.forget()
    // What was asked for under the old limit is not taken any more.
    if (this.#flight !== undefined) this.failed()
    if (this.#state === 'lent') this.#state = 'outdated'
    if (this.kind === 'eventual') this.#deadlineMs = Number.NEGATIVE_INFINITY
    else this.#account.hand = this.lent.out
  }

  /** Makes the next request. One that gives back keeps what others hold of the slice. */
  ask(nowMs: number, { need, cost, timeoutMs, givesBack }: SliceWish): SliceRequest {
    this.runOutBy(nowMs)
    const account = this.#account
    const isLeased = this.kind === 'leased'
    if (isLeased && givesBack) account.hand = this.lent.out
    const ahead = isLeased && !givesBack ? this.size.ahead(account.spent, this.inHand, need, nowMs) : 0
    const keep = isLeased ? Math.max(0, account.hand) : 0
    const request: SliceRequest = {
      key: this.key,
      limit: this.#limit,
      holder: account.name,
      sequence: ++this.#sequence,
      spent: account.spent,
      confirmed: account.confirmed,
      keep,
      need: isLeased ? Math.max(0, need - this.inHand) : 0,
      ahead,
      cost,
      leaseMs: this.#leaseMs,
      timeoutMs,
    }
    account.markReported()
    this.#hitsThen = this.#hits
    const isHolding = keep + need + ahead > 0
    this.#flight = { request, sentAtMs: nowMs, dueAtMs: nowMs + timeoutMs, need, isHolding, givesBack }
    return request
  }

  /** Handles the answer to the request in flight. A refusal in it is remembered for at most maxRefusalMs. */
  answered(reply: SliceReply, maxRefusalMs: number): void {
    const flight = this.#flight
    if (flight === undefined) return
    if (reply.isStale) {
      this.failed()
      return
    }
    const { request, sentAtMs } = flight
    const account = this.#account
    const isLeased = this.kind === 'leased'
    const isFirst = reply.held > 0 && !account.isKnownBooked
    this.#flight = undefined
    account.hand = (isLeased ? reply.held : reply.free) - (account.spent - request.spent)
    account.confirm(request.spent, reply.held)
    this.#state = 'lent'
    this.#deadlineMs = sentAtMs + (this.syncMs === undefined ? reply.leaseMs : eventualLifeMs(this.syncMs))
    this.#last = {
      sentAtMs,
      renewMs: reply.leaseMs / 2,
      free: reply.free,
      holders: reply.holders,
      resetAtMs: sentAtMs + reply.resetAfterMs,
      isFirst,
    }
    this.#refusal.forget()
    const isShort = !isLeased || this.inHand < Math.max(1, flight.need)
    if (isShort && reply.free < request.cost) this.#refusal.learn(request.cost, sentAtMs, reply, maxRefusalMs)
  }

  /** Says that no answer came. The lender may have heard the request, or not. */
  failed(): void {
    const isHolding = this.#account.isBooked || this.#flight?.isHolding === true
    this.#flight = undefined
    if (this.kind === 'leased' && isHolding) this.#account.doubt()
  }

  /**
   * Returns the verdict on a cost that was taken or not: what is in hand, and what remained outside all slices when the
   * lender was asked. Other nodes may have taken of that since, so it counts only for a node that holds alone, and for
   * the request that waited for the answer.
   */
  verdict(isAllowed: boolean, nowMs: number, isAnswer = false): Verdict {
    const { max: limit } = this.#limit
    const last = this.#last
    const isKnown = this.kind === 'leased' && (isAnswer || last.holders === 1)
    const remaining = Math.max(0, this.inHand) + (isKnown ? last.free : 0)
    const resetAfterMs = Math.max(0, Math.ceil(last.resetAtMs - nowMs))
    if (isAllowed) return { kind: 'allowed', allowed: true, limit, remaining, resetAfterMs, delayMs: 0 }
    const againAtMs = Math.max(this.#refusal.retryAtMs, last.sentAtMs + (this.syncMs ?? 0))
    const retryAfterMs = Math.max(1, Math.ceil(againAtMs - nowMs))
    return { kind: 'refused', allowed: false, limit, remaining, resetAfterMs, retryAfterMs }
  }
}
