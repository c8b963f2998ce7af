import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { isOfDomain, splitStoredKey, storedKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type Lender,
  type LendingStore,
  type MaybePromise,
  type Notice,
  type NoticeListener,
  type Renewal,
  type SliceReply,
  type SliceRequest,
  type Store,
} from '../../engine/ports.ts'
import { lenderOf, NO_LENDER } from '../lending/can-lend.ts'
import { type Found, findSlices, sliceFor, sliceOf } from './find-slices.ts'
import { Group, isTooMuch } from './group.ts'
import { LeaseClock } from './lease-clock.ts'
import { lend } from './lend.ts'
import { Refusals } from './refusals.ts'
import type { Slice } from './slice.ts'
import { type SliceOwner, Slices } from './slices.ts'

export interface LeasedStoreOptions {
  /** The maximum number of slices, and of refusals, to keep; up to about 1 kB each. Default: 50,000. */
  readonly maxKeys?: number
  /**
   * How many hits of a caller, in the time that a slice is meant to last or in four intervals of an eventual rule, make
   * it worth one. Until then the parent decides. 1: the first hit takes a slice. Default: 16.
   */
  readonly minHits?: number
  /** For how long a slice is spent after it was asked for. The lender waits twice as long. Default: 5,000. */
  readonly leaseMs?: number
  /** Returns how long the parent may take where a rule does not say. Default: 5 ms. */
  readonly timeoutMs?: () => number
  /** For tests. */
  readonly clock?: Clock
  /** For tests: the name of this node among all that share the parent. Default: random. */
  readonly node?: string
  /** False: the caller calls `tick`. Default: true. */
  readonly isTimed?: boolean
}

/** Counts what a leased store did, since it was made. */
export interface LeasedStats {
  /** Decisions on groups of charges. */
  readonly decisions: number
  /** How many of them waited for the parent. */
  readonly asked: number
  /** Refused without asking. */
  readonly refusedHere: number
  /** Requests to the parent about slices, in the background or not. */
  readonly exchanges: number
  /** Slices that were evicted to make room, and slices that another node recalled. */
  readonly slicesEvicted: number
  readonly recalls: number
  /** Slices kept now, and what they hold in all. */
  readonly slices: number
  readonly held: number
  readonly refusals: number
}

const DEFAULT_MAX_KEYS = 50_000
const DEFAULT_LEASE_MS = 5_000
const DEFAULT_TIMEOUT_MS = 5
const DEFAULT_MIN_HITS = 16
/** While no notices arrive, a refusal is not kept for longer: another node may have reset the counter. */
const MAX_UNHEARD_MS = 1_000

/**
 * Answers from memory what its parent need not be asked: rules that are `leased`, from slices of their budget; rules
 * that are `eventual`, from what was left a moment ago; and keys that are known to be refused. Everything else goes to
 * the parent, in one call. It lends on what it holds, so that a leased store can be the parent of another.
 *
 * The parent may be any store. Under one that cannot lend, every rule is exact.
 */
export class LeasedStore implements LendingStore {
  readonly #parent: Store
  /** The parent, where it can lend. */
  readonly #lender: Lender
  readonly #clock: Clock
  readonly #slices: Slices
  readonly #refusals: Refusals
  readonly #stopListening: () => void
  #decisions = 0
  #asked = 0
  #refusedHere = 0

