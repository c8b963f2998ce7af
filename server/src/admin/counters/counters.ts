import type { Verdict } from 'sluice/internal/core/decision'
import type { Limit } from 'sluice/internal/core/limit'
import type { Entry } from 'sluice/internal/core/request'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import { describeRule } from 'sluice/internal/core/rules/describe'
import { explain } from 'sluice/internal/core/rules/explain'
import { type Account, stepInto, tierOf } from 'sluice/internal/core/rules/match'
import type { Domain, Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { amountOf } from 'sluice/internal/engine/payer'
import { weightOf } from 'sluice/internal/engine/plan'
import { payingCustomer } from '../../ledger/rules/paying-customer.ts'
import { shownKey } from '../../observe/shown-entries.ts'
import type { Actor } from '../../quotas/audit/actor.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { type CustomerRecord, KeyRecord } from '../../quotas/book/records.ts'
import type { CounterTarget } from '../api/change.ts'
import { partKey } from '../api/parts.ts'
import type { LastUse, MetCounter } from '../callers/caller-ways.ts'
import {
  type Caller,
  type CallerTarget,
  callersOf,
  customerOf,
  MAX_SHOWN_KEYS,
  type SeenKeys,
} from '../callers/callers.ts'
import { descriptorOf, pathText } from '../callers/entry-paths.ts'
import {
  type FoundGrant,
  type FoundLimit,
  grantsOf,
  limitsOfCaller,
  limitsOfCallers,
  sourceOf,
} from '../limits/caller-limits.ts'
import type { LimitSource, LimitState, LimitStates } from '../limits/limit-states.ts'
import type { Counter, CounterStore } from './counter-store.ts'
import { windowOf } from './window.ts'

/** A LookedCounter is one rule that applies to a descriptor, and its counter as it is. Nothing was charged. */
export interface LookedCounter {
  /** The position of the descriptor. */
  readonly descriptor: number
  readonly ruleId: string
  readonly ruleName: string
  /** The limit in words, as `sluice check` has it. */
  readonly described: string
  readonly isUnlimited: boolean
  readonly isShadow: boolean
  readonly switchedTo: 'off' | 'shadow' | 'enforce' | undefined
  readonly source: LimitSource
  /** As it may be shown: secrets are hashed. */
  readonly key: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** 0: a request of cost 1 would be admitted now. */
  readonly retryAfterMs: number
  /** No wait would help: the limit is smaller than the cost. */
  readonly isImpossible: boolean
  /** Whose request it is, where an entry on the way to the rule names a customer or carries an API key. */
  readonly customerId?: string | undefined
  /** The meter that pays for what the limit admits, what a request of cost 1 takes of it, and who pays. */
  readonly ledger?: LookedMeter | undefined
  /** Of a counter that refuses: extra budget of the caller, in the order of its use. */
  readonly grants?: readonly LookedGrant[]
}

export interface LookedMeter {
  readonly meter: string
  readonly takes: number
  /** Undefined: no entry leads to a customer. */
  readonly customerId: string | undefined
}

export interface LookedGrant {
  readonly id: string
  readonly remaining: number
}

/** A LookedBlock is why a request is refused before any rule is asked. */
export interface LookedBlock {
  readonly id: string
  readonly reason: string | undefined
  readonly status: number
  /** Undefined: without end. */
  readonly endsInMs: number | undefined
}

/** A DefaultLimit is the limit of a rule that an API key leads to, without anything of the key's own. */
export interface DefaultLimit {
  readonly domain: string
  readonly ruleId: string
  readonly ruleName: string
  readonly requestsPerUnit: number
  readonly unit: string
}

export type DescriptorTarget = CounterTarget & { readonly kind: 'descriptors' }

export interface CountersParts {
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
  readonly entries: CallerEntries
  readonly store: CounterStore
  readonly seen: SeenKeys
  /** Counters of a caller that nodes remember, whatever rules name. */
  readonly met: (target: CallerTarget) => Promise<readonly MetCounter[]>
  /** Counters that refused a caller lately, which no rule names by its value. */
  readonly refusedCounters: (target: CallerTarget) => Promise<readonly Counter[]>
  /** audited notes a reset. It rejects when that cannot be done: then nothing is reset. */
  readonly audited: (action: string, target: { readonly kind: string; readonly id: string }, by: Actor) => Promise<void>
  readonly nowMs?: () => number
}

/** Counters looks at counters through rules and the book, as decisions do, and forgets them. */
export class Counters {
  readonly #parts: CountersParts
  readonly #nowMs: () => number

  constructor(parts: CountersParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  async look({ domain: name, descriptors }: DescriptorTarget): Promise<readonly LookedCounter[]> {
    const domain = this.#parts.rules().domains.get(name)
    if (domain === undefined) return []
    const looked = descriptors.map((all, at) => this.#lookAt(domain, all, at))
    return (await Promise.all(looked)).flat()
  }

  blockOf({ domain, descriptors }: DescriptorTarget): LookedBlock | undefined {
    const blocked = this.#parts.book()?.blocks?.({ domain, descriptors: descriptors.map((entries) => ({ entries })) })
    if (blocked === undefined) return undefined
    const { block, endsInMs } = blocked
    return { id: block.id, reason: block.reason, status: block.status, endsInMs }
  }

  async limitsOf(target: CallerTarget): Promise<LimitStates> {
    const book = this.#parts.book()
    if (book === undefined) return { limits: [], omitted: 0 }
    const customer = target.kind === 'customer' ? book.customer(target.customerId) : customerOf(book.key(target.keyId))
    const { entries, seen, met } = this.#parts
    const [callers, remembered] = await Promise.all([
      callersOf(book, entries, target, seen, MAX_SHOWN_KEYS),
      met(target),
    ])
    const { found, omitted } = limitsOfCallers(this.#places(), callers, remembered)
    return { limits: await this.#statesOf(found, customer, usesIn(remembered)), omitted }
  }

  /** limitsOfKey returns the known limits of a key itself, whether anybody has it or not. */
  limitsOfKey(apiKey: string, account: KeyRecord | undefined): Promise<readonly LimitState[]> {
    const callers = this.#parts.entries.keys.map((key): Caller => ({ key, value: apiKey, account }))
    const found = callers.flatMap((caller) => limitsOfCaller(this.#places(), caller))
    return this.#statesOf(found, customerOf(account))
  }

  #places() {
    const { store, rules, book } = this.#parts
    return { rules: rules(), book: book(), keys: store.keys }
  }

  async #statesOf(
    found: readonly FoundLimit[],
    customer: CustomerRecord | undefined,
    uses: ReadonlyMap<string, LastUse> = new Map(),
  ): Promise<readonly LimitState[]> {
    const { store } = this.#parts
    const grants = grantsOf(customer, store.keys, this.#nowMs())
    const states = found.map(async (limit) => {
      if (limit.key === undefined) return this.#usedElsewhere(this.#stateOf(limit, undefined), limit, uses)
      return this.#stateOf(limit, await store.look(limit.key, limit.limit, limit.rule))
    })
    const extra = grants.map(async (grant) => this.#grantState(grant, await store.look(grant.key, grant.limit)))
    return Promise.all([...states, ...extra])
  }

  async reset(target: CounterTarget, by: Actor): Promise<number> {
    const { store, audited } = this.#parts
    const counters = await this.countersOf(target)
    await audited('counters.reset', auditTarget(target), by)
    const count = await store.reset(counters)
    if (target.kind !== 'descriptors')
      store.tellCallers(`${target.kind} ${target.kind === 'key' ? target.keyId : target.customerId}`)
    return count
  }

  /** countersOf lists all counters that a reset forgets: under every tier, so that a change of tier forgives too. */
  async countersOf(target: CounterTarget): Promise<readonly Counter[]> {
    const found = target.kind === 'descriptors' ? this.#countersAt(target) : await this.#countersOfCallers(target)
    return [...new Map(found.map((counter) => [`${counter.key} ${counter.limit.shape}`, counter])).values()]
  }

  isApiKey(key: string): boolean {
    return this.#parts.entries.keys.includes(key)
  }

  /** Returns the limit of the first rule that API keys lead to, under a tier. */
  defaultOf(tier: string | undefined): DefaultLimit | undefined {
    const book = this.#parts.book()
    for (const domain of this.#parts.rules().domains.values()) {
      for (const key of this.#parts.entries.keys) {
        const node = stepInto(domain.root, { key, value: '' })
        if (node === undefined) continue
        const set = tierOf(domain, node, tier, book?.tiers)
        const [rule] = set !== undefined && set.rules.length > 0 ? set.rules : node.rules
        if (rule === undefined || rule.unlimited) continue
        const unit = unitOf(rule.limit)
        if (unit === undefined) continue
        return { domain: domain.name, ruleId: rule.id, ruleName: rule.name, requestsPerUnit: rule.limit.max, unit }
      }
    }
    return undefined
  }

  async #lookAt(domain: Domain, all: readonly Entry[], descriptor: number): Promise<readonly LookedCounter[]> {
    const { store } = this.#parts
    const book = this.#parts.book()
    const { entries, tier } = withoutTier(domain, all)
    const { rules, sources } = explain(domain, entries, tier, book?.accounts, book?.tiers)
    return Promise.all(
      rules.map(async (rule, i): Promise<LookedCounter> => {
        const { account, path } = this.#accountAt(domain, rule, entries)
        const key = store.keys.encode(domain.name, rule, entries)
        const verdict = rule.unlimited ? undefined : await store.look(key, rule.limit, rule)
        const grants = verdict?.allowed === false ? await this.#grantsFor(account, path) : []
        return {
          descriptor,
          ruleId: rule.id,
          ruleName: rule.name,
          described: describeRule(rule),
          isUnlimited: rule.unlimited,
          isShadow: rule.shadow,
          switchedTo: book?.switches?.(domain.name, rule),
          source: sourceOf(sources[i], book),
          key: `${domain.name}|${rule.id}|${this.#shown(domain, rule, entries)}`,
          ...figuresOf(rule.limit, verdict),
          customerId: customerOf(account)?.id,
          ledger: rule.ledger && {
            meter: rule.ledger.meter,
            takes: amountOf(weightOf(rule, all), rule.ledger),
            customerId: payingCustomer(book?.accounts, entries),
          },
          grants,
        }
      }),
    )
  }

  /** Returns a key as it may be shown: secrets and API keys as hashes. */
  #shown(domain: Domain, rule: Rule, entries: readonly Entry[]): string {
    const secretKeys = new Set([...domain.secretKeys, ...this.#parts.entries.keys])
    return shownKey({ rule, entries }, { ...domain, secretKeys }, this.#parts.store.keys)
  }

  /** #accountAt finds the caller nearest to a rule on the way there, and what stands below. */
  #accountAt(domain: Domain, { path: steps }: Rule, entries: readonly Entry[]) {
    const lookup = this.#parts.book()?.accounts
    for (let i = steps.length - 1; i >= 0; i--) {
      const account = lookup?.(domain.name, entries[i])
      if (account !== undefined) return { account, path: pathText(entries.slice(i + 1, steps.length)) }
    }
    return { account: undefined, path: '' }
  }

  async #grantsFor(account: Account | undefined, path: string): Promise<readonly LookedGrant[]> {
    const { store } = this.#parts
    const grants = grantsOf(customerOf(account), store.keys, this.#nowMs()).filter(({ grant }) => grant.path === path)
    const verdicts = await Promise.all(grants.map(({ key, limit }) => store.look(key, limit)))
    return grants.map(({ grant }, i) => ({ id: grant.id, remaining: verdicts[i].remaining }))
  }

  #countersAt({ domain: name, descriptors }: DescriptorTarget): readonly Counter[] {
    const { store, rules } = this.#parts
    const domain = rules().domains.get(name)
    if (domain === undefined) return []
    return descriptors.flatMap((all) => {
      const { entries, tier } = withoutTier(domain, all)
      return allRules(domain, entries, tier, this.#parts.book()).map((rule) => ({
        key: store.keys.encode(name, rule, entries),
        limit: rule.limit,
      }))
    })
  }

  async #countersOfCallers(target: CallerTarget): Promise<readonly Counter[]> {
    const { store, entries, seen, met, refusedCounters } = this.#parts
    const book = this.#parts.book()
    if (book === undefined) return []
    const places = this.#places()
    const [callers, remembered] = await Promise.all([callersOf(book, entries, target, seen), met(target)])
    const known = callers.flatMap((caller) => [
      ...limitsOfCaller(places, caller, remembered),
      // What was counted before an override or a tier is forgiven with the rest.
      ...limitsOfCaller(places, { ...caller, account: undefined }),
    ])
    const counters = known.flatMap(({ key, limit }) => (key === undefined ? [] : [{ key, limit }]))
    const customer = target.kind === 'customer' ? book.customer(target.customerId) : undefined
    const grants = grantsOf(customer, store.keys, this.#nowMs())
    return [...counters, ...grants, ...(await refusedCounters(target))]
  }

  /**
   * Adds what another node saw last of a counter that this one cannot name, because no request has carried its key
   * here.
   */
  #usedElsewhere(state: LimitState, found: FoundLimit, uses: ReadonlyMap<string, LastUse>): LimitState {
    const { domain, rule, caller, above, descriptor, limit } = found
    const keyId = caller.account instanceof KeyRecord ? caller.account.id : undefined
    const use = uses.get(useName(domain, rule.id, keyId, caller.key, above, descriptor))
    const resetAfterMs = (use?.resetAtMs ?? 0) - this.#nowMs()
    if (use?.limit !== limit.max || resetAfterMs <= 0) return state
    const { remaining } = use
    const used = Math.max(0, limit.max - remaining)
    return { ...state, used, remaining, ...windowOf(limit, resetAfterMs, this.#nowMs()), isUseKnown: true }
  }

  #stateOf(found: FoundLimit, verdict: Verdict | undefined): LimitState {
    const { domain, above, descriptor, rule, limit, source, caller, isPattern } = found
    const { account } = caller
    const key = account instanceof KeyRecord ? { keyId: account.id, keyPrefix: account.prefix } : {}
    const { used, remaining } = figuresOf(limit, verdict)
    const window = windowOf(limit, verdict?.resetAfterMs ?? 0, this.#nowMs())
    const isAnswered = verdict !== undefined && verdict.fallback === undefined
    const isUseKnown = !isPattern && (isAnswered || this.#parts.store.state() === 'memory')
    return {
      ...{ descriptor, above, domain, ruleId: rule.id, ruleName: rule.name, source, isPattern },
      ...{ limit: limit.max, used, remaining, windowMs: limit.windowMs, unit: unitOf(limit) },
      ...{ timeZone: limit.calendar?.timeZone, ...window, ...key, isUseKnown },
    }
  }

  #grantState({ grant, limit }: FoundGrant, verdict: Verdict): LimitState {
    const { used, remaining } = figuresOf(limit, verdict)
    const endMs = Number.isFinite(grant.expiresAtMs) ? grant.expiresAtMs : this.#nowMs() + limit.windowMs
    const descriptor = grant.path === '' ? 'default' : grant.path.replace('=', ':')
    const span = { windowStartMs: grant.effectiveAtMs, resetAtMs: endMs, windowMs: endMs - grant.effectiveAtMs }
    const source = { kind: 'grant', id: grant.id } as const
    return {
      ...{ descriptor, above: '', domain: '', ruleId: 'grant', ruleName: 'grant', source, isPattern: false },
      ...{ limit: grant.amount, used, remaining, unit: undefined, timeZone: undefined, ...span },
    }
  }
}

function usesIn(met: readonly MetCounter[]): ReadonlyMap<string, LastUse> {
  const named = met.flatMap(({ domain, keyId, key, above, below, use }): [string, LastUse][] =>
    use === undefined ? [] : [[useName(domain, use.ruleId, keyId, key, pathText(above), descriptorOf(below)), use]],
  )
  return new Map(named)
}

const useName = (...parts: readonly (string | undefined)[]): string => JSON.stringify(parts)

/** Returns the figures of a counter. Without a verdict nothing is used. */
export function figuresOf(limit: Limit, verdict: Verdict | undefined) {
  const remaining = verdict?.remaining ?? limit.capacity
  return {
    limit: limit.max,
    used: Math.max(0, limit.capacity - remaining),
    remaining,
    resetAfterMs: verdict?.resetAfterMs ?? 0,
    retryAfterMs: verdict?.kind === 'refused' ? verdict.retryAfterMs : 0,
    isImpossible: verdict?.kind === 'impossible',
  }
}

/** unitOf names a window by its unit, where it is one. */
export function unitOf({ calendar, windowMs }: Limit): string | undefined {
  return calendar?.unit ?? Object.entries(UNIT_MS).find(([, ms]) => ms === windowMs)?.[0]
}

/** withoutTier sets the tier apart, as the service does: in a domain with tiers it takes no part in matching. */
function withoutTier(domain: Domain, all: readonly Entry[]) {
  const tier = domain.hasTiers ? all.find(({ key }) => key === 'tier')?.value : undefined
  return { tier, entries: tier === undefined ? all : all.filter(({ key }) => key !== 'tier') }
}

function allRules(
  domain: Domain,
  entries: readonly Entry[],
  tier: string | undefined,
  book: QuotaBook | undefined,
): readonly Rule[] {
  const { rules, tiers } = explain(domain, entries, tier, book?.accounts, book?.tiers)
  const ofTiers = tier === undefined ? tiers.flatMap((each) => each.rules) : []
  return [...new Set([...rules, ...ofTiers])].filter(({ unlimited }) => !unlimited)
}

function auditTarget(target: CounterTarget): { readonly kind: string; readonly id: string } {
  if (target.kind === 'customer') return { kind: 'customers', id: target.customerId }
  if (target.kind === 'key') return { kind: 'api_keys', id: target.keyId }
  // Values may be secrets: the keys say enough of what was meant.
  return {
    kind: 'counters',
    id: `${target.domain} ${target.descriptors.map((each) => each.map(({ key }) => key).join('/')).join(', ')}`,
  }
}

export const COUNTERS =
  partKey<Pick<Counters, 'look' | 'blockOf' | 'limitsOf' | 'reset' | 'defaultOf' | 'isApiKey'>>('counters')
