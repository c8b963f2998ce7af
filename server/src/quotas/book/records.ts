import type { Limit } from 'sluice/internal/core/limit'
import type { Account, OwnLimit } from 'sluice/internal/core/rules/account'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { KnownBlock } from 'sluice/internal/engine/quotas'
import { suspensionOf } from './block-record.ts'
import type { GrantRecord } from './grant-record.ts'
import { inForce, type OverrideRecord } from './override-record.ts'
import type { PassOver } from './passed-over.ts'

/** A BookClock is the time that spans are compared with. */
export interface BookClock {
  nowMs(): number
}

/** A BookFrame is what all records of a book share. */
export interface BookFrame {
  readonly clock: BookClock
  readonly passOver?: PassOver | undefined
}

/**
 * A CustomerRecord is what decisions need of a customer, and the account of a request that names the customer itself.
 * It may be there before the customer is, for keys and overrides that came first.
 */
export class CustomerRecord implements Account {
  readonly id: string
  readonly #frame: BookFrame
  isKnown = false
  isSuspended = false
  ownTier: string | undefined
  timeZone = 'UTC'
  /** How many keys lead here. */
  keys = 0
  /** The one that took effect last comes first. */
  overrides: OverrideRecord[] | undefined
  /** The first to end comes first. */
  grants: GrantRecord[] | undefined
  #suspension: KnownBlock | undefined

  constructor(id: string, frame: BookFrame) {
    this.id = id
    this.#frame = frame
  }

  get tier(): string | undefined {
    return this.isKnown ? this.ownTier : undefined
  }

  /** What refuses its requests while it is suspended: one object, as of any block. */
  get suspension(): KnownBlock {
    this.#suspension ??= suspensionOf(this.id)
    return this.#suspension
  }

  /** True when nothing refers to it any more. */
  get isUnused(): boolean {
    return !this.isKnown && this.keys === 0 && this.overrides === undefined && this.grants === undefined
  }

  get hasLimits(): boolean {
    return this.overrides !== undefined && this.isKnown
  }

  ownLimit(domain: string, path: string, rules: readonly Rule[], at: number): OwnLimit | undefined {
    if (!this.isKnown) return undefined
    const found = inForce(this.overrides, domain, path, rules[at], this.#frame.clock.nowMs())
    return found?.ownLimit(limitOfRule(rules[at]), this.timeZone, this.#frame.passOver)
  }

  sourceOf({ id }: OwnLimit): string | undefined {
    const found = find(this.overrides, id)
    return found && `override ${id} of customer ${this.id}${scopeText(found)}`
  }
}

/** A KeyRecord is what decisions need of an API key, and the account of a request that carries it. */
export class KeyRecord implements Account {
  readonly id: string
  readonly #frame: BookFrame
  /** '' while the key itself is not known, or not any more. */
  hash = ''
  prefix = ''
  ownTier: string | undefined
  revokedAtMs: number | undefined
  customer: CustomerRecord | undefined
  overrides: OverrideRecord[] | undefined
  /** The key itself, once a request has carried it: counters are named by it. It is held in memory alone. */
  seenAs: string | undefined

  constructor(id: string, frame: BookFrame) {
    this.id = id
    this.#frame = frame
  }

  get tier(): string | undefined {
    return this.ownTier ?? this.customer?.tier
  }

  get timeZone(): string | undefined {
    return this.customer?.isKnown ? this.customer.timeZone : undefined
  }

  get isUnused(): boolean {
    return this.hash === '' && this.overrides === undefined
  }

  get hasLimits(): boolean {
    return this.overrides !== undefined || this.customer?.hasLimits === true
  }

  ownLimit(domain: string, path: string, rules: readonly Rule[], at: number): OwnLimit | undefined {
    const { customer, timeZone = 'UTC' } = this
    const found = inForce(this.overrides, domain, path, rules[at], this.#frame.clock.nowMs())
    const own = found?.ownLimit(limitOfRule(rules[at]), timeZone, this.#frame.passOver)
    return own ?? customer?.ownLimit(domain, path, rules, at)
  }

  sourceOf(own: OwnLimit): string | undefined {
    const found = find(this.overrides, own.id)
    return found ? `override ${own.id} of key ${this.prefix}…${scopeText(found)}` : this.customer?.sourceOf(own)
  }

  /** Returns whether the key is no longer valid: no one has it, or it was revoked. */
  isGone(): boolean {
    return this.hash === '' || (this.revokedAtMs !== undefined && this.revokedAtMs <= this.#frame.clock.nowMs())
  }
}

function find(overrides: readonly OverrideRecord[] | undefined, id: string): OverrideRecord | undefined {
  return overrides?.find((each) => each.id === id)
}

function scopeText({ scope }: OverrideRecord): string {
  if (scope === undefined) return ''
  return scope.rule === undefined
    ? `, for domain ${scope.domain}`
    : `, for rule ${scope.rule} of domain ${scope.domain}`
}

/** Returns the limit that an override counts like. */
function limitOfRule(rule: Rule | undefined): Limit | undefined {
  return rule?.unlimited === true ? undefined : rule?.limit
}
