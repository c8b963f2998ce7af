import type { Verdict } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import { eventualLifeMs } from '../../core/over-admission.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { SliceBook } from '../lending/slice-book.ts'
import { SliceSize } from './slice-size.ts'

/** A SliceKind is how a rule is counted: from a slice that was lent, or from what was left at the last exchange. */
export type SliceKind = 'leased' | 'eventual'

export interface SliceOptions {
  readonly key: string
  readonly limit: Limit
  /** newName returns a name that no slice has had, of any node that shares the lender. */
  readonly newName: () => string
  readonly leaseMs: number
  /** Eventual: how often counts are exchanged. Undefined for a slice that is leased. */
  readonly syncMs: number | undefined
  readonly timeoutMs: number
}

/** A Waiter is a cost that the slice did not hold. */
export interface Waiter {
  readonly cost: number
  readonly dueAtMs: number
  /** It goes on to another holder, who spends it: here it only has to be there. */
  readonly isForOthers: boolean
  /** Part of the request under way. */
  isAsked: boolean
  /** Whether it got what it waited for, and undefined until it is known. */
  isServed: boolean | undefined
  /** Why it will never know. */
  fault: unknown
  settle(isServed: boolean): void
  fail(fault: unknown): void
}

/** A Flight is a request that is under way to the lender. */
interface Flight {
  /** The lender may come to believe that something is held. */
  readonly isHolding: boolean
  readonly sequence: number
  readonly spent: number
  readonly sentAtMs: number
  readonly dueAtMs: number
  readonly cost: number
  readonly need: number
}

/** A SliceWish is what a slice asks for. */
export interface SliceWish {
  /** All that waits. */
  readonly need: number
  /** The smallest part of that; 1 when nobody waits. */
  readonly cost: number
  readonly timeoutMs: number
  readonly givesBack: boolean
}

/** How long a holder waits before it asks again for what others hold. */
const LENT_WAIT_MS = 25

/**
 * A Slice is what this node holds of one counter's budget, and what it has spent. It spends for as long as its lease lasts
 * on its own clock; after that it begins anew under another name, and the lender accounts for what was left over.
 *
 * An eventual slice holds nothing: it spends what was left at its last exchange, as every other node does.
 */
export class Slice {
  readonly key: string
  readonly kind: SliceKind
  readonly size: SliceSize
  /** The limit that the budget is of. One that was changed begins with what the lender says. */
  limit: Limit
  /** The part of it that others hold of this node: a lease of a lease. */
  readonly lent = new SliceBook()
  /** Who waits for the answer to a request, in order of coming. */
  waiting: Waiter[] = []
  /** On its way back, for good. */
  isLeaving = false
  /** Nobody keeps it any more. */
  isDropped = false
  /** How long the lender may take to answer. */
  timeoutMs: number
  lastUsedMs: number
  readonly #newName: () => string
  readonly #leaseMs: number
  /** Eventual: how often counts are exchanged. */
  readonly syncMs: number | undefined
  readonly #syncMs: number
  #name: string
  #hand = 0
  #spent = 0
  #confirmed = 0
  /** The most that was ever told: of that nothing can be taken back here. */
  #told = 0
  /** What the lender believes is held. Infinity: nobody knows. */
  #booked = 0
  #sequence = 0
  #flight: Flight | undefined
  #deadlineMs = Number.NEGATIVE_INFINITY
  /** What was heard is of another limit. */
  #isChanged = false
  #renewMs: number
  #sentAtMs: number
  /** The last answer gave something to a slice that held nothing. */
  #hasBegun = false
  #free = 0
  #holders = 1
  #resetAtMs = 0
  /** Refused until then, for costs from #refusedCost on. */
  #refusedUntilMs = Number.NEGATIVE_INFINITY
  #refusedCost = 0
  /** What the lender said before then about refusals is not remembered. */
  #clearedAtMs = Number.NEGATIVE_INFINITY
  #retryAtMs = 0

  constructor(about: SliceOptions, nowMs: number) {
    this.key = about.key
    this.limit = about.limit
    this.kind = about.syncMs === undefined ? 'leased' : 'eventual'
    this.size = new SliceSize(about.limit, about.syncMs)
    this.timeoutMs = about.timeoutMs
    this.lastUsedMs = nowMs
    this.#newName = about.newName
    this.#name = about.newName()
    this.#leaseMs = about.leaseMs
    this.#renewMs = about.leaseMs / 2
    this.syncMs = about.syncMs
    this.#syncMs = about.syncMs ?? 0
    this.#sentAtMs = nowMs
  }

  /** What can be spent or lent. */
  get inHand(): number {
    return this.#hand - this.lent.out
  }

  /** True when something is spent that the lender has not confirmed. */
  get hasNews(): boolean {
    return this.#spent !== this.#confirmed
  }

