import { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Entry } from 'sluice/internal/core/request'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import type { Actor } from '../../quotas/audit/actor.ts'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import type { Records } from '../../quotas/book/records.suite.ts'
import {
  ask,
  block,
  bookOf,
  customer,
  entriesOf,
  grant,
  key,
  ofCustomer,
  ofKey,
  override,
  ruleSwitch,
  tier,
} from '../../quotas/book/records.suite.ts'
import type { CounterTarget } from '../api/change.ts'
import type { MetCounter } from '../callers/caller-ways.ts'
import type { LimitStates } from '../limits/limit-states.ts'
import { memoryCounterStore } from './counter-store.ts'
import { Counters } from './counters.ts'

const limit = (requests_per_unit: number, unit = 'day') => ({
  unit,
  requests_per_unit,
  algorithm: 'fixed_window' as const,
})
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: {
      free: {
        rate_limit: limit(100),
        descriptors: [{ key: 'endpoint', value: 'POST /orders', rate_limit: limit(3, 'hour') }],
      },
    },
    descriptors: [
      { key: 'api_key', secret: true, tiered: true, rate_limit: limit(10) },
      { key: 'customer', tiered: true, rate_limit: limit(1_000) },
      { key: 'user', shadow_mode: true, rate_limit: limit(1) },
    ],
  },
])
const BY: Actor = { id: 't1', name: 'ann', address: undefined, reason: 'a call' }

/** scene is a counters and a limiter on the same counters. `met` is what nodes remember. */
function scene(records: Records, rules = RULES, met: readonly MetCounter[] = []) {
  const { book, put, time, clock } = bookOf(records)
  const memory = new MemoryStore({ clock })
  const hash = KeyedHash.random()
  const audited: string[] = []
  const counters = new Counters({
    rules: () => rules,
    book: () => book,
    entries: CALLER_ENTRIES,
    store: memoryCounterStore(memory, new KeyEncoder(hash)),
    met: async () => met,
    seen: async (ids) =>
      new Map(
        ids.flatMap((id) => {
          const text = book.key(id)?.seenAs
          return text === undefined ? [] : [[id, text] as const]
        }),
      ),
    refusedCounters: async () => [],
    audited: async (action, { kind, id }, by) => void audited.push(`${by.name} ${action} ${kind} ${id}`),
    nowMs: clock.nowMs,
  })
  const limiter = new Limiter(() => rules, memory, { hash, quotas: () => book })
  const hits = (text: string, count: number): string =>
    Array.from({ length: count }, () => (limiter.check(ask(text)).allowed ? '+' : '-')).join('')
  return { counters, hits, book, put, time, audited }
}

const descriptors = (...texts: string[]): CounterTarget & { kind: 'descriptors' } => {
  const all: readonly Entry[][] = texts.map(entriesOf)
  return { kind: 'descriptors', domain: 'api', descriptors: all }
}
const lines = ({ limits }: LimitStates): string[] =>
  limits.map(({ ruleId, descriptor, used, limit: most, source, keyId }) =>
    `${keyId ?? '-'} ${ruleId} ${descriptor} ${used}/${most} ${source.kind} ${source.id ?? ''}`.trim(),
  )

const ACME: Records = {
  customers: [customer('acme', { tier: 'free' })],
  api_keys: [key('k1', 'acme'), key('k2', 'acme')],
}

