import type { Upstream } from '../options.ts'
import { HealthChecks } from './health-checks.ts'
import type { Member } from './member.ts'
import { RetryBudget } from './retry-budget.ts'

/** UpstreamGroup is the addresses of an upstream, and which of them is next. */
export class UpstreamGroup {
  readonly members: readonly Member[]
  readonly budget = new RetryBudget()
  /** What it was made from: an upstream that a reload does not change keeps its connections. */
  readonly made: string
  readonly #checks: HealthChecks | undefined

  constructor(upstream: Upstream, members: readonly Member[], after: HealthChecks['after']) {
    this.members = members
    this.made = fingerprint(upstream)
    this.#checks = upstream.health === undefined ? undefined : new HealthChecks(members, upstream, after)
  }

  /** pick returns the less loaded of two that are in, and not the one that has just failed if there is another. */
  pick(nowMs: number, failed: Member | undefined): Member {
    const { members } = this
    if (members.length === 1) return members[0] as Member
    const inside = members.filter((member) => member.isIn(nowMs) && member !== failed)
    // When all are out, all are in: taking none would be worse than any of them.
    const others = inside.length > 0 ? inside : members.filter((member) => member !== failed)
    const first = others[Math.floor(Math.random() * others.length)] as Member
    if (others.length === 1) return first
    const second = others[(others.indexOf(first) + 1 + Math.floor(Math.random() * (others.length - 1))) % others.length]
    return second !== undefined && second.inFlight < first.inFlight ? second : first
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

/** fingerprint is the same for upstreams that are told the same. */
export function fingerprint(upstream: Upstream): string {
  return JSON.stringify(upstream, (_, value: unknown) => (Buffer.isBuffer(value) ? value.toString('base64') : value))
}
