import type { Clock } from '../../core/clock.ts'
import { isLeasable, type Limit } from '../../core/limit.ts'
import type { Charge, Lender, MaybePromise, SliceReply, SliceRequest } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { NO_LENDER } from '../lending/can-lend.ts'
import { lentCounter } from './lent-counter.ts'
import { Slice } from './slice.ts'
import { reportMsOf } from './slice-size.ts'
import { UseOrder } from './use-order.ts'
import { Visits } from './visits.ts'
import { answerOf, failAll, newWaiter, settle } from './waiter.ts'
import { TICK_MS, Wheel } from './wheel.ts'

/** The node that slices belong to. */
export interface SliceOwner {
  readonly lender: Lender
  readonly clock: Clock
  readonly node: string
  readonly leaseMs: number
  /** Returns how long the lender may take where a rule does not say. */
  readonly timeoutMs: () => number
  readonly maxKeys: number
  /** How many hits in the time that a slice is meant to last make a caller worth one. */
  readonly minHits: number
}

/** What a rule says about the slices of its counters. */
export interface SliceTerms {
  readonly limit: Limit
  readonly syncMs: number | undefined
  readonly timeoutMs: number
}

/** A cost that a slice lacks, and how long it may wait for it. */
export interface SliceWant {
  readonly cost: number
  readonly timeoutMs: number
  /** It is to be lent on: the slice does not spend it. */
  readonly isForOthers?: boolean
}

/** What was not used for this long goes back. */
const IDLE_MS = 2_000
/** Per slice to keep, this many places count the visits of callers without a slice. */
const VISITS_PER_SLICE = 2
/**
 * An eventual slice asks at every interval in which it was used, and holds nothing. A caller is worth one when it comes
 * as often in this many intervals as others do while a slice lasts: one exchange, which costs more, then replaces four
 * trips.
 */
const EVENTUAL_INTERVALS = 4
/**
 * A slice is at most a quarter of the remaining budget. Where that is less than twice what makes it worthwhile, the
 * parent decides.
 */
const ROOM_PER_HIT = 8
/** Giving back may take longer than deciding: no request waits for it. */
const RETURN_TIMEOUT_MS = 1_000

/**
 * Keeps the slices of a node. At most one request is in flight for each; costs that lack budget wait for it, and the
 * next request asks for all of them. One timer has slices report what they spent, and be given back.
 */
export class Slices {
  readonly #owner: SliceOwner
  readonly #slices = new Map<string, Slice>()
  readonly #order = new UseOrder<Slice>()
  /** Of callers without a slice. */
  readonly #visits: Visits
  /** Slices that are being given back and are removed once they have been. */
  readonly #leaving = new Set<Slice>()
  readonly #whenGone: (() => void)[] = []
  readonly #wheel: Wheel
  readonly #isTimed: boolean
  readonly #canBorrow: boolean
  /** How long a refusal is remembered at most. */
  maxRefusalMs = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #exchanges = 0
  #evicted = 0
  #recalls = 0
  #names = 0

  constructor(owner: SliceOwner, isTimed: boolean) {
    this.#owner = owner
    this.#isTimed = isTimed
    this.#canBorrow = owner.lender !== NO_LENDER
    this.#wheel = new Wheel(owner.clock.nowMs())
    this.#visits = new Visits(owner.minHits > 1 ? VISITS_PER_SLICE * owner.maxKeys : 0)
  }

  /** Returns whether a charge is counted by a slice. Where there is no lender, none is. */
  counts({ policy, limit }: Charge): boolean {
    const consistency = policy?.consistency
    if (consistency !== 'leased' && consistency !== 'eventual') return false
    return this.#canBorrow && isLeasable(limit)
  }

  get timeoutMs(): number {
    return this.#owner.timeoutMs()
  }

  get size(): number {
    return this.#slices.size + this.#leaving.size
  }

  get exchanges(): number {
    return this.#exchanges
  }

  /** Slices that made room for others before they were idle. */
  get evicted(): number {
    return this.#evicted
  }

  /** Slices that another node asked back, and that had something to give. */
  get recalls(): number {
    return this.#recalls
  }

