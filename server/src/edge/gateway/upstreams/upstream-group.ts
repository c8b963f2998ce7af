import { DEFAULT_PRIORITY, type Priority } from 'sluice/internal/core/shedding/priority'
import type { Upstream } from '../options.ts'
import { HealthChecks } from './health-checks.ts'
import type { Member } from './member.ts'
import { RetryBudget } from './retry-budget.ts'

/** The addresses of an upstream, and which of them is next. */
export class UpstreamGroup {
  readonly members: readonly Member[]
  readonly budget = new RetryBudget()
  /** What it was made from: an upstream that a reload does not change keeps its connections. */
  readonly made: string
  readonly #checks: HealthChecks | undefined
  readonly #isLimited: boolean

  constructor(upstream: Upstream, members: readonly Member[], after: HealthChecks['after']) {
    this.members = members
    this.made = fingerprint(upstream)
    this.#isLimited = members.some(({ limited }) => limited !== undefined)
    this.#checks = upstream.health === undefined ? undefined : new HealthChecks(members, upstream, after)
  }

  /** Returns whether an address that is in would serve a request of this priority, or have it wait. */
  takes(nowMs: number, priority: Priority): boolean {
    if (!this.#isLimited) return true
    const asked = this.#inside(nowMs, undefined)
    if (asked.some(({ limited }) => limited?.takes(priority) ?? true)) return true
    for (const { limited } of asked) limited?.refused()
    return false
  }

  /** Returns the less loaded of two available members, and not the last failed one if there is another. */
  pick(nowMs: number, failed: Member | undefined, priority: Priority = DEFAULT_PRIORITY): Member {
    const { members } = this
    if (members.length === 1) return members[0] as Member
    const inside = this.#inside(nowMs, failed)
    const free = this.#isLimited ? inside.filter(({ limited }) => limited?.hasRoom(priority) ?? true) : inside
    const others = free.length > 0 ? free : inside
    const first = others[Math.floor(Math.random() * others.length)] as Member
    if (others.length === 1) return first
    const second = others[(others.indexOf(first) + 1 + Math.floor(Math.random() * (others.length - 1))) % others.length]
    return second !== undefined && second.inFlight < first.inFlight ? second : first
  }

  #inside(nowMs: number, failed: Member | undefined): readonly Member[] {
    const inside = this.members.filter((member) => member.isIn(nowMs) && member !== failed)
    // When all are out, all are in: taking none would be worse than any of them.
    return inside.length > 0 ? inside : this.members.filter((member) => member !== failed)
  }

  start(): void {
    this.#checks?.start()
  }

  retire(): void {
    this.#checks?.stop()
    for (const { pool } of this.members) pool.retire()
  }

  destroy(): void {
    this.#checks?.stop()
    for (const { pool } of this.members) pool.destroy()
  }
}

/** Returns the same text for upstreams with the same settings. */
export function fingerprint(upstream: Upstream): string {
  return JSON.stringify(upstream, (_, value: unknown) => (Buffer.isBuffer(value) ? value.toString('base64') : value))
}
