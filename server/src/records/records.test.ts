import { describe, expect, it } from 'vitest'
import { blocks } from '../admin/blocks/table.ts'
import { customers } from '../admin/customers/table.ts'
import { grants } from '../admin/grants/table.ts'
import { api_keys } from '../admin/keys/table.ts'
import { overrides } from '../admin/overrides/table.ts'
import { switches } from '../admin/switches/table.ts'
import { tiers } from '../admin/tiers/table.ts'
import { deliveries, endpoints } from '../admin/webhooks/table.ts'
import { columnOf } from './field.ts'
import { requireSpan } from './shared-fields.ts'
import { QUOTA_TABLES, tableOf } from './tables.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const making = { id: 'acme', nowMs: NOW }

const acme = customers.made({ tier: 'pro', metadata: { crm: '1' } }, making, { id: 'acme' })

const grant = grants.made({ amount: 5, reason: 'sorry', ticket: 'T-1' }, making, { id: 'g1', customerId: 'acme' })

describe('names', () => {
  it('of columns and of JSON follow from those of code', () => {
    expect(columnOf('requestsPerUnit', { kind: 'int8' })).toBe('requests_per_unit')
    expect(columnOf('expiresAtMs', { kind: 'time' })).toBe('expires_at')
    expect(columnOf('windowMs', { kind: 'int8' })).toBe('window_ms')
  })
})

describe('a record that is made', () => {
  it('has what the caller sent, and the initial values of the rest', () => {
    expect(acme).toEqual({
      id: 'acme',
      name: 'acme',
      tier: 'pro',
      status: 'active',
      timeZone: 'UTC',
      periodAnchor: undefined,
      metadata: { crm: '1' },
      version: 0,
      createdAtMs: NOW,
      updatedAtMs: NOW,
    })
  })

  it('takes nothing from the caller that only the service writes', () => {
    const made = customers.made({ id: 'evil', version: 7, created_at: '2020-01-01T00:00:00Z' }, making, { id: 'acme' })
    expect(made).toMatchObject({ id: 'acme', version: 0, createdAtMs: NOW })
    const key = api_keys.made({ hash: 'evil', name: 'n' }, making, { id: 'k', hash: 'h', prefix: 'p' })
    expect(key).toMatchObject({ hash: 'h', prefix: 'p', name: 'n' })
  })

  it('reads null as "not sent" where there has to be a value, and as none where there may be none', () => {
    const made = customers.made({ name: null, status: null, tier: null, metadata: null }, making, { id: 'acme' })
    expect(made).toMatchObject({ name: 'acme', status: 'active', tier: undefined, metadata: {} })
  })

  it('reads times', () => {
    const made = grants.made({ amount: 1, effective_at: '2027-01-01T00:00:00+01:00' }, making, { id: 'g' })
    expect(made.effectiveAtMs).toBe(Date.UTC(2026, 11, 31, 23))
    expect(() => grants.made({ amount: 1, expires_at: '2027-13-01T00:00:00Z' }, making, { id: 'g' })).toThrow(
      'body.expires_at',
    )
  })

  it('is refused where a value has the right form and is wrong', () => {
    const zone = () => customers.made({ time_zone: 'Europe/Atlantis' }, making, { id: 'a' })
    const day = () => customers.made({ period_anchor: '2026-02-30' }, making, { id: 'a' })
    const metadata = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, '']))
    expect(zone).toThrow('body.time_zone')
    expect(day).toThrow('body.period_anchor')
    expect(() => customers.made({ metadata }, making, { id: 'a' })).toThrow('body.metadata')
    expect(() => requireSpan({ effectiveAtMs: 5, expiresAtMs: 5 })).toThrow('body.expires_at')
  })
})

