import type { Verdict } from '../../core/decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type { Acquired, Charge, HeldPermits, Store } from '../../engine/ports.ts'

/** An empty store, with the means to set its time. */
export interface StoreUnderTest {
  readonly store: Store
  /** Undefined where the store's time cannot be set; such a store skips the parts that need it. */
  readonly setNowMs?: (nowMs: number) => void
  readonly close: () => Promise<void>
}

/** The store that a claim is about: a fresh one for each, with short words for what is done to it. */
export class Subject {
  #current: StoreUnderTest | undefined

  /** Sets the store for the next claim, end closes it. */
  begin(current: StoreUnderTest): void {
    this.#current = current
  }

  async end(): Promise<void> {
    await this.#current?.close()
    this.#current = undefined
  }

  get underTest(): StoreUnderTest {
    if (this.#current === undefined) throw new Error('no store is under test')
    return this.#current
  }

  get store(): Store {
    return this.underTest.store
  }

  /** Sets the store's time. */
  at(nowMs: number): void {
    const { setNowMs } = this.underTest
    if (setNowMs === undefined) throw new Error('a store without a clock to set skips the parts that set it')
    setNowMs(nowMs)
  }

  async decide(...charges: Charge[]): Promise<readonly Verdict[]> {
    return await this.store.decide(charges)
  }

  async one(key: string, limit: Limit, cost: number): Promise<Verdict> {
    return (await this.decide(charge(key, limit, cost)))[0]
  }

  async remaining(key: string, limit: Limit): Promise<number> {
    return (await this.one(key, limit, 0)).remaining
  }

  /** Takes places of a concurrency limit, and charges any other. */
  async use(...charges: Charge[]): Promise<Acquired> {
    return await this.store.acquire(charges)
  }

  /** Takes places, which there must be. */
  async take(key: string, limit: Limit, cost: number): Promise<HeldPermits> {
    const { permits } = await this.use(charge(key, limit, cost))
    if (permits === undefined) throw new Error(`${key}: no place left`)
    return permits
  }
}

/** The suite's clock starts at the start of a minute, so that no window of a minute ends by accident. */
export const START_MS = 1_780_000_020_000
export const MINUTE_MS = 60_000

/** Ten a minute, in each of the algorithms and variants. */
export const TEN: Readonly<Record<string, Limit>> = Object.fromEntries(
  Object.entries<LimitOptions>({
    sliding_window: { limit: 10, window: '1m' },
    'sliding_window with sub-windows': { limit: 10, window: '1m', subWindows: 6 },
    token_bucket: { algorithm: 'token_bucket', limit: 10, window: '1m' },
    gcra: { algorithm: 'gcra', limit: 10, window: '1m' },
    leaky_bucket: { algorithm: 'leaky_bucket', limit: 10, window: '1m' },
    fixed_window: { algorithm: 'fixed_window', limit: 10, window: '1m' },
    'fixed_window on a calendar': { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'day' } },
    sliding_log: { algorithm: 'sliding_log', limit: 10, window: '1m' },
    concurrency: { algorithm: 'concurrency', limit: 10, leaseTtl: '1m' },
  }).map(([name, options]) => [name, compileLimit(options)]),
)
export const NAMES = Object.keys(TEN)
/** Returns those that decide charges: all but places. */
export const COUNTERS = NAMES.filter((name) => name !== 'concurrency')

export function charge(key: string, limit: Limit, cost: number): Charge {
  return { key, limit, cost, enforce: true }
}

export function inQuota(key: string, limit: Limit): Charge {
  return { ...charge(key, limit, 1), quota: true }
}

export function kinds({ verdicts }: { readonly verdicts: readonly { readonly kind: string }[] }): string[] {
  return verdicts.map(({ kind }) => kind)
}

export function withLimit(limit: Limit, count: number): Limit {
  return withOptions(limit, { limit: count })
}

export function withOptions(limit: Limit, options: Partial<LimitOptions>): Limit {
  return compileLimit({ ...optionsOf(limit), ...options })
}

/** Formats a limit of the table above as options again. */
export function optionsOf({ algorithm, max: limit, windowMs, quantumMs, calendar }: Limit): LimitOptions {
  if (calendar) return { algorithm, limit, calendar: { unit: calendar.unit } }
  if (algorithm === 'concurrency') return { algorithm, limit, leaseTtl: windowMs }
  return { algorithm, limit, window: windowMs, ...(quantumMs > 1 && { subWindows: windowMs / quantumMs }) }
}
