import { isDeepStrictEqual } from 'node:util'
import type { Verdict } from '../../core/decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type { Charge, HeldPermits } from '../../engine/ports.ts'
import { isRefused, type ModelPermits, StoreModel } from './model.suite.ts'
import type { StoreUnderTest } from './subject.suite.ts'

/** The limits of a run: every algorithm and variant, on windows from a blink to a month, most of them often spent. */
const OPTIONS: readonly LimitOptions[] = [
  { limit: 5, window: 1_000 },
  { limit: 40, window: 7_777, countDenied: true },
  { limit: 6, window: 2_000, subWindows: 8 },
  { limit: 9, window: 3_000, subWindows: 3, countDenied: true },
  { algorithm: 'token_bucket', limit: 7, window: 3_000 },
  { algorithm: 'token_bucket', limit: 3, window: 1_000, burst: 9, countDenied: true },
  { algorithm: 'gcra', limit: 11, window: 5_000, burst: 4 },
  { algorithm: 'gcra', limit: 5, window: 1_000, countDenied: true },
  { algorithm: 'leaky_bucket', limit: 9, window: 2_500 },
  { algorithm: 'fixed_window', limit: 8, window: 1_500 },
  { algorithm: 'fixed_window', limit: 7, window: 1_300, anchor: 'first_hit', countDenied: true },
  { algorithm: 'fixed_window', limit: 50, calendar: { unit: 'month', timeZone: 'Europe/Berlin' }, countDenied: true },
  { algorithm: 'sliding_log', limit: 6, window: 1_000 },
  { algorithm: 'sliding_log', limit: 4, window: 4_000, countDenied: true },
  { algorithm: 'concurrency', limit: 4, leaseTtl: 3_000 },
  { algorithm: 'concurrency', limit: 9, leaseTtl: 60_000 },
  { algorithm: 'fixed_window', limit: 0, window: 1_000 },
]
const KEYS = 24
const MAX_LEASES = 50

/** Yields whole numbers below `below`, the same ones for the same seed. */
type Random = (below: number) => number