  /** True when what it tells about the budget was heard from the lender, and not too long ago. */
  isKnown(nowMs: number): boolean {
    return nowMs < this.#deadlineMs && !this.#isChanged
  }

  get isAsking(): boolean {
    return this.#flight !== undefined
  }

  /** isAskingPast says whether the answer under way may come later than this. */
  isAskingPast(dueAtMs: number): boolean {
    return this.#flight !== undefined && this.#flight.dueAtMs > dueAtMs
  }

  /** True when there is nothing left to account for. */
  get isSettled(): boolean {
    return this.#flight === undefined && !this.hasNews && this.#booked === 0
  }

  /** True when the lender believes in more than is needed: what was spent, or is not used. */
  get owes(): boolean {
    return this.hasNews || this.#booked > this.lent.out
  }

  /** isDue says whether it is time to tell what was spent, to renew the lease, or to hear what is left. */
  isDue(nowMs: number): boolean {
    const ageMs = nowMs - this.#sentAtMs
    if (this.#booked > 0 && ageMs >= this.#renewMs) return true
    if (this.hasNews) return ageMs >= this.size.reportMs
    if (this.kind === 'leased') return false
    return ageMs >= this.#syncMs && this.lastUsedMs > this.#sentAtMs && !this.isRefused(1, nowMs)
  }

  /** dueAfterMs is in how long it may be due: a look at any other time could come when the lease is over. */
  dueAfterMs(nowMs: number): number {
    const everyMs = Math.min(this.size.reportMs, this.#renewMs)
    const leftMs = this.#sentAtMs + everyMs - nowMs
    return leftMs > 0 ? leftMs : everyMs
  }

  /** How long what is in hand may still be spent. */
  leaseLeftMs(nowMs: number): number {
    return this.#deadlineMs - nowMs
  }

  /** runOutBy begins anew if the lease is over by then. */
  runOutBy(nowMs: number): void {
    if (nowMs >= this.#deadlineMs) this.#runOut()
  }

  /** take spends a cost from what is in hand, and says whether there was enough. */
  take(cost: number, nowMs: number): boolean {
    this.runOutBy(nowMs)
    return this.serve(cost, nowMs)
  }

  /** serve is take for who waited for the answer that has just come. */
  serve(cost: number, nowMs: number): boolean {
    this.lastUsedMs = nowMs
    if (cost > this.inHand) return false
    this.#hand -= cost
    this.#spent += cost
    return true
  }

  /** putBack undoes a take. It says whether that was possible: what the lender may have heard of is not taken back here. */
  putBack(cost: number, nowMs: number): boolean {
    if (nowMs >= this.#deadlineMs || this.#spent - this.#told < cost) return false
    this.#hand += cost
    this.#spent -= cost
    return true
  }

  /** spendLent accounts for what another holder has spent of its part. */
  spendLent(cost: number): void {
    this.#hand -= cost
    this.#spent += cost
  }

  /** isRefused says whether a cost is known to be refused. */
  isRefused(cost: number, nowMs: number): boolean {
    return nowMs < this.#refusedUntilMs && cost >= this.#refusedCost
  }

  /** clear forgets a refusal, and the one that may be on its way: there may be budget again. */
  clear(nowMs: number): void {
    this.#clearedAtMs = nowMs
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY
  }

  /** change goes over to another limit: what is in hand goes back, and the next request asks. */
  change(limit: Limit): void {
    this.limit = limit
    this.#isChanged = true
    this.size.change(limit)
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY
    // What was asked for under the old limit is not taken any more.
    if (this.#flight !== undefined) this.failed()
    if (this.kind === 'eventual') this.#deadlineMs = Number.NEGATIVE_INFINITY
    else this.#hand = this.lent.out
  }

  /** wantsMore says whether it is time to ask in advance. */
  get wantsMore(): boolean {
    return this.kind === 'leased' && this.#flight === undefined && this.size.isLow(this.inHand)
  }

  /**
   * ask makes the next request. One that gives back keeps what others hold of the slice.
   */
  ask(nowMs: number, { need, cost, timeoutMs, givesBack }: SliceWish): SliceRequest {
    this.runOutBy(nowMs)
    const isLeased = this.kind === 'leased'
    if (isLeased && givesBack) this.#hand = this.lent.out
    const ahead = isLeased && !givesBack ? this.size.ahead(this.#spent, this.inHand, need, nowMs) : 0
    const keep = isLeased ? Math.max(0, this.#hand) : 0
    const isHolding = keep + need + ahead > 0
    const dueAtMs = nowMs + timeoutMs
    this.#flight = { isHolding, sequence: ++this.#sequence, spent: this.#spent, sentAtMs: nowMs, dueAtMs, cost, need }
    this.#told = Math.max(this.#told, this.#spent)
    return {
      key: this.key,
      limit: this.limit,
      holder: this.#name,
      sequence: this.#sequence,
      spent: this.#spent,
      confirmed: this.#confirmed,
      keep,
      need: isLeased ? Math.max(0, need - this.inHand) : 0,
      ahead,
      cost,
      leaseMs: this.#leaseMs,
      timeoutMs,
    }
  }

  /** isCurrent says whether the answer to a request is still awaited. */
  isCurrent({ sequence, holder }: SliceRequest): boolean {
    return this.#flight?.sequence === sequence && holder === this.#name
  }

  /** answered takes the answer to the request under way. A refusal in it is remembered for longestMs at the most. */
  answered(reply: SliceReply, longestMs: number): void {
    const flight = this.#flight
    this.#flight = undefined
    if (flight === undefined) return
    if (reply.isStale) {
      this.#flight = flight
      this.failed()
      return
    }
    const since = this.#spent - flight.spent
    this.#isChanged = false
    this.#confirmed = flight.spent
    this.#hasBegun = reply.held > 0 && !(this.#booked > 0 && this.#booked < Number.POSITIVE_INFINITY)
    this.#booked = reply.held
    this.#hand = (this.kind === 'leased' ? reply.held : reply.free) - since
    this.#sentAtMs = flight.sentAtMs
    this.#deadlineMs = flight.sentAtMs + (this.kind === 'leased' ? reply.leaseMs : eventualLifeMs(this.#syncMs))
    this.#renewMs = reply.leaseMs / 2
    this.#free = reply.free
    this.#holders = reply.holders
    this.#resetAtMs = flight.sentAtMs + reply.resetAfterMs
    const isShort = this.kind === 'eventual' || this.inHand < flight.need
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY
    if (isShort && reply.free < flight.cost) this.#refuse(flight, reply, longestMs)
  }

  /** failed says that no answer came. The lender may have heard the request, or not. */
  failed(): void {
    const isHolding = this.#booked > 0 || this.#flight?.isHolding === true
    this.#flight = undefined
    if (this.kind === 'leased' && isHolding) this.#booked = Number.POSITIVE_INFINITY
  }

  /** join learns that others hold something too: what is left beside all slices is not known from now on. */
  join(): void {
    this.#holders = Math.max(this.#holders, 2)
  }

  /** True when the last answer made this the second holder: the first one does not know yet that it is not alone. */
  get isSecond(): boolean {
    return this.#hasBegun && this.#holders === 2
  }

  /**
   * verdict tells what is left, after a cost that was taken or not: what is in hand, and what was left beside all slices
   * when the lender was asked. Others may have taken of that since, so it counts for who holds alone, and for the request
   * that waited for the answer.
   */
  verdict(isAllowed: boolean, nowMs: number, isAnswer = false): Verdict {
    const { limit } = this.limit
    const isKnown = this.kind === 'leased' && (isAnswer || this.#holders === 1)
    const remaining = Math.max(0, this.inHand) + (isKnown ? this.#free : 0)
    const resetAfterMs = Math.max(0, Math.ceil(this.#resetAtMs - nowMs))
    if (isAllowed) return { kind: 'allowed', allowed: true, limit, remaining, resetAfterMs, delayMs: 0 }
    const againAtMs = Math.max(this.#retryAtMs, this.#sentAtMs + this.#syncMs)
    const retryAfterMs = Math.max(1, Math.ceil(againAtMs - nowMs))
    return { kind: 'refused', allowed: false, limit, remaining, resetAfterMs, retryAfterMs }
  }

  /**
   * #refuse remembers a refusal. When the counter itself is used up, nothing changes before its time. When the rest is lent,
   * it may come back any moment.
   */
  #refuse({ sentAtMs, cost }: Flight, { retryAfterMs, lentRetryAfterMs }: SliceReply, longestMs: number): void {
    this.#refusedCost = cost
    this.#retryAtMs = sentAtMs + (retryAfterMs > 0 ? retryAfterMs : lentRetryAfterMs)
    if (sentAtMs <= this.#clearedAtMs) return
    const refusedMs = retryAfterMs > 0 ? retryAfterMs : Math.min(lentRetryAfterMs, LENT_WAIT_MS)
    this.#refusedUntilMs = sentAtMs + Math.min(refusedMs, longestMs)
  }

  /** #runOut begins anew: the lender charges what this name still had, spent or not. An eventual slice asks again. */
  #runOut(): void {
    this.#hand = 0
    if (this.kind === 'eventual' || this.#deadlineMs === Number.NEGATIVE_INFINITY) return
    this.#deadlineMs = Number.NEGATIVE_INFINITY
    this.#name = this.#newName()
    this.#spent = 0
    this.#confirmed = 0
    this.#told = 0
    this.#booked = 0
    this.#flight = undefined
    this.lent.forget()
  }
}
