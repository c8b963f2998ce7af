import { describeRule } from 'sluice/internal/core/rules/describe'
import { match } from 'sluice/internal/core/rules/match'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Actor } from '../quotas/audit/actor.ts'
import type { CounterTarget } from './api/change.ts'
import type { LookedBlock, LookedCounter } from './counters/counters.ts'
import type { LimitState, LimitStates } from './limits/limit-states.ts'
import type { LiveFrame } from './live/live-frames.ts'

/** An AdminClock is a clock that a test owns. */
export class AdminClock {
  ms = Date.parse('2026-03-01T10:00:30.000Z')
  now = (): number => this.ms
}

/** Looks at rules, and remembers what was reset. */
export class ManualCounters {
  readonly #rules: RuleSet
  readonly resets: { readonly target: CounterTarget; readonly by: Actor }[] = []
  used = 0
  limits: LimitState[] = []

  constructor(rules: RuleSet) {
    this.#rules = rules
  }

  async look({ domain, descriptors }: CounterTarget & { kind: 'descriptors' }): Promise<readonly LookedCounter[]> {
    const found = this.#rules.domains.get(domain)
    if (found === undefined) return []
    return descriptors.flatMap((entries, descriptor) =>
      match(found, entries).map((rule) => ({
        descriptor,
        ruleId: rule.id,
        ruleName: rule.name,
        described: describeRule(rule),
        isUnlimited: rule.unlimited,
        isShadow: rule.shadow,
        switchedTo: undefined,
        source: { kind: 'rule' as const, id: undefined },
        key: `${domain}|${rule.id}`,
        limit: rule.limit.max,
        used: this.used,
        remaining: Math.max(0, rule.limit.max - this.used),
        resetAfterMs: 60_000,
        retryAfterMs: this.used >= rule.limit.max ? 42_000 : 0,
        isImpossible: false,
      })),
    )
  }

  block: LookedBlock | undefined

  blockOf(): LookedBlock | undefined {
    return this.block
  }

  async limitsOf(): Promise<LimitStates> {
    return { limits: this.limits, omitted: 0 }
  }

  async reset(target: CounterTarget, by: Actor): Promise<number> {
    this.resets.push({ target, by })
    return 2
  }

  isApiKey(key: string): boolean {
    return key === 'x-api-key'
  }

  defaultOf(tier: string | undefined) {
    const rule = { domain: 'shop', ruleId: 'api_key', ruleName: 'calls' }
    return tier === 'enterprise' ? { ...rule, requestsPerUnit: 5_000, unit: 'minute' } : undefined
  }
}

/** Live figures that come when the test says so. */
export class ManualLive {
  readonly #frames: LiveFrame[] = []
  readonly #heard = new Set<(frame: LiveFrame) => void>()

  get followers(): number {
    return this.#heard.size
  }

  history(sinceMs: number): readonly LiveFrame[] {
    return this.#frames.filter(({ atMs }) => atMs > sinceMs)
  }

  follow(heard: (frame: LiveFrame) => void): () => void {
    this.#heard.add(heard)
    return () => this.#heard.delete(heard)
  }

  tick(frame: Partial<LiveFrame> = {}): void {
    const made: LiveFrame = { ...FRAME, ...frame }
    this.#frames.push(made)
    for (const heard of this.#heard) heard(made)
  }
}

const FRAME: LiveFrame = {
  atMs: 1_000,
  allowed: 10,
  refused: 1,
  shadowRefused: 0,
  p50Ms: 0.1,
  p99Ms: 0.9,
  nodes: 1,
  nodesAway: 0,
  store: 'memory',
  database: 'up',
  ruleVersion: 'abc',
  rules: [{ domain: 'shop', id: 'user', allowed: 10, refused: 1, shadowRefused: 0 }],
}
