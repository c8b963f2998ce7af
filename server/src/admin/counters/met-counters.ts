import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Entry } from 'sluice/internal/core/request'
import type { HotKeysReport } from '../../observe/hot-keys/hot-keys-report.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { LastUse, MetCounter } from '../callers/caller-ways.ts'
import { type CallerTarget, keysOf, MAX_SHOWN_KEYS, type SeenKeys } from '../callers/callers.ts'
import { shownSecret } from '../callers/key-owners.ts'
import type { NearLimit } from '../refusals/read-callers.ts'
import type { FleetCallers } from '../refusals/recent-callers.ts'
import { HASHED, unescaped } from '../top/fleet-top.ts'

export interface MetCountersParts {
  readonly recent: FleetCallers
  /** The busiest keys of the fleet. */
  readonly hotKeys: () => Promise<HotKeysReport>
  readonly book: () => QuotaBook | undefined
  readonly entries: CallerEntries
  readonly keys: KeyEncoder
  readonly seen: SeenKeys
}

/** Whose the entries of counters are. */
interface Owners {
  /** By the value as counters have it: the id of an API key's record, or undefined for the customer. */
  readonly byValue: ReadonlyMap<string, string | undefined>
  /** The ids of all of the caller's keys, whether requests have carried them to this node or not. */
  readonly keyIds: ReadonlySet<string>
}

/**
 * Finds the counters of a customer, or of a key, that nodes remember: counters that refused, counters that are nearly
 * used up, and busy ones of the last day. A counter whose name holds a secret that is not the caller's key is left out:
 * its value is not known.
 */
export class MetCounters {
  readonly #parts: MetCountersParts

  constructor(parts: MetCountersParts) {
    this.#parts = parts
  }

  /** of never rejects: a node that does not answer is left out. */
  async of(target: CallerTarget): Promise<readonly MetCounter[]> {
    const { recent, hotKeys } = this.#parts
    const [owners, refusals, near, report] = await Promise.all([
      this.#ownersOf(target),
      recent.refusals('fleet', target),
      recent.nearLimits('fleet'),
      hotKeys(),
    ])
    const refused = refusals.items.map(({ domain, key, keyId }) => this.#metIn(domain, splitShown(key), owners, keyId))
    const used = near.items.map((each) => {
      const met = this.#metIn(each.domain, splitShown(each.key), owners, each.keyId)
      return met && { ...met, use: lastUseOf(each) }
    })
    const busy = report.rules.flatMap(({ domain, windows }) => {
      const { refused: most, active } = windows[1_440]
      return [...most.keys, ...active.keys].map(([key]) => this.#metIn(domain, splitEscaped(key), owners))
    })
    return [...refused, ...used, ...busy].filter((each) => each !== undefined)
  }

  async #ownersOf(target: CallerTarget): Promise<Owners> {
    const { book: current, seen, keys } = this.#parts
    const book = current()
    const ids =
      book === undefined
        ? []
        : keysOf(book, target)
            .slice(0, MAX_SHOWN_KEYS)
            .map(({ id }) => id)
    const texts = await seen(ids)
    const ofKeys = [...texts].flatMap(([id, text]): [string, string][] => [
      [`key ${text}`, id],
      [`key ${shownSecret(keys, text)}`, id],
    ])
    const byValue = new Map<string, string | undefined>([
      ...ofKeys,
      ...(target.kind === 'customer' ? [[`customer ${target.customerId}`, undefined] as const] : []),
    ])
    return { byValue, keyIds: new Set(ids) }
  }

  /**
   * Finds the caller among the entries of a counter. `tracedTo` is the key that the node found which has met the
   * counter: no request may have carried that key to this one. Undefined: the counter is another caller's, or holds
   * another secret.
   */
  #metIn(domain: string, entries: readonly Entry[], owners: Owners, tracedTo?: string): MetCounter | undefined {
    const { byValue, keyIds } = owners
    const known = entries.findIndex((each) => byValue.has(this.#ownerName(each)))
    const isTraced = known < 0 && tracedTo !== undefined && keyIds.has(tracedTo)
    const at = isTraced ? entries.findIndex(({ key }) => this.#parts.entries.keys.includes(key)) : known
    if (at < 0 || entries.some(({ value }, i) => i !== at && HASHED.test(value))) return undefined
    const { [at]: caller } = entries
    const keyId = isTraced ? tracedTo : byValue.get(this.#ownerName(caller))
    return { domain, keyId, key: caller.key, above: entries.slice(0, at), below: entries.slice(at + 1) }
  }

  #ownerName({ key, value }: Entry): string {
    const { entries } = this.#parts
    return entries.keys.includes(key) ? `key ${value}` : entries.customers.includes(key) ? `customer ${value}` : ''
  }
}

const lastUseOf = ({ rule, limit, remaining, resetAtMs }: NearLimit): LastUse => ({
  ...{ ruleId: rule, limit, remaining, resetAtMs },
})

/** splitShown reads a counter as it is shown: a value may hold anything but `|NAME=`. */
function splitShown(text: string): readonly Entry[] {
  return text.split(/\|(?=[^|=]+=)/).map(entryOf)
}

/** splitEscaped reads a counter as its key has it, where separators in values are escaped. */
function splitEscaped(text: string): readonly Entry[] {
  return text.split('|').map((part) => {
    const { key, value } = entryOf(part)
    return { key: unescaped(key), value: unescaped(value) }
  })
}

function entryOf(part: string): Entry {
  const at = part.indexOf('=')
  return at < 0 ? { key: part, value: '' } : { key: part.slice(0, at), value: part.slice(at + 1) }
}
