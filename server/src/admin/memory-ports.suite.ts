import { SluiceError } from 'sluice/internal/core/errors'
import { describeRule } from 'sluice/internal/core/rules/describe'
import { loadRules } from 'sluice/internal/core/rules/load'
import { match } from 'sluice/internal/core/rules/match'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Actor } from '../quotas/audit/actor.ts'
import type { AuditEntry, AuditLog } from '../quotas/audit/audit-log.ts'
import type { ListQuery, Page } from '../quotas/database/database.ts'
import type { QuotaChange, QuotaRecords, QuotaSnapshot, QuotaTable } from '../quotas/model.ts'
import type { RecordStore } from '../quotas/records/record-store.ts'
import type { CheckedRules, Putting, RuleVersion } from '../quotas/tables/rule-table.ts'
import type { CounterTarget } from './api/change.ts'
import type { LookedBlock, LookedCounter } from './counters/counters.ts'
import type { LimitState, LimitStates } from './limits/limit-states.ts'
import type { LiveFrame } from './live/live-frames.ts'
import type { AdminToken } from './tokens/table.ts'

// What the admin API works with, in memory: each keeps what its port promises, as far as the API can tell.

/** An AdminClock is a clock that a test owns. */
export class AdminClock {
  ms = Date.parse('2026-03-01T10:00:30.000Z')
  now = (): number => this.ms
}

/** pageOf cuts a list into pages, in the order of ids. */
export function pageOf<T>(
  all: readonly T[],
  idOf: (item: T) => string,
  { after, limit }: Pick<ListQuery, 'after' | 'limit'>,
): Page<T> {
  const sorted = [...all].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  const rest = after === undefined ? sorted : sorted.filter((item) => idOf(item) > after)
  const items = rest.slice(0, limit)
  return { items, next: rest.length > limit ? idOf(items[items.length - 1]) : undefined }
}

/** MemoryAudit notes every change, without a chain. */
export class MemoryAudit {
  readonly entries: AuditEntry[] = []
  readonly #clock: AdminClock

  constructor(clock: AdminClock) {
    this.#clock = clock
  }

  note(actor: Actor, action: string, id: string, before: unknown, after: unknown): void {
    const sequence = this.entries.length + 1
    const record = (after ?? before) as { customerId?: string } | undefined
    this.entries.push({
      sequence,
      atMs: this.#clock.now(),
      actor,
      action,
      target: { kind: action.split('.')[0], id },
      customerId: record?.customerId,
      before,
      after,
      hash: `hash-${sequence}`,
    })
  }

  async list({
    actor,
    action,
    kinds,
    target,
    customerId,
    fromMs = 0,
    toMs = Infinity,
    after,
    limit,
  }: Parameters<AuditLog['list']>[0]) {
    const found = this.entries
      .filter((each) => actor === undefined || each.actor.id === actor || each.actor.name === actor)
      .filter((each) => kinds === undefined || kinds.includes(each.target.kind))
      .filter((each) => action === undefined || each.action === action)
      .filter((each) => target === undefined || each.target.id === target)
      .filter((each) => customerId === undefined || each.customerId === customerId)
      .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
    return pageOf(found, ({ sequence }) => String(1e9 - sequence), { after, limit })
  }

  async verify() {
    return {
      ok: true,
      entries: this.entries.length,
      head: this.entries.at(-1)?.hash,
      broken: undefined,
      anchors: [],
      unread: [],
    }
  }
}

const idOf: { readonly [T in QuotaTable]: (record: QuotaRecords[T]) => string } = {
  customers: ({ id }) => id,
  api_keys: ({ id }) => id,
  overrides: ({ id }) => id,
  grants: ({ id }) => id,
  blocks: ({ id }) => id,
  tiers: ({ domain, name }) => `${domain}/${name}`,
  switches: ({ rule }) => (rule === undefined ? '*' : `${rule.domain}/${rule.id}`),
  meters: ({ id }) => id,
}

type AnyRecord = QuotaRecords[QuotaTable]

/** MemoryQuotas keeps records in memory, as a RecordStore promises to. */
export class MemoryQuotas {
  readonly #clock: AdminClock
  readonly #audit: MemoryAudit
  readonly #tables = new Map<QuotaTable, Map<string, AnyRecord>>()

  constructor(clock: AdminClock, audit: MemoryAudit) {
    this.#clock = clock
    this.#audit = audit
  }

