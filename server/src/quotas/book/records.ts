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
 * A CustomerRecord is what decisions need of a customer, and the account of a request that names the customer itself. It may
 * be there before the customer is, for keys and overrides that came first.
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

  ownLimit(_domain: string, path: string, rules: readonly Rule[], _at: number): OwnLimit | undefined {
    return this.override(path)?.ownLimit(limitOfRule(rules[0]), this.timeZone, this.#frame.passOver)
  }

  sourceOf({ id }: OwnLimit): string | undefined {
    return has(this.overrides, id) ? `override ${id} of customer ${this.id}` : undefined
  }

  /** override is the one that is in force now. */
  override(path: string): OverrideRecord | undefined {
    return this.isKnown ? inForce(this.overrides, path, this.#frame.clock.nowMs()) : undefined
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

  get isUnused(): boolean {
    return this.hash === '' && this.overrides === undefined
  }

  get hasLimits(): boolean {
    return this.overrides !== undefined || this.customer?.hasLimits === true
  }

  ownLimit(domain: string, path: string, rules: readonly Rule[], at: number): OwnLimit | undefined {
    const { customer } = this
    const zone = customer?.isKnown ? customer.timeZone : 'UTC'
    const own = this.override(path)?.ownLimit(limitOfRule(rules[0]), zone, this.#frame.passOver)
    return own ?? customer?.ownLimit(domain, path, rules, at)
  }

  sourceOf(own: OwnLimit): string | undefined {
    return has(this.overrides, own.id) ? `override ${own.id} of key ${this.prefix}…` : this.customer?.sourceOf(own)
  }

  override(path: string): OverrideRecord | undefined {
    return inForce(this.overrides, path, this.#frame.clock.nowMs())
  }

  /** isGone says whether the key is good for nothing: nobody has it, or it was revoked. */
  isGone(): boolean {
    return this.hash === '' || (this.revokedAtMs !== undefined && this.revokedAtMs <= this.#frame.clock.nowMs())
  }
}

function has(overrides: readonly OverrideRecord[] | undefined, id: string): boolean {
  return overrides?.some((each) => each.id === id) === true
}

/** limitOfRule is the limit that an override counts like. */
function limitOfRule(rule: Rule | undefined): Limit | undefined {
  return rule?.unlimited === true ? undefined : rule?.limit
}
