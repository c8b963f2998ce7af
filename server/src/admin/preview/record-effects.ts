import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Limit } from 'sluice/internal/core/limit'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { BLOCKED } from 'sluice/internal/engine/quotas'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import { pathOf } from '../../quotas/book/override-record.ts'
import type { Callers, QuotaBook } from '../../quotas/book/quota-book.ts'
import type { Grant, Override } from '../../quotas/model.ts'
import type { CallerHour, CallerHours } from '../../quotas/usage/caller-hours.ts'
import type { CountRange, PreviewOutcome, TrafficPeriod } from '../api/change.ts'
import type { Offered } from '../api/parts.ts'
import { type Affected, affectedBy, type RecordChange } from './affected.ts'
import { changedBook } from './changed-book.ts'
import { type LimitPlace, LimitSums } from './limit-sums.ts'
import { MAX_LOOKS, type NamedLimit, NamedLimitsOf } from './named-limits.ts'
import { refusedAfter } from './refused-after.ts'

export interface RecordEffectsParts {
  readonly rules: RuleSet
  readonly book: QuotaBook
  readonly entries: CallerEntries
  readonly keys: KeyEncoder
  /** Undefined: use is not kept. */
  readonly hours: Offered<CallerHours> | undefined
  readonly nowMs: number
}

const HOUR_MS = 3_600_000
const WEEK_MS = 168 * HOUR_MS
/** How many callers are compared with what they did. */
const MAX_COMPARED = 100
const MAX_ROWS = 10_000

/** RecordEffects compares what callers did with what they might do under changed records. */
export class RecordEffects {
  readonly #parts: RecordEffectsParts
  readonly #changes: readonly RecordChange[]
  readonly #affected: Affected
  readonly #before: NamedLimitsOf
  readonly #after: NamedLimitsOf

  constructor(changes: readonly RecordChange[], parts: RecordEffectsParts) {
    this.#parts = parts
    this.#changes = changes
    this.#affected = affectedBy(changes, parts.book)
    this.#before = new NamedLimitsOf(parts)
    const { book, nowMs } = parts
    this.#after = new NamedLimitsOf({ ...parts, book: changedBook(changes, book, this.#affected, nowMs) })
  }

  async outcome(): Promise<PreviewOutcome> {
    const { customers, keys, hasAddresses } = this.#affected
    const count = customers.size + keys.size
    const traffic = await this.#traffic(count)
    const isUnknown = typeof traffic === 'string'
    return {
      affectedCustomers: hasAddresses ? undefined : count,
      traffic: isUnknown ? [] : traffic,
      trafficUnknown: isUnknown ? traffic : undefined,
      notes: [],
    }
  }