  constructor(parent: Store, options: LeasedStoreOptions = {}) {
    const { maxKeys = DEFAULT_MAX_KEYS, leaseMs = DEFAULT_LEASE_MS, clock = new LeaseClock() } = options
    this.#parent = parent
    this.#lender = lenderOf(parent)
    this.#clock = clock
    const timeoutMs = options.timeoutMs ?? (() => DEFAULT_TIMEOUT_MS)
    const owner: SliceOwner = {
      lender: this.#lender,
      clock,
      maxKeys,
      leaseMs,
      timeoutMs,
      minHits: options.minHits ?? DEFAULT_MIN_HITS,
      node: options.node ?? randomBytes(6).toString('base64url'),
    }
    this.#slices = new Slices(owner, options.isTimed ?? true)
    this.#refusals = new Refusals(maxKeys)
    this.#stopListening = this.#lender.listen({
      noticed: (notice) => this.#noticed(notice),
      connected: (isConnected) => {
        this.#slices.maxRefusalMs = isConnected ? Number.POSITIVE_INFINITY : MAX_UNHEARD_MS
        this.#refusals.clear(clock.nowMs())
        this.#slices.clearAll(clock.nowMs())
      },
    })
  }

  readonly notifiesResets = true

  get canLend(): boolean {
    return this.#lender !== NO_LENDER
  }

  get stats(): LeasedStats {
    return {
      decisions: this.#decisions,
      asked: this.#asked,
      refusedHere: this.#refusedHere,
      exchanges: this.#slices.exchanges,
      slicesEvicted: this.#slices.evicted,
      recalls: this.#slices.recalls,
      slices: this.#slices.size,
      held: this.#slices.held,
      refusals: this.#refusals.size,
    }
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    const nowMs = this.#clock.nowMs()
    this.#decisions++
    if (charges.length === 1 && isSpendable(charges[0])) return this.#decideOne(charges, nowMs)
    const found = findSlices(charges, this.#slices, this.#refusals, nowMs)
    if (this.#areUnknown(charges, found, nowMs)) return this.#decideThere(charges, nowMs)
    return this.#decideGroup(new Group(charges, found, this.#slices, this.#refusals, nowMs), nowMs)
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    const nowMs = this.#clock.nowMs()
    this.#decisions++
    const found = findSlices(charges, this.#slices, this.#refusals, nowMs)
    const group = new Group(charges, found, this.#slices, this.#refusals, nowMs)
    if (!this.#isDone(group)) return this.#askFor(group, (remote) => this.#parent.acquire(remote))
    const verdicts = this.#close(group, nowMs)
    return { verdicts, permits: isRefused(charges, verdicts) ? undefined : NOTHING_HELD }
  }

  release(lease: HeldPermits): MaybePromise<void> {
    return lease.held.length === 0 ? undefined : this.#parent.release(lease)
  }

  /** Returns the parent's: permits are not lent. */
  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#parent.renew(permits)
  }

  /** Resets a counter and what is lent of it, and notifies all nodes. */
  async reset(key: string, limit: Limit): Promise<void> {
    await this.#parent.reset(key, limit)
    if (this.#lender.notifiesResets !== true) this.#lender.notify({ kind: 'reset', key: storedKey(key, limit) })
    this.#restart(key)
  }

  /** Lends a part of what this node holds. */
  async exchange(request: SliceRequest): Promise<SliceReply> {
    return await lend(request, this.#slices, this.#clock)
  }

  notify(notice: Notice): void {
    this.#lender.notify(notice)
  }

  listen(listener: NoticeListener): () => void {
    return this.#lender.listen(listener)
  }

  /** Reports what was spent and gives back what is idle. Runs on a timer unless the options disable it. */
  tick(): void {
    this.#slices.tick()
  }

  /** Gives all slices back. What comes later takes new ones. */
  async drain(): Promise<void> {
    await this.#slices.returnAll()
  }

  async close(): Promise<void> {
    this.#stopListening()
    await this.drain()
    await this.#parent.close()
  }

  /** Like decide for a single charge, nearly always without asking. */
  #decideOne(charges: readonly Charge[], nowMs: number): MaybePromise<readonly Verdict[]> {
    const [charge] = charges
    const slice = sliceOf(charge, this.#slices, this.#refusals, nowMs)
    const verdict = slice === undefined ? undefined : this.#decideHere(charge.cost, slice, nowMs)
    if (verdict !== undefined) return [verdict]
    if (slice !== undefined && !this.#slices.isBare(slice, charge.cost))
      return this.#decideByAsking(charge, slice, nowMs)
    const refusal = this.#refusals.find(charge.key, charge.limit, charge.cost, nowMs)
    if (refusal !== undefined) {
      this.#refusedHere++
      return [refusal]
    }
    const former = slice === undefined ? this.#slices.get(charge.key) : undefined
    if (former === undefined) return this.#decideThere(charges, nowMs)
    const found = { slices: [undefined], former: [former] }
    return this.#decideGroup(new Group(charges, found, this.#slices, this.#refusals, nowMs), nowMs)
  }

  /** Answers a cost from a slice, if that knows the answer. */
  #decideHere(cost: number, slice: Slice, nowMs: number): Verdict | undefined {
    if (slice.take(cost, nowMs)) {
      if (slice.wantsMore) this.#slices.refill(slice, nowMs)
      return slice.verdict(true, nowMs)
    }
    if (!slice.isRefused(cost, nowMs)) return undefined
    this.#refusedHere++
    return slice.verdict(false, nowMs)
  }

  /** Lets the slice of a single charge ask for what it lacks. */
  #decideByAsking({ cost, policy }: Charge, slice: Slice, nowMs: number): MaybePromise<readonly Verdict[]> {
    this.#asked++
    const verdictOf = (isServed: boolean): readonly Verdict[] => [slice.verdict(isServed, slice.lastUsedMs, true)]
    const served = this.#slices.request(slice, { cost, timeoutMs: this.#timeoutOf(policy) }, nowMs)
    return served instanceof Promise ? served.then(verdictOf) : verdictOf(served)
  }

  #timeoutOf(policy: Charge['policy']): number {
    return policy?.timeoutMs ?? this.#slices.timeoutMs
  }

  #decideGroup(group: Group, nowMs: number): MaybePromise<readonly Verdict[]> {
    if (this.#isDone(group)) return this.#close(group, nowMs)
    return this.#askFor(group, this.#decideRemote).then(({ verdicts }) => verdicts)
  }

  readonly #decideRemote = async (remote: readonly Charge[]): Promise<Acquired> => ({
    verdicts: await this.#parent.decide(remote),
    permits: undefined,
  })

  /** Returns whether nothing is known here of a group: its charges have no slices, and are not known to be refused. */
  #areUnknown(charges: readonly Charge[], { slices, former }: Found, nowMs: number): boolean {
    if (former.length > 0) return false
    for (let i = 0; i < charges.length; i++) {
      const { key, limit, cost, debit } = charges[i]
      if (cost < 0 || slices[i] !== undefined) return false
      if (isTooMuch(charges[i]) && this.#slices.counts(charges[i])) return false
      if (cost > 0 && debit !== true && this.#refusals.find(key, limit, cost, nowMs) !== undefined) return false
    }
    return true
  }

  /** Leaves a group to the parent: a Group would cost half as much again. */
  #decideThere(charges: readonly Charge[], askedAtMs: number): MaybePromise<readonly Verdict[]> {
    this.#asked++
    const keep = (verdicts: readonly Verdict[]): MaybePromise<readonly Verdict[]> => {
      let isLent = false
      for (let i = 0; i < charges.length; i++) {
        this.#learn(charges[i], verdicts[i], askedAtMs)
        if (verdicts[i].lent) isLent = true
      }
      return isLent ? this.#decideAgain(charges, verdicts) : verdicts
    }
    const answer = this.#parent.decide(charges)
    return answer instanceof Promise ? answer.then(keep) : keep(answer)
  }

  /** Decides again where the parent refused because of slices that are out. */
  #decideAgain(charges: readonly Charge[], verdicts: readonly Verdict[]): MaybePromise<readonly Verdict[]> {
    const nowMs = this.#clock.nowMs()
    const group = new Group(charges, NOTHING_FOUND, this.#slices, NO_REFUSALS, nowMs)
    const isDecided = group.heard(verdicts, this.#newSlice)
    return this.#askFor(group, this.#decideRemote, isDecided).then((answer) => answer.verdicts)
  }

  readonly #newSlice = (charge: Charge): Slice => sliceFor(charge, this.#slices, this.#clock.nowMs())

  /** Remembers what the parent said: refusals, and whether there is enough for slices. */
  #learn(charge: Charge, verdict: Verdict, askedAtMs: number): void {
    const { key, limit, cost } = charge
    if (!verdict.allowed) this.#refusals.add(key, limit, cost, verdict, askedAtMs, this.#slices.maxRefusalMs)
    if (this.#slices.counts(charge)) this.#slices.learn(charge, verdict.remaining)
  }

  /** Returns whether a group is decided without asking. */
  #isDone(group: Group): boolean {
    if (group.isKnownRefused) {
      if (group.lacking.length + group.remote.length > 0) this.#refusedHere++
      return true
    }
    return group.lacking.length === 0 && group.remote.length === 0
  }

  #close(group: Group, nowMs: number): readonly Verdict[] {
    const verdicts = group.close(nowMs, this.#refund)
    for (let i = 0; i < group.charges.length; i++) {
      const slice = group.sliceAt(i)
      if (slice?.wantsMore) this.#slices.refill(slice, nowMs)
    }
    return verdicts
  }

  /** Lets slices ask for what they lack, and then the parent decide the rest, unless it has. */
  async #askFor(
    group: Group,
    ask: (remote: readonly Charge[]) => MaybePromise<Acquired>,
    isDecided = false,
  ): Promise<Acquired> {
    this.#asked++
    try {
      let lease: HeldPermits | undefined = NOTHING_HELD
      let isOver = isDecided
      if (!group.isKnownRefused) await this.#askSlices(group)
      while (!isOver && group.remote.length > 0 && !group.isKnownRefused) {
        const askedAtMs = this.#clock.nowMs()
        const asked = group.remote
        const answer = await ask(group.remoteCharges)
        isOver = group.heard(answer.verdicts, this.#newSlice)
        this.#remember(group.charges, asked, answer.verdicts, askedAtMs)
        lease = answer.permits
        if (!group.isKnownRefused) await this.#askSlices(group)
      }
      const verdicts = this.#close(group, this.#clock.nowMs())
      return { verdicts, permits: isRefused(group.charges, verdicts) ? undefined : lease }
    } catch (error) {
      group.undo(this.#clock.nowMs(), this.#refund)
      throw error
    }
  }

  async #askSlices(group: Group): Promise<void> {
    const { former, lacking } = group
    if (former.length === 0 && lacking.length === 0) return
    group.former = []
    group.lacking = []
    const nowMs = this.#clock.nowMs()
    const answers = await Promise.allSettled([
      ...former.map(async (slice) => this.#slices.dismiss(slice, slice.timeoutMs, nowMs)),
      ...lacking.map(async (i) => {
        const { cost, policy } = group.charges[i]
        const want = { cost, timeoutMs: this.#timeoutOf(policy) }
        group.served(i, await this.#slices.request(group.sliceAt(i), want, nowMs))
      }),
    ])
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
  }

  /** Remembers refusals, and notifies other nodes when a refund ends one. */
  #remember(
    charges: readonly Charge[],
    asked: readonly number[],
    verdicts: readonly Verdict[],
    askedAtMs: number,
  ): void {
    asked.forEach((i, at) => {
      const { key, limit, cost } = charges[i]
      if (cost > 0) this.#learn(charges[i], verdicts[at], askedAtMs)
      else if (cost < 0) {
        // Where more than half was left before, hardly any caller can have been refused.
        if (verdicts[at].remaining + cost <= limit.capacity / 2) this.#notifyClear(key)
        else this.#clear(key)
        const slice = this.#slices.get(key)
        if (slice !== undefined && !slice.isAsking) this.#slices.refill(slice, askedAtMs)
      }
    })
  }

  /**
   * Gives back a charge that was made in excess, and notifies nodes that may have refused because of it. If it is lost,
   * the caller has less budget for a window.
   */
  readonly #refund = (charge: Charge): void => {
    const refund = async (): Promise<void> => {
      await this.#parent.decide([{ ...charge, cost: -charge.cost }])
      this.#notifyClear(charge.key)
    }
    refund().catch(() => {})
  }

  #noticed({ kind, key }: Notice): void {
    if (kind === 'recall') this.#slices.recall(key)
    else if (kind === 'shared') this.#slices.get(key)?.join()
    else if (kind === 'reset') this.#restart(splitStoredKey(key).key)
    else if (kind === 'reset_domain') this.#restartDomain(key)
    else if (kind === 'clear') this.#clear(key)
  }

  /** #beginAnew forgets all that is known here of a counter. */
  #restart(key: string): void {
    this.#refusals.delete(key, this.#clock.nowMs())
    this.#slices.restart(key)
  }

  /** #beginDomainAnew is #beginAnew for all counters of a domain. Refusals of others are asked about again. */
  #restartDomain(domain: string): void {
    this.#refusals.clear(this.#clock.nowMs())
    for (const key of this.#slices.keys()) if (isOfDomain(key, domain)) this.#slices.restart(key)
  }

  /** Notifies all nodes that there may be budget again, whatever cost they refuse. */
  #notifyClear(key: string): void {
    this.#clear(key)
    this.#lender.notify({ kind: 'clear', key })
  }

  #clear(key: string): void {
    const nowMs = this.#clock.nowMs()
    this.#refusals.delete(key, nowMs)
    this.#slices.get(key)?.clear(nowMs)
  }
}

/** Returns whether a charge takes something, if it fits, and not more than there can ever be. */
function isSpendable({ cost, limit, debit }: Charge): boolean {
  return cost > 0 && cost <= limit.capacity && debit !== true
}

const NO_REFUSALS = new Refusals(1)
const NOTHING_FOUND: Found = { slices: [], former: [] }
/** Permits of a group that holds none. */
export const NOTHING_HELD: HeldPermits = Object.freeze({ id: '', held: Object.freeze([]) })
