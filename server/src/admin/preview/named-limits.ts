import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Limit } from 'sluice/internal/core/limit'
import type { Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import { pathOf } from '../../quotas/book/override-record.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { type CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'
import { type FoundLimit, limitsOfCaller } from '../limits/caller-limits.ts'

/** A NamedLimit is what use is counted under one name: one limit, or several of the same rule for single values. */
export interface NamedLimit {
  readonly domain: string
  readonly ruleId: string
  /** By what stands below the caller's entry, as grants and overrides name it. */
  readonly limits: ReadonlyMap<string, Limit>
  /** Of one caller there is one counter, and no one else's. */
  readonly isOneCounter: boolean
}

export type NamedLimits = ReadonlyMap<string, NamedLimit>

export interface NamedLimitsParts {
  readonly rules: RuleSet
  readonly book: QuotaBook
  readonly entries: CallerEntries
  readonly keys: KeyEncoder
}

/** How many callers with different limits are looked at: each takes up to 20 ms, by 10,000 rules. */
export const MAX_LOOKS = 64

/**
 * Finds the limits of callers by the names that their use is counted under. Callers of a kind are looked up only once.
 */
export class NamedLimitsOf {
  readonly #parts: NamedLimitsParts
  readonly #known = new Map<string, NamedLimits>()
  #isFull = false

  constructor(parts: NamedLimitsParts) {
    this.#parts = parts
  }

  /** More different callers were asked about than are looked at. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** of returns the limits of a customer without a key, or of a key. Undefined: it is full. */
  of(customerId: string, keyId: string): NamedLimits | undefined {
    const { book, entries } = this.#parts
    const account = keyId === '' ? book.customer(customerId) : book.key(keyId)
    const kind = kindOf(account, keyId)
    const known = this.#known.get(kind)
    if (known !== undefined) return known
    if (this.#known.size >= MAX_LOOKS) {
      this.#isFull = true
      return undefined
    }
    const found = (keyId === '' ? entries.customers : entries.keys).flatMap((key) =>
      limitsOfCaller(this.#parts, { key, account, value: undefined }),
    )
    const named = namedBy(found.filter(({ domain, rule }) => this.#refuses(domain, rule)))
    this.#known.set(kind, named)
    return named
  }

  /** #refuses is false for a rule that only reports, or is switched off. */
  #refuses(domain: string, rule: Rule): boolean {
    const mode = this.#parts.book.switches?.(domain, rule)
    return mode === undefined ? !rule.shadow : mode === 'enforce'
  }
}

/** Distinguishes callers whose limits may differ. */
function kindOf(account: CustomerRecord | KeyRecord | undefined, keyId: string): string {
  const place = keyId === '' ? 'customer' : 'key'
  if (account === undefined) return place
  const customer = account instanceof KeyRecord ? account.customer : account
  const hasOwn = account.overrides !== undefined || customer?.overrides !== undefined
  return JSON.stringify([place, account.tier ?? null, customer?.timeZone ?? 'UTC', hasOwn ? account.id : null])
}

function namedBy(found: readonly FoundLimit[]): NamedLimits {
  const named = new Map<string, NamedLimit & { readonly limits: Map<string, Limit> }>()
  for (const each of found) {
    const { domain, rule, limit, descriptor } = each
    const name = `${domain}/${rule.id}`
    const known = named.get(name) ?? { domain, ruleId: rule.id, limits: new Map(), isOneCounter: isOneCounter(each) }
    known.limits.set(pathOf(descriptor), limit)
    named.set(name, known)
  }
  return named
}

/**
 * isOneCounter says whether the rule leaves nothing open but who is calling. In quota mode, others have a say in what
 * it refuses.
 */
function isOneCounter({ rule: { path, quota }, callerAt }: FoundLimit): boolean {
  return !quota && path.every((step, i) => (i === callerAt || !step.isOpen) && step.sharedAs === undefined)
}
