import type { CheckRequest, Entry } from 'sluice/internal/core/request'
import type { Account, AccountLookup, TierLookup } from 'sluice/internal/core/rules/match'
import type {
  BlockedBy,
  BlockLookup,
  GrantLookup,
  KnownGrant,
  LayerLookup,
  Quotas,
  SwitchLookup,
} from 'sluice/internal/engine/quotas'
import { tierId } from '../../admin/tiers/table.ts'
import type { ApiKey, Customer, Grant, Override, QuotaChange, QuotaRecords, QuotaTable, StoredTier } from '../model.ts'
import { BlockList } from './block-list.ts'
import { CALLER_ENTRIES, type CallerEntries, type CallerKind, kindsOf } from './caller-entries.ts'
import { byEnd, GrantRecord } from './grant-record.ts'
import { KeyFinder, type KeyHash } from './key-finder.ts'
import { byEffect, OverrideRecord, scopeOf } from './override-record.ts'
import type { PassOver } from './passed-over.ts'
import { type BookClock, type BookFrame, CustomerRecord, KeyRecord } from './records.ts'
import { StoredTiers } from './stored-tiers.ts'
import { SwitchBoard } from './switch-board.ts'

/** Customers, and API keys without a customer, by the ids of their records. */
export interface Callers {
  readonly customers: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
}

export interface QuotaBookOptions {
  readonly hash: KeyHash
  /** Default: the clock of the process. */
  readonly clock?: BookClock
  /** Default: CALLER_ENTRIES. */
  readonly entries?: CallerEntries
  /** Default: nothing is reported. */
  readonly passOver?: PassOver | undefined
}

/**
 * Holds what decisions need of customers, keys, overrides, grants, blocks, tiers and switches, and answers from memory.
 * Times are compared with the clock on each read: nothing has to happen for an override to begin or end. Records come
 * in any order, one at a time; a change is in force when `put` returns.
 */
export class QuotaBook implements Quotas {
  readonly #clock: BookClock
  readonly #hash: KeyHash
  readonly #frame: BookFrame
  readonly #kinds: ReadonlyMap<string, CallerKind>
  readonly #customers = new Map<string, CustomerRecord>()
  readonly #keys = new Map<string, KeyRecord>()
  readonly #finder: KeyFinder
  /** Whose an override or a grant is, by its id. */
  readonly #overrideOwners = new Map<string, CustomerRecord | KeyRecord>()
  readonly #grantOwners = new Map<string, CustomerRecord>()
  /** One object for texts and numbers that many records have in common. */
  readonly #shared = new Map<string, unknown>()
  readonly #tiers: StoredTiers
  readonly #blocks = new BlockList()
  readonly #switches = new SwitchBoard()
  #suspended = 0
  #revision = 0

  constructor({ hash, clock = { nowMs: Date.now }, entries = CALLER_ENTRIES, passOver }: QuotaBookOptions) {
    this.#clock = clock
    this.#hash = hash
    this.#frame = { clock, passOver }
    this.#tiers = new StoredTiers(passOver)
    this.#kinds = kindsOf(entries)
    this.#finder = new KeyFinder(hash)
  }

  /** The revision of the last change. */
  get revision(): number {
    return this.#revision
  }

  /** Notes that everything up to a revision is in the book. */
  arriveAt(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
  }

  /** Makes changes, in order. Changes that are in already have no effect. */
  apply(changes: readonly QuotaChange[]): void {
    for (const { table, id, record, revision } of changes) {
      if (revision <= this.#revision && this.#revision > 0) continue
      this.put(table, id, record)
    }
    for (const { revision } of changes) this.arriveAt(revision)
  }

  /** Replaces the record with this id; undefined removes it. */
  put<T extends QuotaTable>(table: T, id: string, record: QuotaRecords[T] | undefined): void {
    const { [table]: take } = this.#takers
    take(id, record)
  }

  readonly #takers: { readonly [T in QuotaTable]: (id: string, record: QuotaRecords[T] | undefined) => void } = {
    customers: (id, record) => this.#putCustomer(id, record),
    api_keys: (id, record) => this.#putKey(id, record),
    overrides: (id, record) => this.#putOverride(id, record),
    grants: (id, record) => this.#putGrant(id, record),
    blocks: (id, record) => this.#blocks.put(id, record),
    tiers: (id, record) => this.#tiers.put(id, record),
    switches: (id, record) => this.#switches.put(id, record),
    // Decisions do not ask meters: the ledger reads them in its own transactions.
    meters: () => {},
  }

  get accounts(): AccountLookup | undefined {
    return this.#customers.size === 0 && this.#keys.size === 0 ? undefined : this.#lookup
  }

  get tiers(): TierLookup | undefined {
    return this.#tiers.isEmpty ? undefined : this.#tiers.find
  }

  get blocks(): BlockLookup | undefined {
    return this.#blocks.size === 0 && this.#suspended === 0 ? undefined : this.#blockOf
  }

  get grants(): GrantLookup | undefined {
    return this.#grantOwners.size === 0 ? undefined : this.#grantsOf
  }

  get switches(): SwitchLookup | undefined {
    return this.#switches.isEmpty ? undefined : this.#switches.find
  }