  /** #traffic returns why nothing is known, where that is so. */
  async #traffic(count: number): Promise<readonly TrafficPeriod[] | string> {
    const { hours, nowMs } = this.#parts
    if (this.#affected.hasAddresses) return 'Use is counted by customer, not by address.'
    if (hours === undefined) return 'Use is not kept: there is no database.'
    if (count > MAX_COMPARED) {
      return `It affects ${count.toLocaleString('en')} customers, and use is compared for up to ${MAX_COMPARED}.`
    }
    const thisHourMs = nowMs - (nowMs % HOUR_MS)
    const busiestMs = await hours.busiest(this.#affected, thisHourMs - WEEK_MS, thisHourMs)
    const now = await this.#period('this_hour', thisHourMs, nowMs)
    const busiest =
      busiestMs === undefined ? undefined : await this.#period('busiest_hour', busiestMs, busiestMs + HOUR_MS)
    if (typeof now === 'string') return now
    if (typeof busiest === 'string') return busiest
    if (busiest === undefined && now.rows === 0) return 'No request of theirs was counted in the last week.'
    return [now, ...(busiest === undefined ? [] : [busiest])].map(({ period }) => period)
  }

  async #period(kind: TrafficPeriod['kind'], fromMs: number, toMs: number) {
    const rows = (await this.#parts.hours?.inHour(this.#affected, fromMs, MAX_ROWS + 1)) ?? []
    if (rows.length > MAX_ROWS) return `Their use is more than ${MAX_ROWS.toLocaleString('en')} rows an hour.`
    const sums = new LimitSums()
    for (const row of rows) this.#addEffect(sums, row, rows, { fromMs, toMs: Math.max(toMs, fromMs + 1) })
    for (const limit of this.#newLimits()) sums.addUncounted(limit)
    if (this.#before.isFull || this.#after.isFull) return `More than ${MAX_LOOKS} of them have individual limits.`
    return { rows: rows.length, period: { kind, fromMs, toMs, ...sums.listed() } }
  }

  #addEffect(sums: LimitSums, row: CallerHour, rows: readonly CallerHour[], span: Span): void {
    const { stopped, freed } = this.#affected
    const before = limitOf(this.#before, row)
    const after = limitOf(this.#after, row)
    const place = before ?? after ?? placeOf(row.limit, this.#parts.rules)
    const all = row.allowed + row.refused
    if (has(stopped, row)) {
      sums.add(place, row, { atLeast: all, atMost: all }, undefined)
      return
    }
    if (has(freed, row)) {
      if (place.ruleId === BLOCKED) sums.add(place, row, undefined, UNASKED)
      return
    }
    const hasOthers = rows.some((other) => other !== row && sharesCaller(other, row, place.domain))
    const effect = this.#effectOf(row, { before, after, hasOthers, ...span })
    if (effect !== undefined) sums.add(place, row, effect.range, effect.why)
  }

  /** #effectOf is undefined where nothing changes. */
  #effectOf(row: CallerHour, compared: Compared): Effect | undefined {
    const { before, after } = compared
    const changed = changedLimits(before, after)
    if (changed.length === 0) return this.#granted(row, compared)
    if (changed.length === 1 && before?.limits.size === 1 && after?.limits.size === 1) {
      const isOneCounter = before.isOneCounter && after.isOneCounter
      const { why, ...range } = refusedAfter(row, { ...compared, ...changed[0], isOneCounter })
      return { range, why }
    }
    // Some of the counters that were counted together: each is held to its own change.
    const each = changed.map((pair) => refusedAfter(row, { ...compared, ...pair, isOneCounter: false }))
    const atLeast = Math.min(row.refused, ...each.map((bounds) => bounds.atLeast))
    const atMost = Math.max(row.refused, ...each.map((bounds) => bounds.atMost))
    return { range: { atLeast, atMost }, why: atLeast === atMost ? undefined : TOGETHER }
  }

  /** #granted is what extra budget would come to: requests that a limit refuses are charged to it. */
  #granted(row: CallerHour, { after, hasOthers }: Compared): Effect | undefined {
    const grants = this.#changes.filter(
      (change) =>
        change.table === 'grants' && after?.limits.has(pathOf(((change.after ?? change.before) as Grant).descriptor)),
    )
    if (grants.length === 0) return undefined
    if (grants.some((change) => change.after === undefined)) return { range: undefined, why: GRANTED }
    const amount = grants.reduce((sum, change) => sum + (change.after as Grant).amount, 0)
    const costsOne = row.cost === row.allowed
    const atLeast = costsOne ? Math.max(0, row.refused - amount) : 0
    const isAlone = costsOne && !hasOthers && after?.limits.size === 1 && after.isOneCounter
    const atMost = isAlone ? atLeast : row.refused
    return { range: { atLeast, atMost }, why: atLeast === atMost ? undefined : SHARED_GRANT }
  }

  /** #newLimits are limits that were none before: what they would have refused, was not counted. */
  *#newLimits(): Iterable<NamedLimit> {
    for (const [customerId, keyId] of this.#examples()) {
      const before = this.#before.of(customerId, keyId)
      for (const [name, limit] of this.#after.of(customerId, keyId) ?? []) if (!before?.has(name)) yield limit
    }
  }

  /**
   * #examples are callers who stand for all that are affected: a customer, one of its keys, and keys that are named.
   */
  *#examples(): Iterable<readonly [customerId: string, keyId: string]> {
    const [customerId] = this.#affected.customers
    if (customerId !== undefined) yield [customerId, '']
    const named = new Set(this.#changes.flatMap(({ after }) => keyNamedIn(after) ?? []).slice(0, MAX_EXAMPLES))
    let isFirst = true
    for (const { id, customer } of this.#parts.book.keys()) {
      const isExample = isFirst && customer !== undefined && customer.id === customerId
      if (!isExample && !named.has(id)) continue
      if (isExample) isFirst = false
      yield [customer?.id ?? '', id]
    }
  }
}

const MAX_EXAMPLES = 8
const GRANTED = 'What the grant admitted was not counted apart.'
const SHARED_GRANT = 'Other requests may use the grant up, and other limits may refuse these.'
const TOGETHER = 'It has a counter for each value, and use is known for all of them together.'
const UNASKED = 'No limit was asked about requests that were blocked.'

interface Effect {
  readonly range: CountRange | undefined
  readonly why: string | undefined
}

/** limitOf finds the limit of a row. A request may name a key first, and be counted by the limit of its customer. */
function limitOf(limits: NamedLimitsOf, { customerId, keyId, limit }: CallerHour): NamedLimit | undefined {
  return limits.of(customerId, keyId)?.get(limit) ?? (keyId === '' ? undefined : limits.of(customerId, '')?.get(limit))
}

function keyNamedIn(record: unknown): string | undefined {
  const { subject } = (record ?? {}) as Partial<Override>
  return subject?.kind === 'key' ? subject.keyId : undefined
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

interface Compared extends Span {
  readonly before: NamedLimit | undefined
  readonly after: NamedLimit | undefined
  readonly hasOthers: boolean
}

interface Pair {
  readonly before: Limit | undefined
  readonly after: Limit | undefined
}

function changedLimits(before: NamedLimit | undefined, after: NamedLimit | undefined): readonly Pair[] {
  const paths = new Set([...(before?.limits.keys() ?? []), ...(after?.limits.keys() ?? [])])
  return [...paths]
    .map((path): Pair => ({ before: before?.limits.get(path), after: after?.limits.get(path) }))
    .filter(({ before: was, after: will }) => !isSame(was, will))
}

function isSame(a: Limit | undefined, b: Limit | undefined): boolean {
  return a?.max === b?.max && a?.capacity === b?.capacity && a?.shape === b?.shape && a?.countDenied === b?.countDenied
}

const has = ({ customers, keys }: Callers, { customerId, keyId }: CallerHour): boolean =>
  customers.has(customerId) || (keyId !== '' && keys.has(keyId))

/** Returns whether another limit decided about requests of the same caller, in the same domain. */
function sharesCaller(other: CallerHour, row: CallerHour, domain: string): boolean {
  return (
    other.customerId === row.customerId &&
    (other.keyId === row.keyId || (row.customerId !== '' && (other.keyId === '' || row.keyId === ''))) &&
    other.limit.startsWith(`${domain}/`) &&
    other.limit !== `${domain}/${BLOCKED}` &&
    other.allowed + other.refused > 0
  )
}

/** placeOf reads the name that use is counted under. */
function placeOf(name: string, { domains }: RuleSet): LimitPlace {
  const known = [...domains.keys()].find((domain) => name.startsWith(`${domain}/`))
  const domain = known ?? name.slice(0, Math.max(0, name.indexOf('/')))
  return { domain, ruleId: name.slice(domain.length + 1) }
}
