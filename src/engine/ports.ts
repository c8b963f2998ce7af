import type { Verdict } from '../core/decision.ts'
import { isLeasable, type Limit } from '../core/limit.ts'

/** A value now, or a promise of it where the answer needs a round trip. */
export type MaybePromise<T> = T | Promise<T>

/** Asks one counter for `cost` under `limit`. */
export interface Charge {
  readonly key: string
  readonly limit: Limit
  /** Above 0 charges, 0 looks: it is answered as the next hit would be. Below 0 refunds. */
  readonly cost: number
  /**
   * True for a late charge, of a request that has already happened: it is made whether it fits or not, into a debt of
   * at most one whole budget, and stops nothing. Its verdict is `allowed` and says what was `dropped`. Not for
   * `concurrency`.
   */
  readonly debit?: boolean
  /** False for a shadow rule: its refusal is reported but stops nothing. */
  readonly enforce: boolean
  /** True for a rule in quota mode: the group is refused only when all of those refuse. */
  readonly quota?: boolean
  /** What to do when the store does not answer. */
  readonly policy?: ChargePolicy
}

/** What a rule says about the store: how exact it counts, and what happens when it does not answer. */
export interface ChargePolicy {
  /** Default: exact. */
  readonly consistency?: 'exact' | 'leased' | 'eventual' | 'sampled'
  /** eventual: how often counts are exchanged. */
  readonly syncIntervalMs?: number
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  /** open: how long an outage is admitted before it is counted locally. Default: 0, without end. */
  readonly openForMs?: number
  /** local: the share of the budget that this node alone may admit. */
  readonly localShare: number
  /** How long the store may take. Default: the timeout of the store. */
  readonly timeoutMs?: number | undefined
}

/**
 * Returns whether slices of a charge's counter may be out. A store that lends counts those as spent, and refuses with
 * `lent` what would fit without them.
 */
export function mayBeLent({ policy, limit, cost, debit }: Charge): boolean {
  return policy?.consistency === 'leased' && cost >= 0 && debit !== true && isLeasable(limit)
}

/**
 * Returns whether a group is refused: an enforcing charge does not fit, or none of those in quota mode does. A verdict
 * that is not known yet refuses nothing.
 */
export function isRefused(charges: readonly Charge[], verdicts: readonly (Verdict | undefined)[]): boolean {
  let quotas = 0
  let quotasRefused = 0
  for (let i = 0; i < charges.length; i++) {
    const { enforce, quota } = charges[i]
    if (!enforce) continue
    if (quota === true) {
      quotas++
      if (verdicts[i]?.allowed === false) quotasRefused++
    } else if (verdicts[i]?.allowed === false) return true
  }
  return quotas > 0 && quotas === quotasRefused
}

/** Permits in one counter. */
export interface HeldPlaces extends Pick<Charge, 'key' | 'limit'> {
  /**
   * How many. Undefined where the holder may have ended unnoticed: then they are renewed while they are held, and never
   * taken again.
   */
  readonly places?: number
}

/** What `acquire` took and `release` gives back: an id of the store's own, and the counters they are held in. */
export interface HeldPermits {
  readonly id: number | string
  readonly held: readonly HeldPlaces[]
  /** Acquired in this process, while the shared store was unavailable. */
  readonly isLocal?: boolean
  /**
   * For Renewals alone: where they are in its list. Stores set it to -1, so that it is there without another object.
   */
  keptAt?: number
}

/** What becomes of permits that are renewed, from the best to the worst. */
export const RENEWALS = ['held', 'retaken', 'overrun', 'lost', 'missed'] as const

/**
 * The result of a renewal of permits. `held`: renewed. `retaken`: they had expired and were taken again; `overrun`: the
 * same, although there was no room, because their holder is working anyway. `lost`: they had expired and were not taken
 * again. `missed`: the store did not answer.
 */
export type Renewal = (typeof RENEWALS)[number]

export interface Acquired {
  readonly verdicts: readonly Verdict[]
  /** Undefined when the group was refused: nothing was taken. */
  readonly permits: HeldPermits | undefined
}

/**
 * Keeps counters and decides about groups of charges, each atomically: when every enforcing charge fits, all that fit
 * are charged; when one does not, none is. Time is the store's own.
 */
export interface Store {
  /** Answers every charge, in order. Charges on `concurrency` limits only look: permits are taken by acquire. */
  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]>
  /** Like decide, and takes the places of `concurrency` limits as well. */
  acquire(charges: readonly Charge[]): MaybePromise<Acquired>
  /** Gives permits back. To release what has ended, or was released before, is no error. */
  release(permits: HeldPermits): MaybePromise<void>
  /** Renews all permits in a list that is not empty, and returns the result for each. */
  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]>
  /** Forgets a counter: the key has its whole budget again. */
  reset(key: string, limit: Limit): MaybePromise<void>
  close(): MaybePromise<void>
}

