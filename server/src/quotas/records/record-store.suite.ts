import { randomBytes, randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { customers } from '../../admin/customers/table.ts'
import { tokens } from '../../admin/tokens/table.ts'
import { deliveries, endpoints } from '../../admin/webhooks/table.ts'
import { QUOTA_TABLES, tableOf } from '../../records/tables.ts'
import type { Actor } from '../audit/actor.ts'
import type { MakeTestDatabase, TestDatabase } from '../database/databases.suite.ts'
import type { ApiKey, Block, Customer, Grant, Meter, Override, QuotaChange, RuleSwitch, StoredTier } from '../model.ts'
import { type Quotas, quotasOn } from '../open/open-quotas.ts'
import { QuotaFeed } from './quota-feed.ts'

export const SUPPORT: Actor = { id: 'token-1', name: 'Support', address: '192.0.2.7', reason: 'a call' }

export const customer = (id: string, more: Partial<Customer> = {}): Customer => ({
  ...customers.made({}, { id, nowMs: 0 }, { id }),
  name: `Customer ${id}`,
  tier: 'pro',
  status: 'active',
  timeZone: 'Europe/Berlin',
  periodAnchor: '2026-01-31',
  metadata: { billing: 'cus_1' },
  ...more,
})

export const apiKey = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  id,
  hash: randomUUID(),
  prefix: 'sk_live_',
  customerId: undefined,
  name: 'main',
  tier: undefined,
  version: 0,
  createdAtMs: 0,
  revokedAtMs: undefined,
  ...more,
})

export const override = (id: string, more: Partial<Override> = {}): Override => ({
  id,
  subject: { kind: 'customer', customerId: 'acme' },
  descriptor: 'endpoint:POST /api/v1/orders',
  domain: undefined,
  rule: undefined,
  requestsPerUnit: 4294967295,
  unit: 'minute',
  algorithm: undefined,
  burst: undefined,
  effectiveAtMs: 1_700_000_000_123,
  expiresAtMs: undefined,
  reason: 'launch',
  ticket: 'T-1',
  version: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
  ...more,
})

const grant: Grant = {
  id: 'g1',
  customerId: 'acme',
  descriptor: 'default',
  amount: 500,
  effectiveAtMs: 1,
  expiresAtMs: 1_800_000_000_000,
  reason: undefined,
  ticket: undefined,
  version: 0,
  createdAtMs: 0,
}

const block = (id: string, subject: Block['subject']): Block => ({
  id,
  subject,
  effectiveAtMs: 1,
  expiresAtMs: undefined,
  reason: 'abuse',
  status: 403,
  body: '{"error":"blocked"}',
  version: 0,
  createdAtMs: 0,
})

const tier: StoredTier = {
  domain: 'api',
  name: 'pro',
  limits: [{ unit: 'minute', requests_per_unit: 9 }, 'z', null],
  version: 0,
  updatedAtMs: 0,
}

const meter: Meter = {
  id: 'exports',
  unit: 'exports',
  period: 'month',
  allowance: 10,
  allowances: { pro: 1_000_000_000_000 },
  carryMost: 5,
  carryPeriods: 2,
  graceSeconds: 3_600,
  overdraft: 3,
  holdSeconds: 60,
  refusalStatus: 429,
  whenUnavailable: 'closed',
  version: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
}

const off = (rule: RuleSwitch['rule']): RuleSwitch => ({
  rule,
  mode: 'off',
  reason: undefined,
  version: 0,
  updatedAtMs: 0,
})