describe('a record whose fields do not go together', () => {
  const given = { requests_per_unit: 5, unit: 'minute' }
  const subject = { kind: 'customer', customerId: 'acme' } as const

  it('is refused when it is made, replaced and changed', () => {
    const before = overrides.made({ ...given, burst: 9 }, making, { id: 'o', subject })
    const uncountable = { ...given, algorithm: 'fixed_window', burst: 9 }
    expect(() => overrides.made(uncountable, making, { id: 'o', subject })).toThrow('body')
    expect(() => overrides.replaced(uncountable, before, making, {})).toThrow('body')
    expect(() => overrides.changed({ algorithm: 'fixed_window' }, before)).toThrow('body')
  })

  it('is refused where it would end before it begins', () => {
    const ended = { ...given, effective_at: '2026-02-01T00:00:00Z', expires_at: '2026-01-01T00:00:00Z' }
    for (const table of ['overrides', 'grants', 'blocks'] as const) {
      const make = () => tableOf(table).made({ ...ended, amount: 1 }, making, { id: 'x', subject } as never)
      expect(make, table).toThrow('body.expires_at')
    }
  })
})

describe('a record that is changed with what is as in a new one', () => {
  it('takes null as the initial value of a field that has to have one', () => {
    const before = endpoints.made({ url: 'https://a.example', enabled: false, description: 'd' }, making, { id: 'w' })
    const after = endpoints.changed({ enabled: null, description: null, url: null }, before, making)
    expect(after).toEqual({ ...before, isEnabled: true, description: '' })
    expect(endpoints.changed({ enabled: null }, before).isEnabled).toBe(false)
  })
})

describe('an answer in other words than the columns', () => {
  it('has the name that is shown, and nothing internal', () => {
    const row = { id: 'd', endpoint_id: 'w', event: 'e', state: 'waiting', attempts: 1, next_at: 5, last_status: null }
    const more = { last_error: null, body: '{"a":1}', created_at: 1, finished_at: null }
    const shown = deliveries.toJson(deliveries.toRecord({ ...row, ...more }))
    expect(shown).toMatchObject({ next_attempt_at: '1970-01-01T00:00:00.005Z', message: { a: 1 } })
    expect(Object.keys(shown)).toEqual(Object.keys(deliveries.answerFields))
    expect(shown).not.toHaveProperty('endpoint_id')
  })
})

describe('a record that is replaced', () => {
  const before = { ...grant, version: 3, createdAtMs: 1, effectiveAtMs: 2, expiresAtMs: 9 }
  const later = { id: 'g1', nowMs: NOW + 1000 }

  it('loses what is not sent, and keeps what the service wrote and when it took effect', () => {
    expect(grants.replaced({ amount: 6 }, before, later, {})).toEqual({
      ...before,
      amount: 6,
      reason: undefined,
      ticket: undefined,
      expiresAtMs: undefined,
    })
  })

  it('takes what is fixed for it', () => {
    expect(grants.replaced({ amount: 6 }, before, later, { customerId: 'umbrella' }).customerId).toBe('umbrella')
  })
})

describe('a record that is changed', () => {
  it('keeps what is not sent, and loses what null takes away', () => {
    const before = { ...acme, version: 4, createdAtMs: 1 }
    expect(customers.changed({ name: 'Acme' }, before)).toEqual({ ...before, name: 'Acme' })
    expect(customers.changed({ tier: null, name: null }, before)).toEqual({ ...before, tier: undefined })
  })
})

describe('a row', () => {
  const row = customers.toRow(acme)

  it('has null for what there is not, and comes back as the record that it was', () => {
    expect(row).toMatchObject({ id: 'acme', time_zone: 'UTC', period_anchor: null, created_at: NOW })
    expect(customers.toRecord(row)).toEqual(acme)
  })

  it('holds whom a record is about in a column for each kind', () => {
    for (const subject of [
      { kind: 'customer', customerId: 'acme' },
      { kind: 'key', keyId: 'k1' },
      { kind: 'cidr', cidr: '192.0.2.0/24' },
    ] as const) {
      const block = blocks.made({}, making, { id: 'b1', subject })
      const stored = blocks.toRow(block)
      expect([stored.customer_id, stored.api_key_id, stored.cidr].filter((cell) => cell !== null)).toHaveLength(1)
      expect(blocks.toRecord(stored)).toEqual(block)
    }
  })

  it('has an id of its parts where there is not a valid field for it', () => {
    const tier = tiers.made({ limits: [1] }, making, { domain: 'api', name: 'pro' })
    expect(tiers.toRow(tier).id).toBe('api/pro')
    const rule = { domain: 'api', id: 'r1' }
    expect(switches.toRow(switches.made({ mode: 'off' }, making, { rule })).id).toBe('api/r1')
    expect(switches.toRow(switches.made({ mode: 'off' }, making, {})).id).toBe('*')
  })

  it('is refused of a record without a field that it needs', () => {
    expect(() => customers.toRow({ ...acme, status: undefined as never })).toThrow('status')
  })
})

