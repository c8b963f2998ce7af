import type { Verdict } from '../core/decision.ts'
import { isLeasable, type Limit } from '../core/limit.ts'

/** A value now, or a promise of it where the answer needs a round trip. */
export type MaybePromise<T> = T | Promise<T>

/** A Charge asks one counter for `cost` under `limit`. */
export interface Charge {
  readonly key: string
  readonly limit: Limit
  /** Above 0 charges, 0 looks: it is answered as the next hit would be. Below 0 refunds. */
  readonly cost: number
  /**
   * True for a late charge, of what has happened already: it is made whether it fits or not, into a debt of one whole budget
   * at the most, and stops nothing. Its verdict says `allowed`, and what was `dropped`. Not for `concurrency`.
   */
  readonly debit?: boolean
  /** False for a shadow rule: its refusal is reported but stops nothing. */
  readonly enforce: boolean
  /** True for a rule in quota mode: the group is refused only when all of those refuse. */
  readonly quota?: boolean
  /** What to do when the store does not answer. */
  readonly policy?: ChargePolicy
}

/** A ChargePolicy is what a rule says about the store: how exact it counts, and what happens when it does not answer. */
export interface ChargePolicy {
  /** Default: exact. */
  readonly consistency?: 'exact' | 'leased' | 'eventual'
  /** eventual: how often counts are exchanged. */
  readonly syncIntervalMs?: number
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  /** open: how long an outage is admitted before it is counted locally. Default: 0, without end. */
  readonly openForMs?: number
  /** local: the share of the budget that this node may admit by itself. */
  readonly localShare: number
  /** How long the store may take. Default: as long as the store is told. */
  readonly timeoutMs?: number | undefined
}

/**
 * mayBeLent says whether slices of a charge's counter may be out. A store that lends counts those as spent, and refuses with
 * `lent` what would fit without them.
 */
export function mayBeLent({ policy, limit, cost, debit }: Charge): boolean {
  return policy?.consistency === 'leased' && cost >= 0 && debit !== true && isLeasable(limit)
}

/** isRefused says whether a group is refused: an enforcing charge does not fit, or none of those in quota mode does. */
export function isRefused(charges: readonly Charge[], verdicts: readonly Verdict[]): boolean {
  let quotas = 0
  let quotasRefused = 0
  for (let i = 0; i < charges.length; i++) {
    const { enforce, quota } = charges[i]
    if (!enforce) continue
    if (quota === true) {
      quotas++
      if (!verdicts[i].allowed) quotasRefused++
    } else if (!verdicts[i].allowed) return true
  }
  return quotas > 0 && quotas === quotasRefused
}

/** HeldPlaces are permits in one counter. */
export interface HeldPlaces extends Pick<Charge, 'key' | 'limit'> {
  /**
   * How many. Undefined where the holder may have ended without a word: then they are renewed while they are held, and never
   * taken again.
   */
  readonly places?: number
}

/** HeldPermits are what `acquire` took and `release` gives back: an id of the store's own, and the counters they are held in. */
export interface HeldPermits {
  readonly id: number | string
  readonly held: readonly HeldPlaces[]
  /** Taken in this process, while the shared store was away. */
  readonly isLocal?: boolean
  /** For Renewals alone: where they are in its list. Stores set it to -1, so that it is there without another object. */
  keptAt?: number
}

/** RENEWALS are what becomes of permits that are renewed, from the best to the worst. */
export const RENEWALS = ['held', 'retaken', 'overrun', 'lost', 'missed'] as const

/**
 * A Renewal is what became of permits. `held`: their time begins anew. `retaken`: it was over, and they were taken again;
 * `overrun`: the same, although there was no room: whom they belong to is at work in any case. `lost`: it was over, and they were
 * not taken again. `missed`: the store did not answer.
 */
export type Renewal = (typeof RENEWALS)[number]

export interface Acquired {
  readonly verdicts: readonly Verdict[]
  /** Undefined when the group was refused: nothing was taken. */
  readonly permits: HeldPermits | undefined
}

/**
 * A Store keeps counters and decides about groups of charges, each atomically: when every enforcing charge fits, all
 * that fit are charged; when one does not, none is. Time is the store's own.
 */