/** Holds the store to its contract, on one kind of database. */
export function quotaStoreSuite(make: MakeTestDatabase): void {
  const NOW = 1_750_000_000_000

  async function open(place?: TestDatabase): Promise<Quotas> {
    const db = await (place ?? (await make())).open()
    return quotasOn(db, { now: () => NOW, refreshEveryMs: 3_600_000 })
  }

  it('has the columns that the tables of fields say, and null where it may be', async () => {
    const place = await make()
    await open(place)
    const types = {
      text: ['text'],
      int8: ['bigint', 'integer'],
      bool: ['boolean'],
      jsonb: ['jsonb'],
      time: ['timestamp with time zone'],
    }
    const found = await place.asSuperuser(
      "SELECT table_schema || '.' || table_name AS name, column_name, data_type, is_nullable FROM information_schema.columns",
    )
    const all = found as Record<string, string>[]
    // These have columns that no one is shown, too.
    const others = [tokens, endpoints, deliveries]
    for (const { table, columns, optionalColumns } of [...QUOTA_TABLES.map(tableOf), ...others]) {
      const isOther = others.some((each) => each.table === table)
      const own = all.filter(({ name, column_name }) => name === table && (!isOther || column_name in columns))
      expect(own.map(({ column_name }) => column_name).toSorted(), table).toEqual(Object.keys(columns).toSorted())
      for (const { column_name, data_type, is_nullable } of own) {
        expect(types[columns[column_name]], `${table}.${column_name}`).toContain(data_type)
        expect(is_nullable === 'YES', `${table}.${column_name}`).toBe(optionalColumns.has(column_name))
      }
    }
  })

  it('gives back every kind of record as it was put, with its version and times', async () => {
    const { store } = await open()
    const records = [
      ['customers', 'acme', customer('acme')],
      ['customers', 'bare', customer('bare', { tier: undefined, periodAnchor: undefined, metadata: {} })],
      ['api_keys', 'k1', apiKey('k1', { customerId: 'acme', tier: 'gold' })],
      ['overrides', 'o1', override('o1', { algorithm: 'token_bucket', burst: 7, expiresAtMs: 1_800_000_000_999 })],
      ['overrides', 'o2', override('o2', { subject: { kind: 'key', keyId: 'k1' } })],
      ['grants', 'g1', grant],
      ['blocks', 'b1', block('b1', { kind: 'customer', customerId: 'acme' })],
      ['blocks', 'b2', block('b2', { kind: 'key', keyId: 'k1' })],
      ['blocks', 'b3', block('b3', { kind: 'cidr', cidr: '192.0.2.0/24' })],
      ['tiers', 'api/pro', tier],
      ['switches', '*', off(undefined)],
      ['switches', 'api/login', off({ domain: 'api', id: 'login' })],
      ['meters', 'exports', meter],
    ] as const
    for (const [index, [table, id, record]] of records.entries()) {
      const stored = await store.put(table, record as never, SUPPORT)
      const expected: Record<string, unknown> = { ...record, version: index + 1 }
      if ('createdAtMs' in record) expected.createdAtMs = NOW
      if ('updatedAtMs' in record) expected.updatedAtMs = NOW
      expect(stored).toStrictEqual(expected)
      expect(await store.get(table, id)).toStrictEqual(expected)
    }
    const snapshot = await store.snapshot()
    expect(snapshot.revision).toBe(records.length)
    expect(snapshot.blocks.map(({ id }) => id)).toEqual(['b1', 'b2', 'b3'])
    expect(snapshot.switches).toHaveLength(2)
  })

  it('refuses a change of another version, and a creation of what is there', async () => {
    const { store } = await open()
    const first = await store.put('customers', customer('acme'), SUPPORT, 0)
    const second = await store.put('customers', { ...first, tier: 'free' }, SUPPORT, first.version)
    expect(second.version).toBeGreaterThan(first.version)
    await expect(store.put('customers', first, SUPPORT, first.version)).rejects.toThrow(
      `VERSION_STALE: customers/acme: it has version ${second.version}, not ${first.version}`,
    )
    await expect(store.put('customers', first, SUPPORT, 0)).rejects.toMatchObject({ code: 'VERSION_STALE' })
    await expect(store.remove('customers', 'acme', SUPPORT, first.version)).rejects.toMatchObject({
      code: 'VERSION_STALE',
    })
    await expect(store.put('customers', customer('none'), SUPPORT, 3)).rejects.toThrow('it is not there, not 3')
    await store.remove('customers', 'acme', SUPPORT, second.version)
    const third = await store.put('customers', customer('acme'), SUPPORT, 0)
    expect(third.version).toBeGreaterThan(second.version)
    await store.remove('customers', 'nobody', SUPPORT)
  })

  it('lets one of many win who change the same version at the same time', async () => {
    const place = await make()
    const nodes = [await open(place), await open(place)]
    const { version } = await nodes[0].store.put('customers', customer('acme'), SUPPORT)
    const attempts = Array.from({ length: 8 }, (_, n) =>
      nodes[n % 2].store.put('customers', customer('acme', { name: `by ${n}` }), SUPPORT, version),
    )
    const outcomes = (await Promise.allSettled(attempts)).map(({ status }) => status)
    expect(outcomes.filter((status) => status === 'fulfilled')).toHaveLength(1)
  })

  it('says in its own words what the database refuses', async () => {
    const { store } = await open()
    await store.put('customers', customer('acme'), SUPPORT)
    const key = await store.put('api_keys', apiKey('k1', { customerId: 'acme' }), SUPPORT)
    const refused = (code: string) => ({ code })
    await expect(store.put('api_keys', apiKey('k2', { hash: key.hash }), SUPPORT)).rejects.toMatchObject(
      refused('RECORD_EXISTS'),
    )
    await expect(store.put('api_keys', apiKey('k2', { customerId: 'nobody' }), SUPPORT)).rejects.toMatchObject(
      refused('REFERENCE_BROKEN'),
    )
    await store.put('overrides', override('o1'), SUPPORT)
    await expect(store.put('overrides', override('o2'), SUPPORT)).rejects.toMatchObject(refused('RECORD_EXISTS'))
    for (const wrong of [
      { unit: 'eon' },
      { rule: 'no domain' },
      { requestsPerUnit: -1 },
      { effectiveAtMs: 'x' },
      { reason: 'a\0b' },
    ]) {
      await expect(store.put('overrides', override('o3', wrong as never), SUPPORT)).rejects.toMatchObject(
        refused('RECORD_INVALID'),
      )
    }
    const change = { table: 'customers', id: 'other', record: customer('one') } as const
    await expect(store.changeAll([change], SUPPORT)).rejects.toMatchObject(refused('RECORD_INVALID'))
    expect((await store.snapshot()).overrides).toHaveLength(1)
  })

  it('keeps overrides for the same descriptor apart by what they are for', async () => {
    const { store } = await open()
    await store.put('customers', customer('acme'), SUPPORT)
    // Longer than a row of an index, and of signs that no compression makes fewer.
    const long = randomBytes(2_048).toString('hex')
    const scopes = [{}, { domain: 'shop' }, { domain: 'shop', rule: 'a' }, { domain: 'shop', rule: long }]
    const kept = []
    for (const [i, scope] of scopes.entries())
      kept.push(await store.put('overrides', override(`o${i}`, scope), SUPPORT))
    const again = store.put('overrides', override('o9', scopes[3]), SUPPORT)
    await expect(again).rejects.toMatchObject({ code: 'RECORD_EXISTS' })
    expect((await store.snapshot()).overrides).toEqual(kept)
    expect(kept.map(({ domain, rule }) => [domain, rule])).toEqual([
      [undefined, undefined],
      ['shop', undefined],
      ['shop', 'a'],
      ['shop', long],
    ])
  })

  it('notes in the log where a record that is put is in force, and how far it is itself', async () => {
    const { store, audit } = await open()
    await store.put('customers', customer('acme'), SUPPORT)
    const before = await store.revision()
    const rules = [{ domain: 'shop', rule: 'a' }]
    const by = { ...SUPPORT, inForceOn: new Map([['overrides/o1', { total: 1, rules }]]) }
    const { version } = await store.put('overrides', override('o1'), by)
    expect([before, await store.revision()]).toEqual([version - 1, version])
    await store.remove('overrides', 'o1', by)
    const [removed, put] = (await audit.list({ limit: 2 })).items
    expect(put.after).toMatchObject({ id: 'o1', inForceOn: { total: 1, rules } })
    expect(removed).toMatchObject({
      after: undefined,
      before: expect.not.objectContaining({ inForceOn: expect.anything() }),
    })
    expect(await audit.verify()).toMatchObject({ ok: true })
  })

  it('removes with a customer, and with a key, everything that is about them, each with an entry in the log', async () => {
    const { store, audit } = await open()
    await store.put('customers', customer('acme'), SUPPORT)
    await store.put('customers', customer('other'), SUPPORT)
    await store.put('api_keys', apiKey('k1', { customerId: 'acme' }), SUPPORT)
    await store.put('api_keys', apiKey('k2', { hash: 'another' }), SUPPORT)
    const of = (keyId: string) => ({ subject: { kind: 'key', keyId } }) as const
    const acme = { subject: { kind: 'customer', customerId: 'acme' } } as const
    await store.put('overrides', override('o1', acme), SUPPORT)
    await store.put('overrides', override('o2', of('k1')), SUPPORT)
    await store.put('overrides', override('o3', of('k2')), SUPPORT)
    await store.put('blocks', block('b1', of('k1').subject), SUPPORT)
    await store.put('blocks', block('b2', acme.subject), SUPPORT)
    const { version } = (await store.get('customers', 'acme'))!
    const stale = { code: 'VERSION_STALE' }
    await expect(store.remove('customers', 'acme', SUPPORT, version + 1)).rejects.toMatchObject(stale)
    expect((await store.snapshot()).overrides).toHaveLength(3)
    await store.remove('customers', 'acme', SUPPORT, version)
    const { customers, api_keys, overrides, blocks } = await store.snapshot()
    expect([customers, api_keys, overrides].map((records) => records.map(({ id }) => id))).toEqual([
      ['other'],
      ['k2'],
      ['o3'],
    ])
    expect(blocks).toEqual([])
    expect((await audit.list({ limit: 6 })).items.map(({ action }) => action).sort()).toEqual([
      'api_keys.remove',
      'blocks.remove',
      'blocks.remove',
      'customers.remove',
      'overrides.remove',
      'overrides.remove',
    ])
    await store.remove('api_keys', 'k2', SUPPORT)
    expect((await store.snapshot()).overrides).toEqual([])
  })

  it('checks the versions of several changes in one transaction with them', async () => {
    const { store } = await open()
    const { version } = await store.put('customers', customer('acme'), SUPPORT)
    const changes = [
      { table: 'customers', id: 'new', record: customer('new'), version: 0 },
      { table: 'customers', id: 'acme', record: customer('acme', { name: 'by another' }), version: version + 1 },
    ] as const
    await expect(store.changeAll(changes, SUPPORT)).rejects.toMatchObject({ code: 'VERSION_STALE' })
    expect((await store.snapshot()).customers).toHaveLength(1)
    await store.changeAll([changes[0], { ...changes[1], version }], SUPPORT)
    expect(await store.get('customers', 'acme')).toMatchObject({ name: 'by another' })
  })

  it('finds customers by the beginning of their keys, too', async () => {
    const { store } = await open()
    await store.put('customers', customer('acme'), SUPPORT)
    await store.put('customers', customer('other'), SUPPORT)
    await store.put('api_keys', apiKey('k1', { customerId: 'acme', prefix: 'sk_LIVE_' }), SUPPORT)
    expect((await store.list('customers', { search: 'sk_live', limit: 9 })).items.map(({ id }) => id)).toEqual(['acme'])
  })

  it('makes several changes, all or none, whatever their order', async () => {
    const { store, audit } = await open()
    const made = [
      { table: 'api_keys', id: 'k1', record: apiKey('k1', { customerId: 'acme' }) },
      { table: 'customers', id: 'acme', record: customer('acme') },
    ] as const
    await store.changeAll(made, SUPPORT)
    const failing = [
      { table: 'customers', id: 'new', record: customer('new') },
      { table: 'api_keys', id: 'k1', record: apiKey('k1', { customerId: 'nobody' }) },
    ] as const
    await expect(store.changeAll(failing, SUPPORT)).rejects.toMatchObject({ code: 'REFERENCE_BROKEN' })
    expect(await store.get('customers', 'new')).toBeUndefined()
    expect((await audit.list({ limit: 10 })).items).toHaveLength(2)
    await store.changeAll(
      made.map(({ table, id }) => ({ table, id, record: undefined })),
      SUPPORT,
    )
    const { customers, api_keys } = await store.snapshot()
    expect([customers, api_keys]).toEqual([[], []])
  })

  it('lists pages in a stable order, by filter and by the beginning of an id or a name', async () => {
    const { store } = await open()
    const names = ['a_b', 'a%b', 'a\\b', 'axb', 'b1', 'B2', 'ä1']
    const records = names.map((id, n) => customer(id, { name: `Name ${n}`, tier: n % 2 === 0 ? 'pro' : undefined }))
    await store.changeAll(
      records.map((record) => ({ table: 'customers', id: record.id, record })),
      SUPPORT,
    )
    const all: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await store.list('customers', { limit: 2, after })
      all.push(...page.items.map(({ id }) => id))
      after = page.next
      if (after === undefined) break
    }
    expect(all).toEqual(['B2', 'a%b', 'a\\b', 'a_b', 'axb', 'b1', 'ä1'])
    const search = async (search: string) =>
      (await store.list('customers', { limit: 10, search })).items.map(({ id }) => id)
    expect(await search('a_')).toEqual(['a_b'])
    expect(await search('a%')).toEqual(['a%b'])
    expect(await search('a\\')).toEqual(['a\\b'])
    expect(await search('NAME 3')).toEqual(['axb'])
    expect((await store.list('customers', { limit: 10, where: { tier: 'pro' } })).items).toHaveLength(4)
    const { next } = await store.list('customers', { limit: 1 })
    for (const after of ['x', `${next}x`, Buffer.from('["other","a"]').toString('base64url')]) {
      await expect(store.list('customers', { limit: 1, after })).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
    }
    await expect(store.list('customers', { limit: 1, where: { 'id; DROP': 'x' } })).rejects.toThrow(
      'FILTER_UNKNOWN: filter: got "id; DROP", not one of tier, status, timeZone.',
    )
  })

  it('sends followers every change in order, tombstones included', async () => {
    const place = await make()
    const [here, there] = [await open(place), await open(place)]
    const heard: QuotaChange[] = []
    let begun = 0
    onTestFinished(
      there.store.follow(
        (changes) => heard.push(...changes),
        () => begun++,
      ),
    )
    await until('it follows', () => begun > 0)
    const puts = Array.from({ length: 10 }, (_, n) => here.store.put('customers', customer(`c${n}`), SUPPORT))
    await Promise.all(puts)
    await here.store.remove('customers', 'c3', SUPPORT)
    await until('all are heard', () => heard.length >= 11)
    expect(heard.map(({ revision }) => revision)).toEqual(Array.from({ length: 11 }, (_, n) => n + 1))
    expect(heard[10]).toStrictEqual({ table: 'customers', id: 'c3', record: undefined, revision: 11 })
    const c0 = heard.find(({ id }) => id === 'c0')
    expect(c0?.record).toStrictEqual(await there.store.get('customers', 'c0'))
  })

  it('asks followers to read everything when the log does not reach back to them', async () => {
    const place = await make()
    const { store, db } = await open(place)
    let misses = 0
    const heard: QuotaChange[] = []
    onTestFinished(
      store.follow(
        (changes) => heard.push(...changes),
        () => misses++,
      ),
    )
    await until('it follows', () => misses === 1)
    await db.query('UPDATE sluice.revision SET revision = 20000')
    await store.put('customers', customer('acme'), SUPPORT)
    await until('the gap is reported', () => misses === 2)
    await store.put('customers', customer('next'), SUPPORT)
    // A look between the two statements above meets the gap before acme, and then acme is reported, too.
    const next = (): QuotaChange | undefined => heard.find(({ id }) => id === 'next')
    await until('it goes on', () => next() !== undefined)
    expect(next()?.revision).toBe(20002)
    expect(misses).toBe(2)
  })

  it('catches what no notice reported by looking every now and then', async () => {
    const place = await make()
    const db = await place.open()
    const { store } = await quotasOn(db, { refreshEveryMs: 50 })
    const heard: QuotaChange[] = []
    let begun = 0
    onTestFinished(
      store.follow(
        (changes) => heard.push(...changes),
        () => begun++,
      ),
    )
    await until('it follows', () => begun > 0)
    const row = { id: 'quiet', name: 'q', tier: null, status: 'active', time_zone: 'UTC', period_anchor: null }
    const times = { metadata: {}, version: 1, created_at: 1, updated_at: 1 }
    await place.asSuperuser(
      `WITH r AS (UPDATE sluice.revision SET revision = revision + 1 RETURNING revision)
       INSERT INTO sluice.changes (revision, ordinal, table_name, id, record) SELECT revision, 0, 'customers', 'quiet', $1::jsonb FROM r`,
      [JSON.stringify({ ...row, ...times })],
    )
    await until('it is caught', () => heard.length === 1)
    expect(heard[0]).toMatchObject({ table: 'customers', id: 'quiet', record: { name: 'q', timeZone: 'UTC' } })
  })

  it('feeds a node with everything, then with changes, and recovers when the database was killed', async () => {
    const place = await make({ own: true })
    const { store } = await open(place)
    await store.put('customers', customer('before'), SUPPORT)
    const states: string[] = []
    const changes: QuotaChange[] = []
    let replaced = 0
    const feed = new QuotaFeed(store, {
      replaced: () => replaced++,
      changed: (some) => changes.push(...some),
      stateChanged: ({ kind }) => states.push(kind),
    })
    expect([feed.current, feed.state.kind]).toEqual([undefined, 'empty'])
    feed.start()
    onTestFinished(() => feed.stop())
    await until('it is fresh', () => feed.state.kind === 'fresh')
    expect(feed.current?.customers.map(({ id }) => id)).toEqual(['before'])
    await store.put('customers', customer('during'), SUPPORT)
    await until('the change is there', () => feed.current?.customers.length === 2)

    const confirmed: string[] = []
    for (let n = 0; n < 5; n++) confirmed.push((await store.put('customers', customer(`n${n}`), SUPPORT)).id)
    const running = Array.from({ length: 5 }, (_, n) =>
      store.put('customers', customer(`x${n}`), SUPPORT).then(
        ({ id }) => confirmed.push(id),
        () => {},
      ),
    )
    await place.kill()
    await Promise.all(running)
    expect(feed.current?.customers.length).toBeGreaterThanOrEqual(2)
    await place.revive()
    const after = await until(
      'a change is possible again',
      () => store.put('customers', customer('after'), SUPPORT),
      60_000,
    )
    const ids = (await store.snapshot()).customers.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(confirmed))
    await until('the feed has it', () => feed.current?.customers.some(({ id }) => id === after.id))
    expect(feed.current?.customers.map(({ id }) => id).sort()).toEqual(ids.sort())
    await until('it is fresh again', () => feed.state.kind === 'fresh')
  })
}