describe('an answer', () => {
  it('has times as text, and null for what there is not', () => {
    expect(grants.toJson(grant)).toEqual({
      id: 'g1',
      customer_id: 'acme',
      descriptor: 'default',
      amount: 5,
      reason: 'sorry',
      ticket: 'T-1',
      effective_at: '2026-01-02T03:04:05.678Z',
      expires_at: null,
      version: 0,
      created_at: '2026-01-02T03:04:05.678Z',
    })
  })

  it('has the fields that its form names, and no others, for every kind of record', () => {
    const of = { subject: { kind: 'key', keyId: 'k' }, rule: undefined, hash: 'h', prefix: 'p', domain: 'd', name: 'n' }
    for (const table of QUOTA_TABLES) {
      const { made, toJson, answerFields } = tableOf(table)
      const record = made(
        { amount: 1, limits: [], mode: 'off', requests_per_unit: 1, unit: 'day' },
        making,
        of as never,
      )
      expect(Object.keys(toJson(record)), table).toEqual(Object.keys(answerFields))
    }
  })

  it('says what is worked out for it', () => {
    const tier = tiers.made({ limits: [] }, making, { domain: 'api', name: 'pro' })
    expect(tiers.toJson(tier, { problem: 'no such unit' })).toHaveProperty('problem', 'no such unit')
    expect(tiers.toJson(tier)).toHaveProperty('problem', null)
  })
})

describe('secrets', () => {
  const key = api_keys.made({ name: 'main' }, making, { id: 'k1', hash: 'the-hash', prefix: 'sk_' })

  it('are in no answer and in no entry of the audit log', () => {
    expect(JSON.stringify(api_keys.toJson(key))).not.toContain('the-hash')
    expect(api_keys.toAudit(key)).not.toContain('the-hash')
    expect(JSON.parse(api_keys.toAudit(key))).toMatchObject({ id: 'k1', prefix: 'sk_', name: 'main' })
  })

  it('are what decisions need: workers have them', () => {
    expect(api_keys.toWorkers(key)).toMatchObject({ hash: 'the-hash', name: '' })
  })
})

describe('what workers receive', () => {
  it('leaves out what no decision depends on', () => {
    const slim = customers.toWorkers({ ...acme, periodAnchor: '2026-01-31' })
    expect(slim).toEqual({ ...acme, name: '', periodAnchor: undefined, metadata: {} })
    expect(grants.toWorkers(grant)).toEqual({ ...grant, reason: undefined, ticket: undefined })
  })

  it('has the reason of a block, which the caller may be answered', () => {
    const block = blocks.made({ reason: 'abuse' }, making, { id: 'b', subject: { kind: 'cidr', cidr: '::/0' } })
    expect(blocks.toWorkers(block)).toEqual(block)
  })
})

describe('what callers may send', () => {
  it('is needed where a new record has no initial value, and never to change one', () => {
    const needed = (fields: object) =>
      Object.entries(fields).flatMap(([name, { required }]) => (required === true ? name : []))
    expect(needed(overrides.sent.whole)).toEqual(['requests_per_unit', 'unit'])
    expect(needed(grants.sent.whole)).toEqual(['amount'])
    expect(needed(overrides.sent.change)).toEqual([])
  })

  it('has no field that only the service writes', () => {
    for (const table of QUOTA_TABLES) {
      const { whole } = tableOf(table).sent
      for (const name of ['id', 'version', 'created_at', 'updated_at', 'hash', 'customer_id']) {
        expect(whole, table).not.toHaveProperty(name)
      }
    }
  })
})