describe('a look at counters', () => {
  it('says what was used, and charges nothing', async () => {
    const { counters, hits } = scene(ACME)
    hits('api_key=k1-secret', 3)
    const target = descriptors('api_key=k1-secret')
    const looks = [await counters.look(target), await counters.look(target)]
    expect(looks.flat().map(({ used, remaining, source }) => [used, remaining, source])).toEqual([
      [3, 97, { kind: 'tier', id: 'free' }],
      [3, 97, { kind: 'tier', id: 'free' }],
    ])
  })

  it.each<[claim: string, records: Records, source: object, limit: number]>([
    ['the override of the key', { overrides: [override('o', ofKey('k1'), 7)] }, { kind: 'key_override', id: 'o' }, 7],
    [
      'the override of the customer',
      { overrides: [override('o', ofCustomer('acme'), 8)] },
      { kind: 'customer_override', id: 'o' },
      8,
    ],
    ['the stored tier', { tiers: [tier('api', 'free', { rate_limit: limit(9) })] }, { kind: 'tier', id: 'free' }, 9],
    ['the rule', { customers: [customer('acme')] }, { kind: 'rule', id: undefined }, 10],
  ])('names %s', async (_, more, source, most) => {
    const { counters } = scene({ ...ACME, ...more })
    expect(await counters.look(descriptors('api_key=k1-secret'))).toMatchObject([{ source, limit: most }])
  })

  it('names the customer of an API key or an entry, and no one for a key that no one has', async () => {
    const { counters } = scene({ ...ACME, api_keys: [key('k1', 'acme'), key('k3', undefined)] })
    const customerOf = async (entry: string) => (await counters.look(descriptors(entry)))[0]?.customerId
    expect(await customerOf('api_key=k1-secret')).toBe('acme')
    expect(await customerOf('api_key=k1-secre')).toBeUndefined()
    expect(await customerOf('api_key=k3-secret')).toBeUndefined()
  })

  it('shows no API key, whether the rule calls it a secret or not', async () => {
    const { counters } = scene(ACME)
    const [{ key: shown }] = await counters.look(descriptors('api_key=a-long-key-that-no-one-has'))
    expect(shown).toMatch(/^api\|api_key\|api_key=a-lo~[0-9a-f]{16}$/)
  })

  it('knows when a refused request is admitted again, switches, and grants', async () => {
    const { counters, hits, put } = scene({ ...ACME, overrides: [override('o', ofKey('k1'), 1)] })
    hits('api_key=k1-secret', 2)
    const look = async () => (await counters.look(descriptors('api_key=k1-secret')))[0]
    expect(await look()).toMatchObject({ remaining: 0, isImpossible: false, grants: [], switchedTo: undefined })
    expect((await look()).retryAfterMs).toBeGreaterThan(0)
    put({ grants: [grant('g', 'acme', 5)], switches: [ruleSwitch({ domain: 'api', id: 'api_key' }, 'shadow')] })
    expect(await look()).toMatchObject({ switchedTo: 'shadow', grants: [{ id: 'g', remaining: 5 }] })
  })

  it('names the block that goes before all rules', () => {
    const { counters } = scene({ ...ACME, blocks: [block('b-1', ofCustomer('acme'), { reason: 'abuse' })] })
    expect(counters.blockOf(descriptors('api_key=k1-secret'))).toMatchObject({
      id: 'b-1',
      reason: 'abuse',
      status: 403,
    })
    expect(counters.blockOf(descriptors('api_key=other'))).toBeUndefined()
  })
})

describe('the limits of a customer', () => {
  it('belong to every key and to the customer itself, with what stands below and where it comes from', async () => {
    const { counters, hits } = scene({
      ...ACME,
      overrides: [override('o', ofKey('k2'), 50, { descriptor: 'endpoint:GET /a/b', unit: 'hour' })],
      grants: [grant('g', 'acme', 20)],
    })
    hits('api_key=k1-secret', 4)
    hits('api_key=k1-secret endpoint=POST /orders', 2)
    hits('api_key=k2-secret endpoint=GET /a/b', 1)
    hits('customer=acme', 6)
    expect(lines(await counters.limitsOf({ kind: 'customer', customerId: 'acme' }))).toEqual([
      '- customer default 6/100 tier free',
      '- customer/endpoint=POST /orders endpoint:POST /orders 0/3 tier free',
      'k1 api_key default 4/100 tier free',
      'k1 api_key/endpoint=POST /orders endpoint:POST /orders 2/3 tier free',
      'k2 api_key default 0/100 tier free',
      'k2 api_key/endpoint=POST /orders endpoint:POST /orders 0/3 tier free',
      'k2 api_key/endpoint=GET /a/b endpoint:GET /a/b 1/50 key_override o',
      '- grant default 0/20 grant g',
    ])
  })

  it('name their unit and window', async () => {
    const { counters, time } = scene(ACME)
    const { limits } = await counters.limitsOf({ kind: 'key', keyId: 'k1' })
    const [first] = limits
    const startMs = Math.floor(time.nowMs / 86_400_000) * 86_400_000
    expect(first).toMatchObject({ unit: 'day', windowStartMs: startMs, resetAtMs: startMs + 86_400_000 })
  })

  it('of a customer without keys are known all the same', async () => {
    const { counters } = scene({ customers: [customer('new', { tier: 'free' })] })
    const found = await counters.limitsOf({ kind: 'customer', customerId: 'new' })
    expect(lines(found)).toContain('- api_key default 0/100 tier free')
  })
})