/** Returns a random number generator in one line of state. */
export function mulberry32(seed: number): Random {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

/** What a store is spared that cannot agree with the model in all of it. */
export interface RunOptions {
  /** In what it agrees with the model, to complete "agrees with the model …". Default: in every field. */
  readonly how?: string
  /** Which limits are used. Default: all. */
  readonly uses?: (limit: Limit) => boolean
  /** True: the clock is never set back. */
  readonly isSteady?: boolean
  /** True: no charge of a group is a refund. */
  readonly isChargingOnly?: boolean
  /** Returns whether a verdict on a charge of a group is as good as the model's. Default: equal. */
  readonly agrees?: (said: Verdict, expected: Verdict, isGroupRefused: boolean) => boolean
}

/** Sends the same operations to a store and to the model, and throws where their answers differ. */
export class StoreRun {
  readonly #subject: StoreUnderTest
  readonly #setNowMs: (nowMs: number) => void
  readonly #model = new StoreModel()
  readonly #seed: number
  readonly #random: Random
  readonly #options: RunOptions
  readonly #limits: readonly Limit[]
  readonly #places: readonly Limit[]
  readonly #leases: [HeldPermits, ModelPermits][] = []
  #nowMs: number
  #operation = 0

  constructor(subject: StoreUnderTest, startMs: number, seed: number, options: RunOptions = {}) {
    if (subject.setNowMs === undefined) throw new Error('a store without a clock to set skips the part "random"')
    this.#subject = subject
    this.#setNowMs = subject.setNowMs
    this.#seed = seed
    this.#random = mulberry32(seed)
    this.#nowMs = startMs
    this.#options = options
    this.#limits = OPTIONS.map((each) => compileLimit(each)).filter(options.uses ?? (() => true))
    this.#places = this.#limits.filter(({ algorithm }) => algorithm === 'concurrency')
  }

  async go(operations: number): Promise<void> {
    for (this.#operation = 1; this.#operation <= operations; this.#operation++) {
      await this.#passTime()
      const dice = this.#random(100)
      if (dice < 45) await this.#decide([this.#charge(1)])
      else if (dice < 55) await this.#decide([this.#charge(1 + this.#random(12))])
      else if (dice < 61) await this.#decide([this.#charge(0)])
      else if (dice < 65) await this.#decide([this.#charge(-1 - this.#random(12))])
      else if (dice < 66) await this.#debit()
      else if (dice < 68) await this.#reset(this.#charge(0))
      else if (dice < 78) await this.#decide(this.#group())
      else if (dice < 83) await this.#acquire(this.#group())
      else if (dice < 92) await this.#acquire([this.#charge(1 + this.#random(3), this.#pick(this.#places))])
      else if (dice < 96) await this.#renew()
      else await this.#release()
    }
  }

  /** Lets none, some or a lot of time pass, or sets the clock back by a little or by a lot. */
  async #passTime(): Promise<void> {
    const dice = this.#random(1000)
    if (dice < 500) return
    if (dice < 900) this.#nowMs += this.#random(20)
    else if (dice < 985) this.#nowMs += this.#random(2_000)
    else if (dice < 990) this.#nowMs += this.#random(20_000_000)
    else if (!this.#options.isSteady)
      await this.#setBack(dice < 998 ? 1 + this.#random(300) : 1 + this.#random(20_000_000))
    this.#setNowMs(this.#nowMs)
  }

  /** #setBack first resets what has expired: a store may have forgotten it, or find it again in the past. */
  async #setBack(byMs: number): Promise<void> {
    for (const counter of this.#model.expired(this.#nowMs)) await this.#reset(counter)
    this.#nowMs -= byMs
  }

  async #decide(charges: readonly Charge[]): Promise<void> {
    const verdicts = await this.#subject.store.decide(charges)
    this.#compareVerdicts('decide', charges, verdicts, this.#model.decide(charges, this.#nowMs))
  }

  /** Charges one or two counters late, of limits that count hits. */
  async #debit(): Promise<void> {
    const limits = this.#limits.filter(({ algorithm }) => algorithm !== 'concurrency')
    const charges = Array.from({ length: 1 + this.#random(2) }, () => {
      return { ...this.#charge(1 + this.#random(30), this.#pick(limits)), debit: true }
    })
    await this.#decide(charges)
  }

  async #acquire(charges: readonly Charge[]): Promise<void> {
    const { verdicts, permits } = await this.#subject.store.acquire(charges)
    const expected = this.#model.acquire(charges, this.#nowMs)
    this.#compareVerdicts('acquire', charges, verdicts, expected.verdicts)
    this.#compare('permits of acquire', charges, permits !== undefined, expected.permits !== undefined)
    if (permits && expected.permits && this.#leases.length < MAX_LEASES) this.#leases.push([permits, expected.permits])
  }

  /** Releases any permits: held, run out, or released before. */
  async #release(): Promise<void> {
    if (this.#leases.length === 0) return
    const at = this.#random(this.#leases.length)
    const [permits, expected] = this.#leases[at]
    await this.#subject.store.release(permits)
    this.#model.release(expected)
    if (this.#random(4) > 0) this.#leases.splice(at, 1)
  }

  /** Renews one to three permits: held, run out, or released before. */
  async #renew(): Promise<void> {
    if (this.#leases.length === 0) return
    const chosen = Array.from({ length: 1 + this.#random(3) }, () => this.#leases[this.#random(this.#leases.length)])
    const renewed = await this.#subject.store.renew(chosen.map(([permits]) => permits))
    const expected = this.#model.renew(
      chosen.map(([, permits]) => permits),
      this.#nowMs,
    )
    this.#compare(
      'renew',
      chosen.flatMap(([, { held }]) => held.map((each) => ({ ...each, enforce: true }))),
      renewed,
      expected,
    )
  }

  async #reset({ key, limit }: Pick<Charge, 'key' | 'limit'>): Promise<void> {
    await this.#subject.store.reset(key, limit)
    this.#model.reset({ key, limit })
  }

  #charge(cost: number, limit = this.#pick(this.#limits)): Charge {
    return { key: `key:${this.#random(KEYS)}`, limit, cost, enforce: true }
  }

  /** 1 to 4 charges of other keys, with shadow and quota rules, sometimes with one counter named twice. */
  #group(): Charge[] {
    const size = 1 + this.#random(4)
    const first = this.#random(KEYS)
    const charges = Array.from({ length: size }, (_, i): Charge => {
      const dice = this.#random(10)
      const isRefund = dice === 1 && !this.#options.isChargingOnly
      const cost = dice === 0 ? 0 : isRefund ? -1 - this.#random(4) : 1 + this.#random(3)
      const key = `key:${(first + i) % KEYS}`
      return { key, limit: this.#pick(this.#limits), cost, enforce: this.#random(4) > 0, quota: this.#random(5) === 0 }
    })
    const [twice] = charges
    if (size < 4 && twice.cost > 0 && this.#random(4) === 0) charges.push({ ...twice, cost: 1 + this.#random(4) })
    return charges
  }

  #pick(limits: readonly Limit[]): Limit {
    return limits[this.#random(limits.length)]
  }

  #compareVerdicts(
    what: string,
    charges: readonly Charge[],
    verdicts: readonly Verdict[],
    expected: readonly Verdict[],
  ): void {
    const { agrees } = this.#options
    const isGroupRefused = isRefused(charges, expected)
    this.#compare(`whether ${what} refuses`, charges, isRefused(charges, verdicts), isGroupRefused)
    const agreed = verdicts.map((said, i) => (agrees?.(said, expected[i], isGroupRefused) ? expected[i] : said))
    this.#compare(what, charges, agreed, expected)
  }

  #compare(what: string, charges: readonly Charge[], actual: unknown, expected: unknown): void {
    if (isDeepStrictEqual(actual, expected)) return
    const asked = charges.map(
      ({ key, limit, cost, enforce }) => `${key} ${limit.shape} ${cost}${enforce ? '' : ' shadow'}`,
    )
    throw new Error(
      [
        `seed ${this.#seed}, operation ${this.#operation} at ${this.#nowMs} ms: ${what} [${asked.join(', ')}]`,
        `the store says ${JSON.stringify(actual)}`,
        `the model says ${JSON.stringify(expected)}`,
      ].join('\n'),
    )
  }
}
