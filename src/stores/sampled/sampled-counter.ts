import { allowedVerdict, impossibleVerdict, refusedVerdict, type Verdict } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import { SAMPLE_MS, type SampledRate, sampledRate, shareKept } from '../../core/sampled-rate.ts'
import type { RateReply, RateReport } from '../../engine/ports.ts'
import type { Ordered } from '../leased/use-order.ts'

/** A node with less than this part of the rate reports every second only. */
const MATERIAL_SHARE = 0.01
const SLOW_MS = 1_000
/** A timer may be early by this much. */
const EARLY_MS = SAMPLE_MS / 2
/** A node that is not heard of for this many of its intervals offers nothing any more. */
const LIVES = 3
/** Reports are made in the background: no request waits for them. */
const REPORT_TIMEOUT_MS = 1_000
/** The longest time over which retries of dropped hits are spread, in intervals. */
const MOST_SPREAD = 100

/**
 * One counter of a sampled rule at this node: the share of hits that it keeps, what it has to report, and a bucket of
 * the whole limit, so that one node alone never admits more than that.
 */
export class SampledCounter implements Ordered {
  older: this | undefined
  newer: this | undefined
  readonly key: string
  /** It has something to report, or has just reported something. */
  isListed = false
  readonly #random: () => number
  #limit: Limit
  #rate: SampledRate
  #kept = 1
  #level: number
  #atMs: number
  /** Since the last report: what was admitted here, what of that other rules refused, and what was dropped. */
  #passed = 0
  #undone = 0
  #dropped = 0
  /** All that was admitted, and the part of it that was confirmed. */
  #admitted = 0
  #confirmed = 0
  #sinceMs: number
  #reportedPerMs = 0
  #isAsking = false
  #silentSinceMs: number | undefined

  constructor(key: string, limit: Limit, nowMs: number, random: () => number) {
    this.key = key
    this.#limit = limit
    this.#rate = sampledRate(limit)
    this.#level = this.#rate.burst
    this.#atMs = nowMs
    this.#sinceMs = nowMs
    this.#random = random
  }

  get limit(): Limit {
    return this.#limit
  }

  /** The share of hits that it keeps. */
  get kept(): number {
    return this.#kept
  }

  /** Goes over to another limit: what is missing in the bucket stays the same. */
  change(limit: Limit): void {
    const missing = this.#rate.burst - this.#level
    this.#limit = limit
    this.#rate = sampledRate(limit)
    this.#level = this.#rate.burst - missing
  }

  /** Begins an interval: what came before is reported. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs
  }

  /** Admits a hit or drops it. */
  draw(cost: number, nowMs: number): boolean {
    if (!this.wouldPass(cost, nowMs)) {
      this.#dropped += cost
      return false
    }
    this.force(cost, nowMs)
    return true
  }

  /** Returns whether a hit passes, as `draw` does, without counting it. */
  wouldPass(cost: number, nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#kept < 1 && this.#random() >= this.#kept) return false
    return this.#level >= Math.min(cost, this.#rate.burst)
  }

  /** Admits a hit that has already happened. */
  force(cost: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#level = Math.max(-this.#rate.burst, this.#level - cost)
    this.#passed += cost
    this.#admitted += cost
  }

  /** Takes a hit back that another rule refused: it was not offered to this one. */
  undo(cost: number): void {
    this.refund(cost)
    this.#undone += cost
  }

  /** Gives back what was admitted before. */
  refund(cost: number): void {
    this.#level = Math.min(this.#rate.burst, this.#level + cost)
    this.#admitted -= cost
  }

  /** When the first report was made that has no answer yet. */
  get silentSinceMs(): number | undefined {
    return this.#silentSinceMs
  }

  /** True when there is nothing to report until the next hit. */
  get isOver(): boolean {
    if (this.#isAsking || this.#silentSinceMs !== undefined) return false
    return this.#reportedPerMs === 0 && this.#offered === 0 && this.#admitted === this.#confirmed
  }

  /** Whether it is time to report. */
  isDue(nowMs: number): boolean {
    if (this.#isAsking) return false
    const ageMs = nowMs - this.#sinceMs
    if (ageMs < EARLY_MS) return false
    if (ageMs >= SLOW_MS - EARLY_MS || this.#silentSinceMs !== undefined) return true
    const perMs = Math.max(this.#offered / ageMs, this.#reportedPerMs)
    return perMs >= MATERIAL_SHARE * this.#rate.perMs
  }

  /** Makes a report of what came since the last one. */
  report(node: string, nowMs: number): RateReport {
    const ageMs = Math.max(1, nowMs - this.#sinceMs)
    const offeredPerMs = this.#offered / ageMs
    this.#reportedPerMs = offeredPerMs
    this.#passed = 0
    this.#undone = 0
    this.#dropped = 0
    this.#sinceMs = nowMs
    this.#isAsking = true
    this.#silentSinceMs ??= nowMs
    return {
      key: this.key,
      limit: this.#limit,
      node,
      offeredPerMs,
      admitted: this.#admitted,
      recent: this.#admitted - this.#confirmed,
      refillPerMs: this.#rate.perMs,
      burst: this.#rate.burst,
      lifeMs: LIVES * Math.max(ageMs, SAMPLE_MS),
      timeoutMs: REPORT_TIMEOUT_MS,
    }
  }

  answered(report: RateReport, { offeredPerMs, level }: RateReply): void {
    this.#isAsking = false
    this.#silentSinceMs = undefined
    this.#confirmed = report.admitted
    this.#kept = shareKept(this.#rate, offeredPerMs, level)
  }

  failed(): void {
    this.#isAsking = false
  }

  /** Leaves the list of what reports: what it knew of others is old when it is used again. */
  rest(): void {
    this.isListed = false
    this.#kept = 1
  }

  /** Returns the verdict on a hit that passed, or not. */
  verdict(isAllowed: boolean): Verdict {
    const { max: limit } = this.#limit
    const { perMs, burst } = this.#rate
    const resetAfterMs = this.#level >= burst ? 0 : Math.ceil((burst - this.#level) / perMs)
    const remaining = this.#kept < 1 ? 0 : Math.max(0, Math.floor(this.#level))
    if (isAllowed) return allowedVerdict(limit, remaining, resetAfterMs)
    return refusedVerdict(limit, 0, resetAfterMs, this.#retryAfterMs())
  }

  /** Answers a cost that can never be admitted. */
  impossible(): Verdict {
    const { max, windowMs, capacity } = this.#limit
    return impossibleVerdict(max, 0, windowMs, capacity)
  }

  /**
   * Returns when to try again: not before the next share is known, and spread over the time in which one of the dropped
   * hits passes, so that retries do not come at the same moment.
   */
  #retryAfterMs(): number {
    const spreadMs = SAMPLE_MS * Math.min(MOST_SPREAD, 1 / this.#kept)
    return Math.ceil(Math.max(0, (1 - this.#level) / this.#rate.perMs) + SAMPLE_MS + this.#random() * spreadMs)
  }

  /**
   * What was offered since the last report. Of what was dropped, other rules would have refused as large a part as of
   * what they were asked about.
   */
  get #offered(): number {
    const passed = this.#passed - this.#undone
    const dropped = this.#passed === 0 ? this.#dropped : this.#dropped * (passed / this.#passed)
    return Math.max(0, passed + dropped)
  }

  #refill(nowMs: number): void {
    const passedMs = nowMs - this.#atMs
    this.#atMs = nowMs
    if (passedMs > 0) this.#level = Math.min(this.#rate.burst, this.#level + passedMs * this.#rate.perMs)
  }
}
