import type { Clock } from '../../core/clock.ts'
import { isOfDomain } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import { SAMPLE_MS } from '../../core/sampled-rate.ts'
import type { RateReply, RateReport, Sampler } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { UseOrder } from '../leased/use-order.ts'
import { SampledCounter } from './sampled-counter.ts'

/** The node that sampled counters belong to. */
export interface SampledNode {
  readonly sampler: Sampler
  readonly clock: Clock
  /** Its name among all that share the sampler. */
  readonly name: string
  readonly maxKeys: number
  readonly random: () => number
}

/** The most reports in an interval; while none is answered, so many try. */
const MOST_REPORTS = 2_000
const MOST_PROBES = 64
/** Without an answer for this long, the failure policy of the rule decides. */
const SILENT_MS = 1_000

/** Keeps the sampled counters of a node, and has one timer report for all of them. */
export class SampledCounters {
  readonly #node: SampledNode
  readonly #isTimed: boolean
  readonly #counters = new Map<string, SampledCounter>()
  readonly #order = new UseOrder<SampledCounter>()
  /** The counters that have something to report, in the order in which they reported last. */
  readonly #listed = new Set<SampledCounter>()
  #timer: NodeJS.Timeout | undefined
  #reports = 0
  #failures = 0
  /** Since when no report was answered, and why. */
  #silentSinceMs: number | undefined
  #fault = new StoreFault('timeout', 'store', 'no report of rates was answered')

  constructor(node: SampledNode, isTimed: boolean) {
    this.#node = node
    this.#isTimed = isTimed
  }

  get size(): number {
    return this.#counters.size
  }

  /** Counters that keep less than all of their hits. */
  get dropping(): number {
    let dropping = 0
    for (const { kept } of this.#listed) if (kept < 1) dropping++
    return dropping
  }

  get reports(): number {
    return this.#reports
  }

  get failures(): number {
    return this.#failures
  }

  /** Returns a counter. Throws a StoreFault where this node has not heard from the store for too long. */
  of(key: string, limit: Limit, nowMs: number): SampledCounter {
    const known = this.#counters.get(key)
    const counter = known ?? this.#add(key, limit, nowMs)
    if (counter.limit !== limit) counter.change(limit)
    this.#order.use(counter)
    if (!counter.isListed) this.#list(counter, nowMs)
    if (isSilent(counter.silentSinceMs, nowMs) || isSilent(this.#silentSinceMs, nowMs)) throw this.#fault
    return counter
  }

  /** Forgets a counter: it was reset. */
  forget(key: string): void {
    const counter = this.#counters.get(key)
    if (counter !== undefined) this.#remove(counter)
  }

  forgetDomain(domain: string): void {
    for (const [key, counter] of this.#counters) if (isOfDomain(key, domain)) this.#remove(counter)
  }

  /** Reports what is due, the counters that waited longest first. */
  tick(): void {
    const nowMs = this.#node.clock.nowMs()
    let room = this.#silentSinceMs === undefined ? MOST_REPORTS : MOST_PROBES
    let left = this.#listed.size
    for (const counter of this.#listed) {
      if (left-- === 0 || room === 0) break
      if (counter.isOver) {
        this.#listed.delete(counter)
        counter.rest()
      } else if (counter.isDue(nowMs)) {
        room--
        this.#listed.delete(counter)
        this.#listed.add(counter)
        this.#report(counter, nowMs)
      }
    }
    if (this.#listed.size === 0) this.stop()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #add(key: string, limit: Limit, nowMs: number): SampledCounter {
    const { oldest } = this.#order
    if (this.#counters.size >= this.#node.maxKeys && oldest !== undefined) this.#remove(oldest)
    const counter = new SampledCounter(key, limit, nowMs, this.#node.random)
    this.#counters.set(key, counter)
    return counter
  }

  #remove(counter: SampledCounter): void {
    this.#counters.delete(counter.key)
    this.#order.remove(counter)
    this.#listed.delete(counter)
  }

  #list(counter: SampledCounter, nowMs: number): void {
    counter.isListed = true
    counter.begin(nowMs)
    this.#listed.add(counter)
    if (!this.#isTimed || this.#timer !== undefined) return
    this.#timer = setInterval(() => this.tick(), SAMPLE_MS)
    this.#timer.unref?.()
  }

  #report(counter: SampledCounter, nowMs: number): void {
    const { sampler, name } = this.#node
    const report = counter.report(name, nowMs)
    this.#reports++
    try {
      const reply = sampler.report(report)
      if (!(reply instanceof Promise)) this.#answered(counter, report, reply)
      else
        reply.then(
          (value) => this.#answered(counter, report, value),
          (error: unknown) => this.#failed(counter, error, nowMs),
        )
    } catch (error) {
      this.#failed(counter, error, nowMs)
    }
  }

  #answered(counter: SampledCounter, report: RateReport, reply: RateReply): void {
    this.#silentSinceMs = undefined
    counter.answered(report, reply)
  }

  #failed(counter: SampledCounter, error: unknown, askedAtMs: number): void {
    this.#failures++
    this.#silentSinceMs ??= askedAtMs
    if (error instanceof StoreFault) this.#fault = error
    counter.failed()
  }
}

function isSilent(sinceMs: number | undefined, nowMs: number): boolean {
  return sinceMs !== undefined && nowMs - sinceMs > SILENT_MS
}
