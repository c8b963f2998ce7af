import { allowedVerdict, refusedVerdict, type Verdict } from '../core/decision.ts'
import { splitStoredKey } from '../core/keys.ts'
import { type Limit, scaleLimit, spaceOf } from '../core/limit.ts'
import { andThen } from './maybe.ts'
import type { Acquired, Charge, HeldPermits, MaybePromise, Notice, Renewal, Store, SyncStore } from './ports.ts'
import { type FaultReason, StoreFault } from './store-fault.ts'

type Mode = 'open' | 'closed' | 'local'

/** Events of a FailurePolicy: decisions that were made without the shared store, and why. */
export interface FailurePolicyEvents {
  fellBack?(mode: 'open' | 'closed' | 'local', reason: FaultReason, shard: string): void
}

const CLOSED_RETRY_MS = 1_000

/**
 * Stands before a shared store and answers when that does not, as each rule says: `open` admits, `closed` refuses,
 * `local` counts in this process with a share of the budget. No fault of the store ever passes it; the store itself
 * keeps its deadlines. A verdict that was made here says so in `fallback`.
 */
export class FailurePolicy implements Store {
  readonly #shared: Store
  readonly #local: SyncStore
  readonly #events: FailurePolicyEvents
  readonly #localLimits = new WeakMap<Limit, Map<number, Limit>>()

  /** By shard: since when it fails, and when it did last. */
  readonly #outages = new Map<string, { sinceMs: number; lastMs: number }>()
  readonly #now: () => number
  /** How often everything was forgotten. What is counted after that has other keys. */
  #generation = 0

  constructor(shared: Store, local: SyncStore, events: FailurePolicyEvents = {}, now = () => performance.now()) {
    this.#now = now
    this.#shared = shared
    this.#local = local
    this.#events = events
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    return this.#guard(
      () => this.#shared.decide(charges),
      (fault) => this.#fallBack(charges, fault, (locals) => this.#local.decide(locals)),
    )
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    return this.#guard(
      () => this.#shared.acquire(charges),
      (fault) => {
        let permits: HeldPermits | undefined
        const verdicts = this.#fallBack(charges, fault, (locals) => {
          const acquired = this.#local.acquire(locals)
          permits = acquired.permits && { ...acquired.permits, isLocal: true }
          return acquired.verdicts
        })
        return { verdicts, permits }
      },
    )
  }

  /** Gives permits back. While the store is unavailable, they expire. */
  release(permits: HeldPermits): MaybePromise<void> {
    if (isLocal(permits)) return this.#local.release(permits)
    return this.#guard(
      () => this.#shared.release(permits),
      () => {},
    )
  }

  /** Renews permits where they were taken. While the store is unavailable, they are missed. */
  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    if (!permits.some(isLocal)) return this.#renewShared(permits)
    const locals = permits.filter(isLocal)
    const here = this.#local.renew(locals)
    if (locals.length === permits.length) return here
    return andThen(this.#renewShared(permits.filter((each) => !isLocal(each))), (there) => {
      const next = { here: 0, there: 0 }
      return permits.map((each) => (isLocal(each) ? here[next.here++] : there[next.there++]))
    })
  }

  #renewShared(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#guard<readonly Renewal[]>(
      () => this.#shared.renew(permits),
      () => permits.map(() => 'missed'),
    )
  }

  async reset(key: string, limit: Limit): Promise<void> {
    this.#local.reset(this.#localKey(key), limit)
    await this.#shared.reset(key, limit)
  }

  /**
   * Forgets what this process has counted of counters that were reset anywhere. Keys cannot be matched to a domain
   * here: when a domain is reset, everything counted without the shared store is forgotten.
   */
  noticed({ kind, key: stored }: Notice): void {
    if (kind === 'reset_domain') this.#generation++
    if (kind !== 'reset') return
    const { key, shape } = splitStoredKey(stored)
    this.#local.reset(this.#localKey(key), { shape, space: spaceOf(shape) })
  }

  async close(): Promise<void> {
    this.#local.close()
    await this.#shared.close()
  }

  #guard<T>(ask: () => MaybePromise<T>, answer: (fault: StoreFault) => T): MaybePromise<T> {
    try {
      const result = ask()
      return result instanceof Promise ? result.catch((error: unknown) => answer(faultOf(error))) : result
    } catch (error) {
      return answer(faultOf(error))
    }
  }

  /** Answers every charge as its rule says. When one that enforces is closed, nothing is charged locally. */
  #fallBack(
    charges: readonly Charge[],
    { reason, shard }: StoreFault,
    decideLocally: (locals: readonly Charge[]) => readonly Verdict[],
  ): readonly Verdict[] {
    const modes = this.#modesOf(charges, shard)
    const isClosed = charges.some((charge, i) => charge.enforce && modes[i] === 'closed')
    const locals = charges
      .filter((_, i) => modes[i] === 'local')
      .map((charge) => ({
        ...charge,
        key: this.#localKey(charge.key),
        limit: this.#localLimit(charge),
        cost: isClosed ? 0 : charge.cost,
      }))
    const answers = locals.length === 0 ? [] : decideLocally(locals)
    let next = 0
    return charges.map((charge, i): Verdict => {
      const mode = modes[i]
      this.#events.fellBack?.(mode, reason, shard)
      if (mode === 'local') return { ...answers[next++], fallback: 'local' }
      return mode === 'open' ? openVerdict(charge) : closedVerdict(charge)
    })
  }

  /**
   * Returns what each rule does now. One that admits for a time counts locally when the outage of the shard has lasted
   * longer. An outage is over when for as long as that nothing has failed.
   */
  #modesOf(charges: readonly Charge[], shard: string): readonly Mode[] {
    const nowMs = this.#now()
    const outage = this.#outages.get(shard) ?? { sinceMs: nowMs, lastMs: nowMs }
    const longestMs = charges.reduce((most, { policy }) => Math.max(most, policy?.openForMs ?? 0), 0)
    if (longestMs > 0 && nowMs - outage.lastMs > longestMs) outage.sinceMs = nowMs
    outage.lastMs = nowMs
    this.#outages.set(shard, outage)
    return charges.map(({ policy }): Mode => {
      const { onStoreFailure = 'local', openForMs = 0 } = policy ?? {}
      const isOver = openForMs > 0 && nowMs - outage.sinceMs >= openForMs
      return onStoreFailure === 'open' && isOver ? 'local' : onStoreFailure
    })
  }

  #localKey(key: string): string {
    return this.#generation === 0 ? key : `${this.#generation} ${key}`
  }

  /** The share of a limit that this process alone may admit. */
  #localLimit({ limit, policy }: Charge): Limit {
    const share = policy?.localShare ?? 1
    const known = this.#localLimits.get(limit) ?? new Map<number, Limit>()
    this.#localLimits.set(limit, known)
    const scaled = known.get(share) ?? scaleLimit(limit, share)
    known.set(share, scaled)
    return scaled
  }
}

function isLocal(permits: HeldPermits): boolean {
  return permits.isLocal === true
}

function openVerdict({ limit: { max: limit } }: Charge): Verdict {
  return { ...allowedVerdict(limit, limit, 0), fallback: 'open' }
}

function closedVerdict({ limit: { max: limit } }: Charge): Verdict {
  return { ...refusedVerdict(limit, 0, CLOSED_RETRY_MS, CLOSED_RETRY_MS), fallback: 'closed' }
}

/** Makes a StoreFault of anything that a store threw. */
function faultOf(error: unknown): StoreFault {
  return error instanceof StoreFault ? error : new StoreFault('broken', 'store', String(error))
}
