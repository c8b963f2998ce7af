import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { splitStoredKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type Lender,
  type MaybePromise,
  type Notice,
  type Renewal,
  type Sampler,
  type Store,
} from '../../engine/ports.ts'
import { LeaseClock } from '../leased/lease-clock.ts'
import { NOTHING_HELD } from '../leased/leased-store.ts'
import { Draws, drawOne, isSampled } from './draws.ts'
import { SampledCounters } from './sampled-counters.ts'

export interface SampledStoreOptions {
  /** The maximum number of counters to keep. Default: 50,000. */
  readonly maxKeys?: number
  /** For tests. */
  readonly clock?: Clock
  /** For tests. Default: Math.random. */
  readonly random?: () => number
  /** False: the caller calls `tick`. Default: true. */
  readonly isTimed?: boolean
}

/** Counts what a sampled store did, since it was made. */
export interface SampledStats {
  /** Counters kept now, and those of them that drop a share of their hits. */
  readonly sampledKeys: number
  readonly sampledDropping: number
  /** Reports of rates, and those without an answer. */
  readonly sampledReports: number
  readonly sampledFailures: number
}

const DEFAULT_MAX_KEYS = 50_000

/**
 * Decides about rules that are `sampled` without asking: each hit is dropped with a probability that the sampler's
 * answers to reports of rates determine. All other charges go to the parent.
 */
export class SampledStore implements Store {
  readonly #parent: Store
  readonly #clock: Clock
  readonly #counters: SampledCounters
  readonly #stopListening: () => void

  constructor(parent: Store & Pick<Lender, 'listen'>, sampler: Sampler, options: SampledStoreOptions = {}) {
    const { clock = new LeaseClock(), maxKeys = DEFAULT_MAX_KEYS, random = Math.random } = options
    this.#parent = parent
    this.#clock = clock
    const name = randomBytes(6).toString('base64url')
    this.#counters = new SampledCounters({ sampler, clock, name, maxKeys, random }, options.isTimed ?? true)
    this.#stopListening = parent.listen({ noticed: (notice) => this.#noticed(notice), connected() {} })
  }

  get stats(): SampledStats {
    const { size, dropping, reports, failures } = this.#counters
    return { sampledKeys: size, sampledDropping: dropping, sampledReports: reports, sampledFailures: failures }
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    if (!charges.some(isSampled)) return this.#parent.decide(charges)
    const nowMs = this.#clock.nowMs()
    const [charge] = charges
    if (charges.length === 1) return [drawOne(this.#counters.of(charge.key, charge.limit, nowMs), charge, nowMs)]
    const draws = new Draws(charges, this.#counters, nowMs)
    if (isDecided(draws)) return draws.all
    return this.#ask(draws, this.#decideRest).then(({ verdicts }) => verdicts)
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    if (!charges.some(isSampled)) return this.#parent.acquire(charges)
    const draws = new Draws(charges, this.#counters, this.#clock.nowMs())
    if (!isDecided(draws)) return this.#ask(draws, (rest) => this.#parent.acquire(rest))
    const verdicts = draws.all
    return { verdicts, permits: isRefused(charges, verdicts) ? undefined : NOTHING_HELD }
  }

  release(permits: HeldPermits): MaybePromise<void> {
    return this.#parent.release(permits)
  }

  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#parent.renew(permits)
  }

  async reset(key: string, limit: Limit): Promise<void> {
    await this.#parent.reset(key, limit)
    this.#counters.forget(key)
  }

  /** Reports rates. Runs on a timer unless the options disable it. */
  tick(): void {
    this.#counters.tick()
  }

  async close(): Promise<void> {
    this.#stopListening()
    this.#counters.stop()
    await this.#parent.close()
  }

  readonly #decideRest = async (rest: readonly Charge[]): Promise<Acquired> => ({
    verdicts: await this.#parent.decide(rest),
    permits: undefined,
  })

  /** Has the parent decide the rest. What passed here is taken back when that refuses, or does not answer. */
  async #ask(draws: Draws, ask: (rest: readonly Charge[]) => MaybePromise<Acquired>): Promise<Acquired> {
    try {
      const { verdicts, permits } = await ask(draws.rest)
      draws.heard(verdicts)
      if (isRefused(draws.charges, draws.verdicts)) draws.undo()
      return { verdicts: draws.all, permits }
    } catch (error) {
      draws.undo()
      throw error
    }
  }

  #noticed({ kind, key }: Notice): void {
    if (kind === 'reset') this.#counters.forget(splitStoredKey(key).key)
    else if (kind === 'reset_domain') this.#counters.forgetDomain(key)
  }
}

/** Returns whether nothing needs to be asked: all charges are sampled, or one of them refuses the request. */
function isDecided(draws: Draws): boolean {
  if (isRefused(draws.charges, draws.verdicts)) {
    draws.undo()
    return true
  }
  return !draws.verdicts.includes(undefined)
}