  #table(table: QuotaTable): Map<string, AnyRecord> {
    const found = this.#tables.get(table) ?? new Map<string, AnyRecord>()
    this.#tables.set(table, found)
    return found
  }

  async snapshot(): Promise<QuotaSnapshot> {
    throw new Error('not needed here')
  }

  async revision(): Promise<number> {
    return 0
  }

  follow(_changed: (changes: readonly QuotaChange[]) => void): () => void {
    return () => {}
  }

  async get<T extends QuotaTable>(table: T, id: string): Promise<QuotaRecords[T] | undefined> {
    return this.#table(table).get(id) as QuotaRecords[T] | undefined
  }

  async put<T extends QuotaTable>(table: T, record: QuotaRecords[T], by: Actor, version?: number) {
    const id = idOf[table](record as never)
    const before = this.#table(table).get(id)
    this.#require(table, before, version)
    const kept = { ...record, version: (before?.version ?? 0) + 1, updatedAtMs: this.#clock.now() } as QuotaRecords[T]
    this.#table(table).set(id, kept)
    this.#audit.note(by, `${table}.put`, id, before, kept)
    return kept
  }

  async remove<T extends QuotaTable>(table: T, id: string, by: Actor, version?: number): Promise<void> {
    const before = this.#table(table).get(id)
    this.#require(table, before, version)
    this.#table(table).delete(id)
    this.#audit.note(by, `${table}.remove`, id, before, undefined)
  }

  #require(table: QuotaTable, before: AnyRecord | undefined, version: number | undefined): void {
    if (version !== undefined && version !== (before?.version ?? 0))
      throw new SluiceError('VERSION_STALE', table, 'changed')
  }

  async changeAll(changes: Parameters<RecordStore['changeAll']>[0], by: Actor): Promise<void> {
    for (const { table, id, record, version } of changes) {
      if (record === undefined) await this.remove(table, id, by, version)
      else await this.put(table, record as never, by, version)
    }
  }

  #ownerOf(record: object): string | undefined {
    const key = this.#table('api_keys').get(fieldOf(record, 'keyId') ?? '')
    return fieldOf(key ?? record, 'customerId')
  }

  async list<T extends QuotaTable>(
    table: T,
    { where = {}, search, ...page }: ListQuery,
  ): Promise<Page<QuotaRecords[T]>> {
    const all = [...this.#table(table).values()] as QuotaRecords[T][]
    const { ownerId, ...exact } = where
    const found = all
      .filter((record) => Object.entries(exact).every(([field, value]) => fieldOf(record, field) === value))
      .filter((record) => ownerId === undefined || this.#ownerOf(record) === ownerId)
      .filter(
        (record) =>
          search === undefined || ['id', 'name', 'prefix'].some((f) => fieldOf(record, f)?.startsWith(search)),
      )
    return pageOf(found, idOf[table] as (record: QuotaRecords[T]) => string, page)
  }
}

/** fieldOf finds a field of a record, or of its subject. */
function fieldOf(record: object, field: string): string | undefined {
  const { subject = {}, ...own } = record as Record<string, unknown>
  return ({ ...(subject as object), ...own } as Record<string, string | undefined>)[field]
}

export class MemoryTokens {
  readonly #clock: AdminClock
  readonly #audit: MemoryAudit
  readonly kept = new Map<string, AdminToken>()
  lookups = 0

  constructor(clock: AdminClock, audit: MemoryAudit) {
    this.#clock = clock
    this.#audit = audit
  }

  async create(token: AdminToken, by: Actor): Promise<AdminToken> {
    this.kept.set(token.id, token)
    this.#audit.note(by, 'tokens.create', token.id, undefined, { name: token.name, role: token.role })
    return token
  }

  async createFirst(token: AdminToken, by: Actor): Promise<boolean> {
    if (await this.hasAny()) return false
    await this.create(token, by)
    return true
  }

  async list(): Promise<readonly AdminToken[]> {
    return [...this.kept.values()]
  }

  async get(id: string): Promise<AdminToken | undefined> {
    return this.kept.get(id)
  }

  async find(hash: string): Promise<AdminToken | undefined> {
    this.lookups++
    return [...this.kept.values()].find((each) => each.hash === hash)
  }

  async revoke(id: string, by: Actor): Promise<AdminToken | undefined> {
    const found = this.kept.get(id)
    if (found === undefined) return undefined
    const revoked = { ...found, revokedAtMs: this.#clock.now() }
    this.kept.set(id, revoked)
    this.#audit.note(by, 'tokens.revoke', id, undefined, undefined)
    return revoked
  }

  used(id: string, atMs: number): void {
    const found = this.kept.get(id)
    if (found !== undefined) this.kept.set(id, { ...found, lastUsedAtMs: atMs })
  }

  async hasAny(): Promise<boolean> {
    return [...this.kept.values()].some(({ revokedAtMs }) => revokedAtMs === undefined)
  }
}

export class MemoryRuleTable {
  readonly #clock: AdminClock
  readonly #versions: (RuleVersion & { readonly text: string })[] = []

  constructor(clock: AdminClock) {
    this.#clock = clock
  }

  async versions(query: Pick<ListQuery, 'after' | 'limit'>) {
    return pageOf(this.#shown(), ({ version }) => String(1e9 - version), query)
  }

  async read(version = this.#versions.length) {
    return this.#shown().find((each) => each.version === version)
  }

  #shown() {
    return this.#versions.map((each) => ({ ...each, isActive: each.version === this.#versions.length }))
  }

  async check(text: string) {
    const { ruleCount, domains } = loadRules([{ file: 'rules table', text }])
    return { text, limits: ruleCount, domains: [...domains.keys()] }
  }

  async put(checked: CheckedRules, { by, comment, version }: Putting) {
    if (version !== undefined && version !== this.#versions.length)
      throw new SluiceError('VERSION_STALE', 'rules', 'changed')
    const made = {
      version: this.#versions.length + 1,
      isActive: true,
      createdAtMs: this.#clock.now(),
      by: by.name,
      comment,
      ...checked,
    }
    this.#versions.push(made)
    return made
  }
}

/** Looks at rules, and remembers what was reset. */
export class MemoryCounters {
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