export interface Store {
  /** decide answers every charge, in order. Charges on `concurrency` limits only look: places are taken by acquire. */
  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]>
  /** acquire is decide, and takes the places of `concurrency` limits as well. */
  acquire(charges: readonly Charge[]): MaybePromise<Acquired>
  /** release gives permits back. To release what has ended, or was released before, is no error. */
  release(permits: HeldPermits): MaybePromise<void>
  /** renew has the time of permits begin anew, of all in a list that is not empty, and says what became of each. */
  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]>
  /** reset forgets a counter: the key has its whole budget again. */
  reset(key: string, limit: Limit): MaybePromise<void>
  close(): MaybePromise<void>
}

/** A SyncStore answers at once: nothing on its path allocates a promise. */
export interface SyncStore extends Store {
  decide(charges: readonly Charge[]): readonly Verdict[]
  /** decideOne is decide for a single charge, without the lists. */
  decideOne(key: string, limit: Limit, cost: number): Verdict
  acquire(charges: readonly Charge[]): Acquired
  release(permits: HeldPermits): void
  renew(permits: readonly HeldPermits[]): readonly Renewal[]
  reset(key: string, limit: Pick<Limit, 'shape' | 'space'>): void
  close(): void
}

/**
 * A SliceRequest is what a holder of slices of one counter tells its lender, and asks of it. It says everything in
 * absolute numbers, so that one that is lost, late or repeated does no harm: the lender charges the difference to what it
 * knows, and takes no request for an older one than it has seen.
 */
export interface SliceRequest {
  readonly key: string
  readonly limit: Limit
  readonly holder: string
  /** Rises with every request of the holder about this counter. */
  readonly sequence: number
  /** What the holder has spent in all. */
  readonly spent: number
  /** Of that, what the lender has confirmed: all that a lender who has forgotten the holder was told. */
  readonly confirmed: number
  /** What it holds and has not spent, and does not give back. */
  readonly keep: number
  /** What it wants now: granted as far as there is budget. */
  readonly need: number
  /** What it would like in advance: granted from a share of what is left, which is nothing near the limit. */
  readonly ahead: number
  /** The smallest cost that waits for the answer, for `retryAfterMs`. */
  readonly cost: number
  /** For how long the holder spends what it gets here, on its own clock, from the moment of asking. */
  readonly leaseMs: number
  /** How long the answer may take. */
  readonly timeoutMs: number
}

/** A SliceReply is the lender's answer. */
export interface SliceReply {
  /** A request that came after a later one: it changed nothing. */
  readonly isStale: boolean
  /** All that the holder may have in its hands: what it keeps, and what was granted. */
  readonly held: number
  /** For how long, from the moment of asking. */
  readonly leaseMs: number
  /** What is left beside all slices. */
  readonly free: number
  /** How many holders have something in their hands. */
  readonly holders: number
  readonly resetAfterMs: number
  /** Until the counter by itself has room for `cost`. 0 when it has, also when all of that is lent. */
  readonly retryAfterMs: number
  /** The same, if every slice that is out were spent now. */
  readonly lentRetryAfterMs: number
}

/** A Notice is what the nodes that share a store tell each other about the counters of a key. */
export interface Notice {
  /**
   * clear: there is budget again before its time. recall: somebody needs what others hold unused. shared: who held it
   * alone does not any more. reset: the counter was forgotten, and with it what was lent of it. reset_domain: all counters
   * of a domain were. reset_caller: who knows counters of this caller is to reset them. ask: who listens is to answer a question
   * of a node, in a note.
   */
  readonly kind: 'clear' | 'recall' | 'shared' | 'reset' | 'reset_domain' | 'reset_caller' | 'ask'
  /**
   * reset: the key with the limit's shape, as it is stored. reset_domain: the domain, as keys spell it. reset_caller: `customer ID`
   * or `key ID`. ask: the question.
   */
  readonly key: string
}

/** A NoticeListener hears what other nodes tell. */
export interface NoticeListener {
  noticed(notice: Notice): void
  /** Whether notices arrive from now on. Some may have been missed when they did not. */
  connected(isConnected: boolean): void
}

/**
 * A Lender gives slices of a counter's budget away. What is out counts whole against the limit until it is spent or
 * returned; what a holder has spent is charged when it is told; what a holder does not account for is charged when twice
 * its lease has passed.
 */
export interface Lender {
  /** Its reset tells every node by itself. */
  readonly tellsResets?: boolean
  exchange(request: SliceRequest): MaybePromise<SliceReply>
  /** notify tells every node that shares the store, this one included or not. It may be lost. */
  notify(notice: Notice): void
  /** listen hears notices until the function that it returns is called. */
  listen(listener: NoticeListener): () => void
}

/** A LendingStore is a store whose counters can also be asked through slices. */
export type LendingStore = Store & Lender
