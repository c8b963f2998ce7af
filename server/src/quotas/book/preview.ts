import type { Limit } from 'sluice/internal/core/limit'
import type { Entry } from 'sluice/internal/core/request'
import { type Account, type AccountLookup, match, type TierLookup } from 'sluice/internal/core/rules/match'
import type { Domain, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { QuotaChange } from '../model.ts'
import { byEffect, inForce, OverrideRecord, pathOf } from './override-record.ts'
import type { QuotaBook } from './quota-book.ts'
import type { CustomerRecord, KeyRecord } from './records.ts'
import { StoredTiers } from './stored-tiers.ts'

/** UsageFigures are what customers have used. */
export interface UsageFigures {
  /** The most requests of a customer in one window of so long, last week; undefined where nobody knows. */
  peakPerWindow(customerId: string, descriptor: string, windowMs: number): number | undefined
}

/** A Preview is what a change would come to. */
export interface Preview {
  /** How many customers have another limit by it, or are refused by it. */
  readonly customers: number
  /** How many of last week's requests would have been refused, each customer at its peak. */
  readonly refused: number
  /** How many customers would have had some refused. */
  readonly refusedCustomers: number
  /** The same as a sentence. */
  readonly text: string
}

export interface PreviewInput {
  readonly book: QuotaBook
  readonly rules: RuleSet
  readonly change: QuotaChange
  readonly usage: UsageFigures
  readonly nowMs: number
}

/** previewChange says what a change would come to. It changes nothing; with 100,000 customers it takes up to half a second. */
export function previewChange(input: PreviewInput): Preview {
  let customers = 0
  let refused = 0
  let refusedCustomers = 0
  for (const { customer, lost } of outcomes(input)) {
    customers++
    const peak = lost(customer.id)
    refused += peak
    if (peak > 0) refusedCustomers++
  }
  return { customers, refused, refusedCustomers, text: textOf(input.change, customers, refused, refusedCustomers) }
}

function textOf({ table, record }: QuotaChange, customers: number, refused: number, refusedCustomers: number): string {
  const whose = refused === 0 ? '' : ` of ${counted(refusedCustomers, 'customer')}`
  const whom =
    table === 'blocks' && record?.subject.kind === 'cidr'
      ? `affects every caller in ${record.subject.cidr}`
      : `affects ${counted(customers, 'customer')}`
  return `at last week's peak: ${refused.toLocaleString('en')} refused${whose}; ${whom}`
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** An Outcome is a customer whom a change is about, and how many requests would have been lost at the peak. */
interface Outcome {
  readonly customer: CustomerRecord
  readonly lost: (customerId: string) => number
}

function* outcomes(input: PreviewInput): Iterable<Outcome> {
  const { book, change, usage } = input
  const none = (): number => 0
  const all = (id: string): number => usage.peakPerWindow(id, DEFAULT, HOUR_MS) ?? 0
  if (change.table === 'tiers') yield* ofTier(input, change)
  else if (change.table === 'overrides') yield* ofOverride(input, change)
  else if (change.table === 'switches') for (const customer of book.customers()) yield { customer, lost: none }
  else {
    const customer = customerOf(book, change)
    if (customer === undefined) return
    const { table, record } = change
    const isRefused =
      table === 'blocks' ? record !== undefined : table === 'customers' && record?.status === 'suspended'
    if (isRefused) yield { customer, lost: all }
    else if (table !== 'customers') yield { customer, lost: none }
    else
      yield { customer, lost: () => lostBy(input, customer, { account: withTier(customer, record?.tier) }, [DEFAULT]) }
  }
}

const DEFAULT = 'default'
/** What is refused altogether is counted by the hour. */
const HOUR_MS = 3_600_000

/** customerOf finds whom a change of a single record is about. */
function customerOf(book: QuotaBook, change: QuotaChange): CustomerRecord | undefined {
  if (change.table === 'customers') return book.customer(change.id)
  if (change.table === 'grants') return change.record && book.customer(change.record.customerId)
  if (change.table === 'api_keys')
    return book.key(change.id)?.customer ?? customerNamed(book, change.record?.customerId)
  if (change.table !== 'blocks' || change.record === undefined) return undefined
  const { subject } = change.record
  if (subject.kind === 'customer') return book.customer(subject.customerId)
  return subject.kind === 'key' ? book.key(subject.keyId)?.customer : undefined
}

function customerNamed(book: QuotaBook, id: string | undefined): CustomerRecord | undefined {
  return id === undefined ? undefined : book.customer(id)
}

type ChangeOf<T extends QuotaChange['table']> = Extract<QuotaChange, { table: T }>

function* ofTier(input: PreviewInput, { id, record }: ChangeOf<'tiers'>): Iterable<Outcome> {
  const { book } = input
  const name = record?.name ?? id.slice(id.indexOf('/') + 1)
  const changed = new StoredTiers()
  changed.put(id, record)
  const tiers: TierLookup = (domain, tiered, each) =>
    each === name && domain.name === id.slice(0, id.indexOf('/'))
      ? changed.find(domain, tiered, each)
      : book.tiers?.(domain, tiered, each)
  const descriptors = [DEFAULT, ...endpointsOf(record?.limits)]
  for (const customer of book.customers()) {
    if (customer.tier !== name) continue
    yield { customer, lost: () => lostBy(input, customer, { account: customer, tiers }, descriptors) }
  }
}

/** endpointsOf names what a tier says of single values, as overrides name it. */
function endpointsOf(limits: unknown): readonly string[] {
  const { descriptors = [] } = (limits ?? {}) as { descriptors?: readonly { key?: string; value?: string }[] }
  if (!Array.isArray(descriptors)) return []
  return descriptors.flatMap(({ key, value }) => (key && value && !value.includes('*') ? [`${key}:${value}`] : []))
}

function* ofOverride(input: PreviewInput, { id, record }: ChangeOf<'overrides'>): Iterable<Outcome> {
  const { book } = input
  const owner = record === undefined ? book.ownerOf(id) : ownerOf(book, record.subject)
  const customer = owner === undefined ? undefined : 'customer' in owner ? owner.customer : owner
  if (owner === undefined || customer === undefined) return
  const before = owner.overrides?.find((each) => each.id === id)
  const kept = (owner.overrides ?? []).filter((each) => each.id !== id)
  const overrides = record === undefined ? kept : [...kept, new OverrideRecord(record)].sort(byEffect)
  const paths = new Set([...(before ? [before.path] : []), ...(record ? [pathOf(record.descriptor)] : [])])
  const descriptors = [...paths].map((path) => (path === '' ? DEFAULT : path.replace('=', ':')))
  const account = withOverrides(owner, overrides, input.nowMs)
  yield { customer, lost: () => lostBy(input, customer, { account }, descriptors) }
}

function ownerOf(book: QuotaBook, subject: NonNullable<ChangeOf<'overrides'>['record']>['subject']) {
  return subject.kind === 'key' ? book.key(subject.keyId) : book.customer(subject.customerId)
}

function withTier(customer: CustomerRecord, tier: string | undefined): Account {
  return {
    tier,
    hasLimits: customer.hasLimits,
    ownLimit: (domain, path, rules, at) => customer.ownLimit(domain, path, rules, at),
  }
}

/** withOverrides is an account as it would be with other overrides. */
function withOverrides(
  owner: CustomerRecord | KeyRecord,
  overrides: readonly OverrideRecord[],
  nowMs: number,
): Account {
  const customer = 'customer' in owner ? owner.customer : owner
  return {
    tier: owner.tier,
    hasLimits: true,
    ownLimit: (domain, path, rules, at) => {
      const like = rules[0]?.unlimited === true ? undefined : rules[0]?.limit
      const own = inForce(overrides, path, nowMs)?.ownLimit(like, customer?.timeZone ?? 'UTC')
      return own ?? ('customer' in owner ? owner.customer?.ownLimit(domain, path, rules, at) : undefined)
    },
  }
}

/** lostBy is how many requests a customer would have lost at its peak, by the limits that it would have. */
function lostBy(
  { book, rules, usage }: PreviewInput,
  { id }: CustomerRecord,
  after: { readonly account: Account; readonly tiers?: TierLookup },
  descriptors: readonly string[],
): number {
  let lost = 0
  for (const descriptor of descriptors) {
    for (const { max, windowMs } of limitsAt(rules, after.account, after.tiers ?? book.tiers, descriptor)) {
      lost = Math.max(lost, (usage.peakPerWindow(id, descriptor, windowMs) ?? 0) - max)
    }
  }
  return lost
}

/** limitsAt lists the limits that apply to an account. */
function limitsAt(
  rules: RuleSet,
  account: Account,
  tiers: TierLookup | undefined,
  descriptor: string,
): readonly Limit[] {
  const limits: Limit[] = []
  const below = belowOf(descriptor)
  for (const domain of rules.domains.values()) {
    for (const caller of tieredEntries(domain)) {
      const lookup: AccountLookup = (_, entry) => (entry === caller ? account : undefined)
      for (const { limit, unlimited, path } of match(domain, [caller, ...below], undefined, lookup, tiers)) {
        if (!unlimited && path.length === 1 + below.length) limits.push(limit)
      }
    }
  }
  return limits
}

/** tieredEntries are entries that lead to the tiered patterns of a domain that take any value. */
function tieredEntries({ root }: Domain): readonly Entry[] {
  const isTiered = (node: RuleNode | undefined): boolean => node?.tiers !== undefined
  return [...root.branches].flatMap(([key, { any }]) => (isTiered(any) ? [{ key, value: '' }] : []))
}

function belowOf(descriptor: string): readonly Entry[] {
  const path = pathOf(descriptor)
  if (path === '') return []
  const at = path.indexOf('=')
  return [{ key: path.slice(0, at), value: path.slice(at + 1) }]
}