/** NESTED are limits below and above a customer's entry, by values that rules leave open. */
const NESTED = compileObjects([
  {
    domain: 'api',
    descriptors: [
      {
        key: 'customer',
        descriptors: [
          { key: 'month', rate_limit: limit(100), descriptors: [{ key: 'day', rate_limit: limit(9) }] },
          { key: 'month', value: 'trial', rate_limit: limit(7) },
          { key: 'path', value: '/v1/*', rate_limit: limit(20) },
          { key: 'path', value: '/bulk/*', share_threshold: true, rate_limit: limit(5) },
          { key: 'ip', cidr: ['10.0.0.0/8'], rate_limit: limit(4) },
          { key: 'token', value: 'planted', secret: true, rate_limit: limit(6) },
        ],
      },
      { key: 'region', descriptors: [{ key: 'customer', rate_limit: limit(30) }] },
    ],
  },
])
const PLAIN = compileObjects([{ domain: 'api', descriptors: [{ key: 'api_key', rate_limit: limit(10) }] }])
const ofAcme = (below: string, above = ''): MetCounter => {
  const entries = (text: string) => (text === '' ? [] : entriesOf(text))
  return { domain: 'api', keyId: undefined, key: 'customer', above: entries(above), below: entries(below) }
}

describe('the limits of a customer that no rule names by their values', () => {
  const acme = { customers: [customer('acme')] }
  const look = (counters: Counters) => counters.limitsOf({ kind: 'customer', customerId: 'acme' })
  const shown = ({ limits }: LimitStates): string[] =>
    limits.map(({ above, descriptor, used, limit: most, isPattern, isUseKnown }) =>
      [above, descriptor, isPattern ? 'pattern' : `${used}/${most}`, isUseKnown ? '' : '?'].filter(Boolean).join(' '),
    )

  it('are shown as patterns, whose use is not known; a counter that all values share is looked at', async () => {
    const { counters, hits } = scene(acme, NESTED)
    hits('customer=acme path=/bulk/a', 2)
    expect(shown(await look(counters))).toEqual([
      'month:trial 0/7',
      'month pattern ?',
      'month/day pattern ?',
      'path:/v1/* pattern ?',
      'path:/bulk/* 2/5',
      'ip:10.0.0.0/8 pattern ?',
      'token:(secret) 0/6',
      'region default pattern ?',
    ])
  })

  it('are shown with their use where nodes remember the value, in an order that use does not change', async () => {
    const met = ['month=2026-12', 'month=2026-11', 'month=trial', 'month=2026-11 day=3', 'path=/v1/a/b'].map((each) =>
      ofAcme(each),
    )
    const { counters, hits } = scene(acme, NESTED, [...met, ofAcme('', 'region=eu'), ofAcme('nothing=there')])
    expect(hits('customer=acme month=2026-11', 101)).toMatch(/^\+{100}-$/)
    hits('region=eu customer=acme', 3)
    expect(shown(await look(counters)).filter((line) => !line.includes('pattern'))).toEqual([
      'month:trial 0/7',
      'path:/bulk/* 0/5',
      'token:(secret) 0/6',
      'month:2026-11 100/100',
      'month=2026-11/day=3 0/9',
      'month:2026-12 0/100',
      'path:/v1/a/b 0/20',
      'region=eu default 3/30',
    ])
  })

  it('have the use that another node saw last, where requests have carried the key to that one alone', async () => {
    const inAnHour = Date.now() + 3_600_000
    const use = { ruleId: 'api_key', limit: 10, remaining: 3, resetAtMs: inAnHour }
    const of = async (changed: Partial<typeof use>, keyId = 'k1') => {
      const met = [{ ...ofAcme(''), key: 'api_key', keyId, use: { ...use, ...changed } }]
      const records = { ...acme, api_keys: [key('k1', 'acme'), key('k2', 'acme')] }
      const { limits } = await look(scene(records, PLAIN, met).counters)
      return limits.map((each) => `${each.keyId} ${each.used}/${each.limit}`)
    }
    expect(await of({})).toEqual(['k1 7/10', 'k2 0/10'])
    expect(await of({}, 'k2')).toEqual(['k1 0/10', 'k2 7/10'])
    expect(await of({ ruleId: 'other' })).toEqual(['k1 0/10', 'k2 0/10'])
    expect(await of({ limit: 11 })).toEqual(['k1 0/10', 'k2 0/10'])
    expect(await of({ resetAtMs: 0 })).toEqual(['k1 0/10', 'k2 0/10'])
  })

  it('of another caller are not shown', async () => {
    const { counters } = scene({ ...acme, api_keys: [key('k1', 'acme')] }, NESTED, [
      { ...ofAcme('month=2026-11'), keyId: 'k1' },
      { ...ofAcme('month=2026-11'), key: 'tenant' },
      { ...ofAcme('month=2026-11'), domain: 'other' },
    ])
    expect(shown(await look(counters))).not.toContain('month:2026-11 0/100')
  })

  it('have the names of their rules', async () => {
    const named = compileObjects([
      { domain: 'api', descriptors: [{ key: 'customer', rate_limit: { ...limit(1), name: 'calls' } }] },
    ])
    const { limits } = await look(scene(acme, named).counters)
    expect(limits.map(({ ruleId, ruleName }) => [ruleId, ruleName])).toEqual([['customer', 'calls']])
  })

  it('are no more than 1,000 descriptors: what was met comes first, and the rest is counted', async () => {
    const values = Array.from({ length: 1_200 }, (_, i) => ({ key: 'plan', value: `${i}`, rate_limit: limit(1) }))
    const many = compileObjects([{ domain: 'api', descriptors: [{ key: 'customer', descriptors: values }] }])
    const { counters, hits } = scene(acme, many, [ofAcme('plan=1199')])
    hits('customer=acme plan=1199', 1)
    const { limits, omitted } = await look(counters)
    // One descriptor is the customer itself, without a limit.
    expect([limits.length, omitted]).toEqual([999, 201])
    expect(limits.at(-1)).toMatchObject({ descriptor: 'plan:1199', used: 1 })
  })

  it('are forgotten by a reset', async () => {
    const { counters, hits } = scene(acme, NESTED, [ofAcme('month=2026-11')])
    hits('customer=acme month=2026-11', 50)
    expect(await counters.reset({ kind: 'customer', customerId: 'acme' }, BY)).toBe(1)
    expect(hits('customer=acme month=2026-11', 101)).toMatch(/^\+{100}-$/)
  })
})