/** A store that answers synchronously: nothing on its path allocates a promise. */
export interface SyncStore extends Store {
  decide(charges: readonly Charge[]): readonly Verdict[]
  /** Like decide for a single charge, without the lists. */
  decideOne(key: string, limit: Limit, cost: number): Verdict
  acquire(charges: readonly Charge[]): Acquired
  release(permits: HeldPermits): void
  renew(permits: readonly HeldPermits[]): readonly Renewal[]
  reset(key: string, limit: Pick<Limit, 'shape' | 'space'>): void
  close(): void
}

/**
 * What a holder of slices of one counter reports to its lender, and asks of it. All numbers are absolute, so that a
 * request that is lost, late or repeated does no harm: the lender charges the difference to what it knows, and ignores
 * requests older than the latest one it has seen.
 */
export interface SliceRequest {
  readonly key: string
  readonly limit: Limit
  readonly holder: string
  /** Rises with every request of the holder about this counter. */
  readonly sequence: number
  /** What the holder has spent in all. */
  readonly spent: number
  /** The part of that which the lender has confirmed, for a lender that has forgotten the holder. */
  readonly confirmed: number
  /** What it holds and has not spent, and does not give back. */
  readonly keep: number
  /** What it wants now: granted as far as there is budget. */
  readonly need: number
  /** What it would like in advance: granted from a share of the remaining budget, which is nothing near the limit. */
  readonly ahead: number
  /** The smallest cost that waits for the answer, for `retryAfterMs`. */
  readonly cost: number
  /** For how long the holder spends what it gets here, on its own clock, from the moment of asking. */
  readonly leaseMs: number
  /** How long the answer may take. */
  readonly timeoutMs: number
}

/** The lender's answer. */
export interface SliceReply {
  /** A request that came after a later one: it changed nothing. */
  readonly isStale: boolean
  /** All that the holder may have in its hands: what it keeps, and what was granted. */
  readonly held: number
  /** For how long, from the moment of asking. */
  readonly leaseMs: number
  /** The budget that remains outside all slices. */
  readonly free: number
  /** How many holders have something in their hands. */
  readonly holders: number
  readonly resetAfterMs: number
  /** Time until the counter alone has room for `cost`. 0 when it has, even if all of that is lent. */
  readonly retryAfterMs: number
  /** The same, if every slice that is out were spent now. */
  readonly lentRetryAfterMs: number
}

/** What the nodes that share a store send each other about the counters of a key. */
export interface Notice {
  /**
   * clear: there is budget again earlier than expected. recall: another node needs what holders have unused. shared: a
   * slice is no longer the only one. reset: the counter was reset, with everything lent of it. reset_domain: all
   * counters of a domain were reset. reset_caller: nodes that know counters of this caller must reset them. ask:
   * listeners should answer a question of a node, in a note.
   */
  readonly kind: 'clear' | 'recall' | 'shared' | 'reset' | 'reset_domain' | 'reset_caller' | 'ask'
  /**
   * reset: the key with the limit's shape, as it is stored. reset_domain: the domain, as keys contain it. reset_caller:
   * `customer ID` or `key ID`. ask: the question.
   */
  readonly key: string
}

/** Receives the notices of other nodes. */
export interface NoticeListener {
  noticed(notice: Notice): void
  /** Whether notices arrive from now on. Some may have been missed when they did not. */
  connected(isConnected: boolean): void
}

/**
 * Lends slices of a counter's budget. Everything lent counts against the limit until it is spent or returned; what a
 * holder has spent is charged when it is reported; what a holder does not account for is charged when twice its lease
 * has passed.
 */
export interface Lender {
  /** Its reset notifies every node. */
  readonly notifiesResets?: boolean
  exchange(request: SliceRequest): MaybePromise<SliceReply>
  /** Sends a notice to every node that shares the store, possibly including this one. It may be lost. */
  notify(notice: Notice): void
  /** Hears notices until the function that it returns is called. */
  listen(listener: NoticeListener): () => void
}

/** What a node reports of one sampled counter. Totals are absolute: a report that is lost or repeated does no harm. */
export interface RateReport {
  readonly key: string
  readonly limit: Limit
  /** The name of the node among all that share the sampler. */
  readonly node: string
  /** What was offered to it since its last report, whether it admitted it or not. */
  readonly offeredPerMs: number
  /** All that it admitted, and the part that no answer has confirmed, for a sampler that has forgotten the node. */
  readonly admitted: number
  readonly recent: number
  /** The rate of the limit, and the burst on top of it. */
  readonly refillPerMs: number
  readonly burst: number
  /** For how long the report stands, unless another takes its place. */
  readonly lifeMs: number
  /** How long the answer may take. */
  readonly timeoutMs: number
}

/** The answer to a RateReport. */
export interface RateReply {
  /** What is offered to all nodes. */
  readonly offeredPerMs: number
  /** What the bucket of all nodes holds. Below 0 after an excess; never beyond one burst, either way. */
  readonly level: number
}

/** Adds up what nodes report of sampled counters. */
export interface Sampler {
  report(report: RateReport): MaybePromise<RateReply>
}

/** A store whose counters can also be asked through slices. */
export type LendingStore = Store & Lender
