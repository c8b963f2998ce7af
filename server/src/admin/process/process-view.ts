import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { splitStoredKey } from 'sluice/internal/core/keys'
import type { Entry } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Notice, Store } from 'sluice/internal/engine/ports'
import type { DoorObserver } from '../../observe/door-observer.ts'
import { CallerNames, type KnownCaller } from '../../observe/live/caller-names.ts'
import { LiveTally } from '../../observe/live/live-tally.ts'
import { NearLimits } from '../../observe/live/near-limits.ts'
import { Refusals, type RefusedRequest } from '../../observe/live/refusals.ts'
import { type CallerEntries, kindsOf } from '../../quotas/book/caller-entries.ts'
import { QuotaBook } from '../../quotas/book/quota-book.ts'
import { KeyRecord } from '../../quotas/book/records.ts'
import { customerOf, nameOf, targetOf } from '../callers/callers.ts'
import { keyOwners } from '../callers/key-owners.ts'
import type { CounterStore } from '../counters/counter-store.ts'
import { Counters } from '../counters/counters.ts'
import type { LimitState } from '../limits/limit-states.ts'
import type { OwnUsage } from '../limits/own-usage.ts'

export interface ProcessViewParts {
  readonly rules: () => RuleSet
  readonly quotas: (() => unknown) | undefined
  readonly entries: CallerEntries
  readonly keys: KeyEncoder
  /** The store that this process decides by. */
  readonly store: Store
}

/** What the views read from a process that decides: what it counted last, whom it refused, which keys it saw. */
export class ProcessView implements OwnUsage {
  readonly live = new LiveTally()
  readonly refusals: Refusals
  readonly nearLimits: NearLimits
  readonly #parts: ProcessViewParts
  readonly #counters: Counters

  constructor(parts: ProcessViewParts) {
    this.#parts = parts
    const kinds = kindsOf(parts.entries)
    const names = new CallerNames({
      rules: parts.rules,
      keys: parts.keys,
      secretKeys: parts.entries.keys,
      callerOf: (entry) => this.#callerOf(entry, kinds.get(entry.key)),
    })
    this.refusals = new Refusals(names)
    this.nearLimits = new NearLimits(names)
    this.#counters = new Counters({
      rules: parts.rules,
      book: () => this.#book(),
      entries: parts.entries,
      store: storeOf(parts),
      seen: async (ids) => new Map(Object.entries(this.seenKeys(ids))),
      met: async () => [],
      refusedCounters: async (target) => this.refusalsOf([nameOf(target)]).map(({ counter }) => counter),
      audited: async () => {},
    })
  }

  /** What has to hear of decisions. */
  get observers(): readonly DoorObserver[] {
    return [this.live, this.refusals, this.nearLimits]
  }

  /** Lists the refusals of the callers that are named, as `customer ID` or `key ID`; of all where none is. */
  refusalsOf(about: readonly string[] = []): readonly RefusedRequest[] {
    const names = new Set(about)
    if (names.size === 0) return this.refusals.list(() => true)
    return this.refusals.list(
      ({ customerId, keyId }) => names.has(`customer ${customerId}`) || names.has(`key ${keyId}`),
    )
  }

  seenKeys(ids: readonly string[] = []): Readonly<Record<string, string>> {
    const book = this.#book()
    return Object.fromEntries(
      ids.flatMap((id) => {
        const text = book?.key(id)?.seenAs
        return text === undefined ? [] : [[id, text]]
      }),
    )
  }

  /** Returns the ids of API keys' records, by how the keys are shown. */
  owners(shown: readonly string[] = []): Promise<Readonly<Record<string, string>>> {
    return keyOwners(this.#book(), this.#parts.keys, shown)
  }

  /** noticed forgets what a node, this one or another, has reset. */
  noticed({ kind, key }: Notice): void {
    if (kind === 'reset') this.nearLimits.forget(splitStoredKey(key).key)
    else if (kind === 'reset_domain') this.nearLimits.forgetDomain(key)
    else if (kind === 'reset_caller') void this.forget(key)
  }

  /** Resets what this process counts for a caller that another node was asked to reset. It never rejects. */
  async forget(caller: string): Promise<void> {
    const target = targetOf(caller)
    if (target === undefined) return
    try {
      for (const { key, limit } of await this.#counters.countersOf(target)) {
        // A reset needs no more of a limit than where it is counted.
        await this.#parts.store.reset(key, limit as Parameters<Store['reset']>[1])
      }
    } catch {
      // Redis is unavailable: the request for the reset got that as its error.
    } finally {
      // Last: what was decided before the reset may be remembered until then.
      const isCaller = ({ customerId, keyId }: KnownCaller): boolean =>
        target.kind === 'key' ? keyId === target.keyId : customerId === target.customerId
      this.nearLimits.forgetCaller(isCaller)
    }
  }

  /** Looks at the limits of an API key. A key that no one has takes the same looks. */
  async usageOf(apiKey: string): Promise<readonly LimitState[] | undefined> {
    const book = this.#book()
    const [entry] = this.#parts.entries.keys
    const account = book?.accounts?.('', { key: entry ?? '', value: apiKey })
    const limits = await this.#counters.limitsOfKey(apiKey, account instanceof KeyRecord ? account : undefined)
    return account instanceof KeyRecord ? limits : undefined
  }

  #book(): QuotaBook | undefined {
    const quotas = this.#parts.quotas?.()
    return quotas instanceof QuotaBook ? quotas : undefined
  }

  #callerOf(entry: Entry, kind: string | undefined): KnownCaller | undefined {
    if (kind !== 'keys' && kind !== 'customers') return undefined
    const account = this.#book()?.accounts?.('', entry)
    const keyId = account instanceof KeyRecord ? account.id : undefined
    const customerId = customerOf(account)?.id ?? (kind === 'customers' ? entry.value : undefined)
    return keyId === undefined && customerId === undefined ? undefined : { customerId, keyId }
  }
}

/** storeOf looks at counters as decisions see them. */
function storeOf({ keys, store }: ProcessViewParts): CounterStore {
  return {
    keys,
    look: async (key, limit, policy) =>
      (await store.decide([{ key, limit, cost: 0, enforce: true, ...(policy && { policy }) }]))[0],
    reset: async () => 0,
    tellCallers: () => {},
    state: () => 'up',
    redis: undefined,
    close: async () => {},
  }
}