describe('a reset', () => {
  it('gives a customer the whole budget again: all keys, all levels, grants; no one else', async () => {
    const { counters, hits, audited } = scene({
      ...ACME,
      customers: [customer('acme', { tier: 'free' }), customer('other', { tier: 'free' })],
      api_keys: [key('k1', 'acme'), key('k2', 'acme'), key('k3', 'other')],
      grants: [grant('g', 'acme', 1, { descriptor: 'endpoint:POST /orders' })],
    })
    const orders = 'endpoint=POST /orders'
    expect([hits(`api_key=k1-secret ${orders}`, 5), hits(`api_key=k3-secret ${orders}`, 5)]).toEqual(['++++-', '+++--'])
    hits('api_key=k2-secret', 2)
    hits('customer=acme', 2)
    expect(await counters.reset({ kind: 'customer', customerId: 'acme' }, BY)).toBe(4)
    expect([hits(`api_key=k1-secret ${orders}`, 5), hits(`api_key=k3-secret ${orders}`, 5)]).toEqual(['++++-', '-----'])
    expect(audited).toEqual(['ann counters.reset customers acme'])
  })

  it('of a key leaves the other keys of its customer alone', async () => {
    const { counters, hits } = scene(ACME)
    hits('api_key=k1-secret', 1)
    hits('api_key=k2-secret', 1)
    expect(await counters.reset({ kind: 'key', keyId: 'k1' }, BY)).toBe(1)
    const { limits } = await counters.limitsOf({ kind: 'customer', customerId: 'acme' })
    const used = limits.map((each) => each.used)
    expect(used.filter((count) => count > 0)).toEqual([1])
  })

  it('of descriptors forgets their counters, and audits no value', async () => {
    const { counters, hits, audited } = scene({})
    hits('api_key=stranger', 10)
    expect(await counters.reset(descriptors('api_key=stranger'), BY)).toBe(1)
    expect(hits('api_key=stranger', 1)).toBe('+')
    expect(audited).toEqual(['ann counters.reset counters api api_key'])
  })

  it('is not made when it cannot be audited', async () => {
    const { hits, book } = scene({})
    const memory = new MemoryStore()
    const counters = new Counters({
      rules: () => RULES,
      book: () => book,
      entries: CALLER_ENTRIES,
      store: {
        ...memoryCounterStore(memory, new KeyEncoder(KeyedHash.random())),
        reset: async () => expect.unreachable('it was reset'),
      },
      seen: async () => new Map(),
      met: async () => [],
      refusedCounters: async () => [],
      audited: () => Promise.reject(new Error('no database')),
    })
    hits('api_key=stranger', 1)
    await expect(counters.reset(descriptors('api_key=stranger'), BY)).rejects.toThrow('no database')
  })
})

describe('the default of a tier', () => {
  it('is the plain limit of its rules or its record, and of no tier that of the rule', () => {
    const { counters } = scene({ tiers: [tier('api', 'gold', { rate_limit: limit(9_000, 'hour') })] })
    const rule = { domain: 'api', ruleId: expect.any(String), ruleName: expect.any(String) }
    expect(['free', 'gold', undefined, 'unknown'].map((name) => counters.defaultOf(name))).toEqual([
      { ...rule, requestsPerUnit: 100, unit: 'day' },
      { ...rule, requestsPerUnit: 9_000, unit: 'hour' },
      { ...rule, requestsPerUnit: 10, unit: 'day' },
      { ...rule, requestsPerUnit: 10, unit: 'day' },
    ])
  })
})