  get layers(): LayerLookup | undefined {
    return this.#switches.hasLayers ? this.#switches.layer : undefined
  }

  /** Returns whether a tier comes from here, and not from the rules. */
  hasTier(domain: string, name: string): boolean {
    return this.#tiers.has(domain, name)
  }

  /** Lists the customers that have a record, for people. */
  *customers(): Iterable<CustomerRecord> {
    for (const customer of this.#customers.values()) if (customer.isKnown) yield customer
  }

  /** Lists the keys that are good, for people. */
  *keys(): Iterable<KeyRecord> {
    for (const key of this.#keys.values()) if (!key.isGone()) yield key
  }

  customer(id: string): CustomerRecord | undefined {
    const customer = this.#customers.get(id)
    return customer?.isKnown ? customer : undefined
  }

  key(id: string): KeyRecord | undefined {
    const key = this.#keys.get(id)
    return key === undefined || key.isGone() ? undefined : key
  }

  /** Returns whether a value is that of an API key. */
  isValueOf({ hash }: Pick<KeyRecord, 'hash'>, value: string): boolean {
    return this.#hash(value) === hash
  }

  /** Lists the tiers of a domain that the database has. */
  storedTiers(domain: string): readonly StoredTier[] {
    return this.#tiers.list(domain)
  }

  /**
   * Copies what is known of some callers into another book, where changes can be tried: what callers may do, by their
   * records tiers, and switches. Blocks stay here. `nowMs` is when the copy looks at it.
   */
  sketch({ customers, keys }: Callers, nowMs: number): QuotaBook {
    const copy = new QuotaBook({ hash: this.#hash, clock: { nowMs: () => nowMs } })
    this.#switches.copyTo(copy.#switches)
    for (const tier of this.#tiers.all()) copy.#tiers.put(tierId(tier), tier)
    for (const id of customers) {
      const customer = this.#customers.get(id)
      if (customer !== undefined) Object.assign(copy.#customerOf(id), customer)
    }
    for (const key of this.#keys.values()) {
      const { id, customer } = key
      if (!keys.has(id) && (customer === undefined || !customers.has(customer.id))) continue
      Object.assign(copy.#keyOf(id), key, { customer: customer && copy.#customerOf(customer.id) })
    }
    for (const owner of [...copy.#customers.values(), ...copy.#keys.values()]) {
      for (const { id } of owner.overrides ?? []) copy.#overrideOwners.set(id, owner)
    }
    for (const owner of copy.#customers.values()) {
      for (const { id } of owner.grants ?? []) copy.#grantOwners.set(id, owner)
    }
    return copy
  }

  /** Returns the customer or key that an override belongs to. */
  ownerOf(overrideId: string): CustomerRecord | KeyRecord | undefined {
    return this.#overrideOwners.get(overrideId)
  }

  /** What is held, for people. */
  get counts(): Readonly<Record<'customers' | 'keys' | 'overrides' | 'grants' | 'blocks', number>> {
    return {
      customers: this.#customers.size,
      keys: this.#keys.size,
      overrides: this.#overrideOwners.size,
      grants: this.#grantOwners.size,
      blocks: this.#blocks.size,
    }
  }

  readonly #lookup: AccountLookup = (_domain, entry): Account | undefined => {
    const kind = this.#kinds.get(entry.key)
    if (kind === 'keys') return this.#finder.find(entry.value)
    return kind === 'customers' ? this.customer(entry.value) : undefined
  }

  readonly #blockOf: BlockLookup = (request: CheckRequest): BlockedBy | undefined => {
    const { descriptors, cost = 1 } = request
    const nowMs = this.#clock.nowMs()
    for (let i = 0; i < descriptors.length; i++) {
      // What gives back is never stopped.
      if ((descriptors[i].cost ?? cost) < 0) continue
      for (const entry of descriptors[i].entries) {
        const blocked = this.#blockOfEntry(entry, nowMs, i)
        if (blocked !== undefined) return blocked
      }
    }
    return undefined
  }

  #blockOfEntry({ key, value }: Entry, nowMs: number, descriptor: number): BlockedBy | undefined {
    const kind = this.#kinds.get(key)
    if (kind === undefined) return undefined
    if (kind === 'addresses') {
      const block = this.#blocks.addresses.isEmpty ? undefined : this.#blocks.addresses.find(value, nowMs)
      return block && { block, descriptor, endsInMs: block.endsInMs(nowMs) }
    }
    const found = kind === 'keys' ? this.#finder.find(value) : undefined
    const customer = kind === 'keys' ? found?.customer : this.#customers.get(value)
    // A customer may be blocked before anybody knows of it.
    const customerId = customer?.id ?? (kind === 'customers' ? value : undefined)
    const block =
      (found && this.#blocks.ofKey(found.id, nowMs)) ??
      (customerId === undefined ? undefined : this.#blocks.ofCustomer(customerId, nowMs))
    if (block !== undefined) return { block, descriptor, endsInMs: block.endsInMs(nowMs) }
    if (customer?.isKnown && customer.isSuspended)
      return { block: customer.suspension, descriptor, endsInMs: undefined }
    return undefined
  }

  readonly #grantsOf: GrantLookup = (caller, below): readonly KnownGrant[] => {
    const account = this.#lookup('', caller)
    const customer = account instanceof KeyRecord ? account.customer : (account as CustomerRecord | undefined)
    if (customer?.grants === undefined || !customer.isKnown) return NO_GRANTS
    const nowMs = this.#clock.nowMs()
    return customer.grants.filter((grant) => grant.isFor(below, nowMs))
  }

  #putCustomer(id: string, record: Customer | undefined): void {
    const customer = this.#customerOf(id)
    if (customer.isKnown && customer.isSuspended) this.#suspended--
    customer.isKnown = record !== undefined
    customer.isSuspended = record?.status === 'suspended'
    customer.ownTier = this.#share(record?.tier)
    customer.timeZone = this.#share(record?.timeZone) ?? 'UTC'
    if (customer.isSuspended) this.#suspended++
    this.#dropUnused(customer)
  }

  #putKey(id: string, record: ApiKey | undefined): void {
    const key = this.#keyOf(id)
    const before = key.customer
    if (key.hash !== '' && key.hash !== record?.hash) this.#finder.remove(key)
    const isNew = record !== undefined && key.hash !== record.hash
    key.hash = record?.hash ?? ''
    key.prefix = record?.prefix ?? ''
    key.ownTier = this.#share(record?.tier)
    key.revokedAtMs = record?.revokedAtMs
    key.customer = record?.customerId === undefined ? undefined : this.#customerOf(record.customerId)
    if (key.customer !== undefined) key.customer.keys++
    if (before !== undefined) {
      before.keys--
      this.#dropUnused(before)
    }
    if (isNew) this.#finder.put(key)
    this.#dropUnused(key)
  }

  #putOverride(id: string, record: Override | undefined): void {
    const before = this.#overrideOwners.get(id)
    if (before !== undefined) {
      before.overrides = without(before.overrides, id)
      this.#overrideOwners.delete(id)
    }
    if (record !== undefined) {
      const { subject } = record
      const owner = subject.kind === 'key' ? this.#keyOf(subject.keyId) : this.#customerOf(subject.customerId)
      owner.overrides = [...(owner.overrides ?? []), this.#overrideRecord(record)]
      if (owner.overrides.length > 1) owner.overrides.sort(byEffect)
      this.#overrideOwners.set(id, owner)
    }
    if (before !== undefined) this.#dropUnused(before)
  }

  #overrideRecord(record: Override): OverrideRecord {
    const { requestsPerUnit, unit, algorithm, burst, descriptor } = record
    const numbers = this.#sharedAs(`${requestsPerUnit}/${unit}/${algorithm}/${burst}`, () => ({
      requestsPerUnit,
      unit,
      algorithm,
      burst,
    }))
    const scope = scopeOf(record)
    const shared = scope && this.#sharedAs(JSON.stringify(scope), () => scope)
    return new OverrideRecord({ ...record, descriptor: this.#share(descriptor) }, numbers, shared)
  }

  #putGrant(id: string, record: Grant | undefined): void {
    const before = this.#grantOwners.get(id)
    if (before !== undefined) {
      before.grants = without(before.grants, id)
      this.#grantOwners.delete(id)
    }
    if (record !== undefined) {
      const owner = this.#customerOf(record.customerId)
      owner.grants = [...(owner.grants ?? []), new GrantRecord(record)].sort(byEnd)
      this.#grantOwners.set(id, owner)
    }
    if (before !== undefined) this.#dropUnused(before)
  }

  #customerOf(id: string): CustomerRecord {
    const known = this.#customers.get(id)
    if (known !== undefined) return known
    const customer = new CustomerRecord(id, this.#frame)
    this.#customers.set(id, customer)
    return customer
  }

  #keyOf(id: string): KeyRecord {
    const known = this.#keys.get(id)
    if (known !== undefined) return known
    const key = new KeyRecord(id, this.#frame)
    this.#keys.set(id, key)
    return key
  }

  #dropUnused(record: CustomerRecord | KeyRecord): void {
    if (!record.isUnused) return
    if (record instanceof CustomerRecord) this.#customers.delete(record.id)
    else this.#keys.delete(record.id)
  }

  #share<T extends string | undefined>(text: T): T {
    return text === undefined ? text : this.#sharedAs(text, () => text)
  }

  /** #sharedAs returns what many records have in common, once. Texts of which there are too many are not worth it. */
  #sharedAs<T>(name: string, make: () => T): T {
    const known = this.#shared.get(name)
    if (known !== undefined) return known as T
    const made = make()
    if (this.#shared.size < MAX_SHARED) this.#shared.set(name, made)
    return made
  }
}

const NO_GRANTS: readonly KnownGrant[] = Object.freeze([])
const MAX_SHARED = 10_000

/** Returns a list without the record of an id; undefined where none remains. */
function without<T extends { readonly id: string }>(list: readonly T[] | undefined, id: string): T[] | undefined {
  const left = list?.filter((each) => each.id !== id)
  return left === undefined || left.length === 0 ? undefined : left
}