  /** What all slices hold. */
  get held(): number {
    let held = 0
    for (const slice of this.#slices.values()) if (slice.kind === 'leased') held += Math.max(0, slice.inHand)
    return held
  }

  /** Returns the slice of a key, or a new one. One of another limit gives back what it has first. */
  find(key: string, terms: SliceTerms, nowMs: number): Slice {
    const known = this.#slices.get(key)
    if (known === undefined) return this.#add(key, terms, nowMs)
    const isOther = known.limit.space !== terms.limit.space || known.syncMs !== terms.syncMs
    if (!isOther) {
      if (known.limit !== terms.limit) known.change(terms.limit)
      return known
    }
    this.#leave(known, nowMs)
    return this.#add(key, terms, nowMs)
  }

  /** Returns the slice of a key, if there is one. */
  get(key: string): Slice | undefined {
    return this.#slices.get(key)
  }

  /** Marks a slice as used: the least recently used are evicted to make room. */
  use(slice: Slice): void {
    this.#order.use(slice)
  }

  /**
   * Counts a visit of a caller without a slice, and says whether it should have one: a slice that is not used costs two
   * exchanges, where asking the parent costs one. Nor does it pay to take the place of one that is in use.
   */
  paysFor(key: string, limit: Limit, syncMs: number | undefined, nowMs: number): boolean {
    const { minHits, maxKeys } = this.#owner
    const withinMs = syncMs === undefined ? reportMsOf(limit, undefined) : EVENTUAL_INTERVALS * syncMs
    if (minHits > 1 && this.#visits.add(key, nowMs, withinMs) < minHits) return false
    const { oldest } = this.#order
    return oldest === undefined || this.#slices.size < maxKeys || nowMs - oldest.lastUsedMs >= oldest.size.reportMs
  }

  /** Returns whether the parent had better decide about a cost than the slice ask for it. */
  isBare(slice: Slice, cost: number): boolean {
    if (slice.kind === 'eventual' || this.#owner.minHits === 1 || cost <= slice.inHand) return false
    return slice.isGivingBack || (slice.isShort && !slice.isAsking)
  }

  /** Records how much the parent had left of a leased counter when it decided. */
  learn({ key, policy }: Charge, remaining: number): void {
    const { minHits } = this.#owner
    if (minHits === 1 || policy?.consistency === 'eventual') return
    const hasRoom = remaining >= ROOM_PER_HIT * minHits
    const slice = this.#slices.get(key)
    if (slice !== undefined) slice.isShort = !hasRoom
    else if (!hasRoom) this.#visits.forget(key)
  }

  /** Waits until a slice has a cost, which is then spent, or is known not to get it. */
  request(slice: Slice, { cost, timeoutMs, isForOthers = false }: SliceWant, nowMs: number): MaybePromise<boolean> {
    slice.timeoutMs = timeoutMs
    const waiter = newWaiter(cost, nowMs + timeoutMs, isForOthers)
    slice.waiting.push(waiter)
    // Giving back may take long. A request that cannot wait for it overtakes: the lender takes none after a later one.
    if (slice.isAskingPast(waiter.dueAtMs)) slice.failed()
    if (!slice.isAsking) this.#send(slice, nowMs)
    return answerOf(waiter)
  }

  /** Gives a slice back permanently, and waits until what it has spent is reported. */
  dismiss(slice: Slice, timeoutMs: number, nowMs: number): MaybePromise<boolean> {
    // Another charge of the same group may have sent it away already.
    if (slice.life === 'gone') return true
    const isSent = this.request(slice, { cost: 0, timeoutMs }, nowMs)
    this.#leave(slice, nowMs)
    return isSent
  }

  /** Asks in advance. */
  refill(slice: Slice, nowMs: number): void {
    this.#send(slice, nowMs)
  }

  /** Gives back what a slice holds unused: another node needs it. */
  recall(key: string): void {
    const slice = this.#slices.get(key)
    if (slice === undefined || slice.kind === 'eventual' || slice.isAsking || slice.inHand <= 0) return
    this.#recalls++
    this.#send(slice, this.#owner.clock.nowMs(), true)
  }

  /**
   * beginAnew has the slice of a key forget everything: its counter was reset. One that is asking stays as it is, and
   * learns of it with its next request: a lender that has forgotten it takes it as new.
   */
  restart(key: string): void {
    const slice = this.#slices.get(key)
    if (slice === undefined) return
    const nowMs = this.#owner.clock.nowMs()
    if (slice.isAsking) slice.clear(nowMs)
    else slice.restart(nowMs)
  }

  /** Returns the keys that have a slice. */
  keys(): Iterable<string> {
    return this.#slices.keys()
  }

  clearAll(nowMs: number): void {
    for (const slice of this.#slices.values()) slice.clear(nowMs)
  }

  /** Reports what was spent, gives back what is idle, and forgets what is settled. */
  tick(): void {
    const nowMs = this.#owner.clock.nowMs()
    for (const slice of this.#wheel.due(nowMs)) if (slice.life === 'kept') this.#look(slice, nowMs)
    if (this.#slices.size === 0 && this.#leaving.size === 0) this.#stop()
  }

  /** Gives everything back, and resolves when that is answered, or has failed. */
  async returnAll(): Promise<void> {
    const nowMs = this.#owner.clock.nowMs()
    for (const slice of [...this.#slices.values()]) this.#leave(slice, nowMs)
    this.#stop()
    if (this.#leaving.size > 0) await new Promise<void>((resolve) => this.#whenGone.push(resolve))
  }

  #add(key: string, { limit, syncMs, timeoutMs }: SliceTerms, nowMs: number): Slice {
    const { leaseMs, maxKeys } = this.#owner
    if (this.#slices.size >= maxKeys && this.#order.oldest !== undefined) {
      this.#evicted++
      this.#leave(this.#order.oldest, nowMs)
    }
    const slice = new Slice({ key, limit, newName: this.#newName, leaseMs, syncMs, timeoutMs }, nowMs)
    this.#slices.set(key, slice)
    this.#order.use(slice)
    this.#wheel.add(slice, syncMs ?? TICK_MS, nowMs)
    this.#start()
    return slice
  }

  /** Returns what the wheel brings a slice up for. */
  #look(slice: Slice, nowMs: number): void {
    const isIdle = nowMs - slice.lastUsedMs >= IDLE_MS
    slice.runOutBy(nowMs)
    if (!slice.lent.isEmpty) slice.lent.settle(nowMs, lentCounter(slice, nowMs))
    if (isIdle && slice.isSettled && !slice.isRefused(Number.POSITIVE_INFINITY, nowMs)) {
      this.#drop(slice)
      return
    }
    if (!slice.isAsking && ((isIdle && slice.owes) || slice.isDue(nowMs)))
      this.#send(slice, nowMs, isIdle || !this.#pays(slice))
    this.#wheel.add(slice, slice.dueAfterMs(nowMs), nowMs)
  }

  /** Returns whether a slice answered enough since it asked to be worth another exchange. */
  #pays(slice: Slice): boolean {
    const { minHits } = this.#owner
    const least = slice.kind === 'eventual' ? Math.ceil(minHits / EVENTUAL_INTERVALS) : minHits
    return slice.hitsSinceAsked >= least || !slice.lent.isEmpty
  }

  /** Gives a slice back permanently. Waiting costs are served first; the rest of it expires. */
  #leave(slice: Slice, nowMs: number): void {
    this.#slices.delete(slice.key)
    this.#order.remove(slice)
    this.#leaving.add(slice)
    slice.life = 'leaving'
    // When too many wait to be given back, the lender must account for the rest: they expire.
    if (this.#leaving.size > this.#owner.maxKeys && slice.waiting.length === 0) this.#drop(slice)
    else if (!slice.isAsking) this.#goOn(slice, nowMs)
  }

  #drop(slice: Slice): void {
    slice.life = 'gone'
    this.#leaving.delete(slice)
    this.#order.remove(slice)
    if (this.#slices.get(slice.key) === slice) this.#slices.delete(slice.key)
    if (this.#leaving.size === 0) for (const resolve of this.#whenGone.splice(0)) resolve()
  }

  #send(slice: Slice, nowMs: number, givesBack = false): void {
    let need = 0
    let cost = Number.POSITIVE_INFINITY
    let dueAtMs = nowMs + (givesBack ? RETURN_TIMEOUT_MS : slice.timeoutMs)
    for (const waiter of slice.waiting) {
      waiter.isAsked = true
      need += waiter.cost
      // A look asks for the next hit.
      cost = Math.min(cost, Math.max(1, waiter.cost))
      dueAtMs = Math.min(dueAtMs, waiter.dueAtMs)
    }
    const request = slice.ask(nowMs, {
      need,
      cost: cost === Number.POSITIVE_INFINITY ? 1 : cost,
      timeoutMs: Math.max(1, dueAtMs - nowMs),
      givesBack,
    })
    this.#exchanges++
    try {
      const reply = this.#owner.lender.exchange(request)
      if (!(reply instanceof Promise)) this.#answered(slice, request, reply)
      else
        reply.then(
          (value) => this.#answered(slice, request, value),
          (error: unknown) => this.#failed(slice, request, error),
        )
    } catch (error) {
      this.#failed(slice, request, error)
    }
  }

  #answered(slice: Slice, request: SliceRequest, reply: SliceReply): void {
    const nowMs = this.#owner.clock.nowMs()
    if (slice.isCurrent(request)) {
      const { isGivingBack } = slice
      slice.answered(reply, this.maxRefusalMs)
      // What an eventual slice hears late is still the best there is to decide by.
      if (slice.isKnown(nowMs) || slice.kind === 'eventual') this.#serve(slice, reply, nowMs)
      else failAll(slice.waiting, new StoreFault('timeout', 'store', 'the answer came after the lease had expired'))
      if (isGivingBack && this.#isOver(slice, nowMs)) this.#drop(slice)
    }
    if (!slice.isAsking) this.#goOn(slice, nowMs)
  }

  /** Returns whether a slice has given back everything, and knows nothing that would spare a trip. */
  #isOver(slice: Slice, nowMs: number): boolean {
    if (this.#owner.minHits === 1 || slice.life !== 'kept' || slice.waiting.length > 0) return false
    return slice.isSettled && !slice.isRefused(Number.POSITIVE_INFINITY, nowMs)
  }

  /** Hands out what came. What cannot be served is refused, unless the lender has more. */
  #serve(slice: Slice, { free, holders, retryAfterMs, lentRetryAfterMs }: SliceReply, nowMs: number): void {
    const waiting = slice.waiting
    slice.waiting = []
    let isShort = false
    for (const waiter of waiting) {
      const isServed = waiter.isForOthers ? slice.inHand >= waiter.cost : slice.serve(waiter.cost, nowMs)
      if (isServed || waiter.isAsked || free < waiter.cost) settle(waiter, isServed)
      else slice.waiting.push(waiter)
      if (!isServed) isShort = true
    }
    slice.size.got(slice.inHand)
    slice.isShort = slice.inHand < this.#owner.minHits - 1
    const { key, kind } = slice
    if (kind === 'eventual') return
    if (isShort && holders > 1 && retryAfterMs === 0 && lentRetryAfterMs > 0)
      this.#owner.lender.notify({ kind: 'recall', key })
    if (slice.isSecond) this.#owner.lender.notify({ kind: 'shared', key })
  }

  #failed(slice: Slice, request: SliceRequest, error: unknown): void {
    const nowMs = this.#owner.clock.nowMs()
    if (slice.isCurrent(request)) {
      slice.failed()
      // As if nothing had come: the next hit would ask again otherwise, and each after it.
      slice.size.got(slice.inHand)
      failAll(slice.waiting, error)
      // One that leaves and cannot say so is accounted for by the lender.
      if (slice.life === 'leaving') this.#drop(slice)
    } else if (!slice.isAsking) this.#goOn(slice, nowMs)
  }

  /** Sends the next request of a slice, if there is a reason. */
  #goOn(slice: Slice, nowMs: number): void {
    if (slice.life === 'gone') return
    if (slice.waiting.length > 0) this.#send(slice, nowMs)
    else if (slice.life === 'kept') return
    else if (slice.owes) this.#send(slice, nowMs, true)
    else this.#drop(slice)
  }

  readonly #newName = (): string => `${this.#owner.node}${(this.#names++).toString(36)}`

  #start(): void {
    if (this.#timer !== undefined || !this.#isTimed) return
    this.#timer = setInterval(() => this.tick(), TICK_MS)
    this.#timer.unref?.()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
