import { compileObjects } from 'sluice/internal/core/rules/compile'
import { match } from 'sluice/internal/core/rules/match'
import { packRules } from 'sluice/internal/core/rules/pack-rules'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import { RuleUnpacker } from 'sluice/internal/core/rules/rule-unpacker'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { describe, expect, it } from 'vitest'
import { KeyFinder } from './key-finder.ts'
import { QuotaBook } from './quota-book.ts'
import {
  bookOf,
  customer,
  entriesOf,
  hash,
  key,
  ofCustomer,
  ofKey,
  override,
  type Records,
  START_MS,
  tier,
} from './records.suite.ts'

const minute = (name: string, requests_per_unit: number) => ({ name, unit: 'minute', requests_per_unit })

const FILE: RuleFile = {
  domain: 'api',
  defaults: { algorithm: 'fixed_window' },
  tiers: {
    free: { rate_limit: minute('free', 100) },
    pro: {
      rate_limit: minute('pro', 1_000),
      descriptors: [{ key: 'endpoint', value: 'POST /orders', rate_limit: minute('pro-orders', 200) }],
    },
  },
  descriptors: [
    {
      key: 'api_key',
      tiered: true,
      rate_limit: minute('own', 60),
      descriptors: [{ key: 'endpoint', rate_limit: minute('own-endpoint', 30) }],
    },
    { key: 'tenant', tiered: true, rate_limit: minute('tenant', 10) },
    {
      key: 'month',
      tiered: true,
      rate_limit: { name: 'm', requests_per_unit: 5, calendar: { unit: 'month' }, algorithm: 'fixed_window' },
    },
  ],
}

const DOMAIN = compileObjects([FILE]).domains.get('api') as Domain

/** Lists the limits that apply: `name:count shape`. */
function limitsOf(book: QuotaBook, text: string, given?: string, domain = DOMAIN): string {
  const rules = match(domain, entriesOf(text), given, book.accounts, book.tiers)
  return rules.map(({ name, limit, unlimited }) => `${name}:${unlimited ? '∞' : limit.max} ${limit.shape}`).join(', ')
}

const acme: Records = {
  customers: [customer('acme', { tier: 'pro' })],
  api_keys: [key('k1', 'acme'), key('k2', 'acme', { tier: 'free' }), key('lone', undefined)],
}
const K1 = 'api_key=k1-secret'

describe('a limit', () => {
  it('is the rule where the key is unknown, and costs no lookup where there are no records at all', () => {
    expect(limitsOf(bookOf(acme).book, 'api_key=unheard-of')).toBe('own:60 f1m')
    expect(bookOf({}).book).toMatchObject({ accounts: undefined, tiers: undefined, blocks: undefined })
    expect(bookOf({}).book).toMatchObject({ grants: undefined, switches: undefined })
  })

  it("is that of the customer's tier, and of the key's own before it", () => {
    const { book } = bookOf(acme)
    expect([K1, 'api_key=k2-secret', 'api_key=lone-secret'].map((each) => limitsOf(book, each))).toEqual([
      'pro:1000 f1m',
      'free:100 f1m',
      'own:60 f1m',
    ])
  })

  it("is the customer's override before the tier, and the key's before that", () => {
    const { book, put } = bookOf({ ...acme, overrides: [override('o1', ofCustomer('acme'), 5_000)] })
    expect(limitsOf(book, K1)).toBe('pro:5000 f1m')
    put({ overrides: [override('o2', ofKey('k1'), 7)] })
    expect([limitsOf(book, K1), limitsOf(book, 'api_key=k2-secret')]).toEqual(['pro:7 f1m', 'free:5000 f1m'])
    book.put('overrides', 'o2', undefined)
    expect(limitsOf(book, K1)).toBe('pro:5000 f1m')
  })

  it('is overridden for one endpoint, as the descriptor of the admin API writes it', () => {
    const descriptor = 'endpoint:POST /api/v1/orders'
    const { book } = bookOf({ ...acme, overrides: [override('o', ofKey('k1'), 500, { descriptor })] })
    expect(limitsOf(book, `${K1} endpoint=POST /api/v1/orders`)).toBe('own-endpoint:500 f1m')
    expect(limitsOf(book, `${K1} endpoint=POST /orders`)).toBe('pro-orders:200 f1m')
    expect(limitsOf(book, K1)).toBe('pro:1000 f1m')
  })

  it('is overridden below several levels', () => {
    const descriptor = 'region=eu/endpoint=GET /a:b'
    const { book } = bookOf({ ...acme, overrides: [override('o', ofKey('k1'), 3, { descriptor })] })
    expect(limitsOf(book, `${K1} region=eu endpoint=GET /a:b`)).toContain(':3 ')
  })

  it('begins and ends by the time alone', () => {
    const span = { effectiveAtMs: START_MS + 10, expiresAtMs: START_MS + 20 }
    const { book, time } = bookOf({ ...acme, overrides: [override('o', ofKey('k1'), 5, span)] })
    const at = (ms: number): string => {
      time.nowMs = START_MS + ms
      return limitsOf(book, K1)
    }
    expect([9, 10, 19, 20].map(at)).toEqual(['pro:1000 f1m', 'pro:5 f1m', 'pro:5 f1m', 'pro:1000 f1m'])
  })

  it('is the override that took effect last, of several', () => {
    const since = (id: string, ago: number, count: number, endsIn?: number) =>
      override(id, ofKey('k1'), count, {
        effectiveAtMs: START_MS - ago,
        expiresAtMs: endsIn === undefined ? undefined : START_MS + endsIn,
      })
    const { book, time } = bookOf({ ...acme, overrides: [since('a', 1, 3, 5), since('b', 10, 4), since('c', 20, 5)] })
    expect(limitsOf(book, K1)).toBe('pro:3 f1m')
    time.nowMs += 5
    expect(limitsOf(book, K1)).toBe('pro:4 f1m')
  })

  it('is passed over where its numbers make none', () => {
    const bad = override('o', ofKey('k1'), 20_000, { algorithm: 'sliding_log' })
    const worse = override('p', ofCustomer('acme'), 5, { algorithm: 'no_such' })
    expect(limitsOf(bookOf({ ...acme, overrides: [bad, worse] }).book, K1)).toBe('pro:1000 f1m')
  })

  it.each([
    ['the rule: the same counter', {}, 'f1m'],
    ['the rule, over another window: another counter', { unit: 'hour' }, 'f1h'],
    ['it says', { algorithm: 'gcra', burst: 2 }, 'g1m'],
    ['the rule, where a burst means nothing', { burst: 2 }, 'f1m'],
    ['the calendar, in the zone of the customer', { algorithm: 'calendar', unit: 'month' }, 'f/month/Asia/Tokyo'],
    ['windows, where the calendar has no such unit', { algorithm: 'calendar', unit: 'hour' }, 'f1h'],
  ] as const)('counts as %s', (_, changes, shape) => {
    const { book, put } = bookOf({ ...acme, overrides: [override('o', ofKey('k1'), 5, changes)] })
    put({ customers: [customer('acme', { tier: 'pro', timeZone: 'Asia/Tokyo' })] })
    const [rule] = match(DOMAIN, entriesOf(K1), undefined, book.accounts)
    expect(rule.limit).toMatchObject({ max: 5, shape })
  })

  it('follows the calendar in the zone of the customer where the rule follows the calendar', () => {
    const unpacker = new RuleUnpacker()
    let unpacked: Domain | undefined
    for (const part of packRules(compileObjects([FILE]))) unpacked = unpacker.add(part)?.domains.get('api')
    const entries = { keys: ['month'], customers: [], addresses: [] }
    const { clock } = bookOf({})
    const book = new QuotaBook({ hash, clock, entries })
    book.put('customers', 'acme', customer('acme', { timeZone: 'Europe/Berlin' }))
    book.put('api_keys', 'k1', key('k1', 'acme'))
    book.put('overrides', 'o', override('o', ofKey('k1'), 9, { unit: 'month' }))
    for (const domain of [DOMAIN, unpacked as Domain]) {
      expect(limitsOf(book, 'month=k1-secret', undefined, domain)).toBe('m:9 f/month/Europe/Berlin')
    }
  })

  it('is found by the id of the customer, too', () => {
    const { book } = bookOf({ ...acme, overrides: [override('o', ofCustomer('acme'), 12)] })
    expect(limitsOf(book, 'tenant=acme')).toBe('pro:12 f1m')
    expect(limitsOf(book, 'tenant=k1')).toBe('tenant:10 f1m')
  })
})

describe('a stored tier', () => {
  const stored = tier('api', 'pro', { rate_limit: minute('pro-stored', 2_000) })

  it('stands in place of the one in the rules, by the defaults of the domain', () => {
    const { book } = bookOf({ ...acme, tiers: [stored] })
    expect(limitsOf(book, K1)).toBe('pro-stored:2000 f1m')
    expect(limitsOf(book, `${K1} endpoint=POST /orders`)).toBe('own-endpoint:30 f1m')
    book.put('tiers', 'api/pro', undefined)
    expect(limitsOf(book, K1)).toBe('pro:1000 f1m')
  })

  it('may have a new name, and is found by a request that names it', () => {
    const { book } = bookOf({ ...acme, tiers: [tier('api', 'gold', { rate_limit: minute('gold', 9) })] })
    expect(limitsOf(book, 'api_key=anybody', 'gold')).toBe('gold:9 f1m')
  })

  it('of another domain changes nothing, and one that is wrong is passed over', () => {
    const wrong = tier('api', 'free', { rate_limit: { unit: 'minute' } })
    const { book } = bookOf({ ...acme, tiers: [{ ...stored, domain: 'other' }, wrong] })
    expect([limitsOf(book, K1), limitsOf(book, 'api_key=k2-secret')]).toEqual(['pro:1000 f1m', 'free:100 f1m'])
  })

  it('is in the mode of the tiered rule', () => {
    const descriptors = [{ key: 'api_key', tiered: true, shadow_mode: true }]
    const domain = compileObjects([{ ...FILE, descriptors }]).domains.get('api') as Domain
    const { book } = bookOf({ ...acme, tiers: [stored] })
    expect(match(domain, entriesOf(K1), undefined, book.accounts, book.tiers)[0]).toMatchObject({ shadow: true })
  })
})

describe('a change', () => {
  it('of a key, a customer or an owner is in force immediately, in any order', () => {
    const { book, put } = bookOf({ overrides: [override('o', ofCustomer('late'), 3)], api_keys: [key('k', 'late')] })
    expect(limitsOf(book, 'api_key=k-secret')).toBe('own:60 f1m')
    put({ customers: [customer('late')] })
    expect(limitsOf(book, 'api_key=k-secret')).toBe('own:3 f1m')
    put({ api_keys: [key('k', undefined)] })
    expect(limitsOf(book, 'api_key=k-secret')).toBe('own:60 f1m')
    put({ api_keys: [key('k', 'late', { hash: hash('renewed') })] })
    expect([limitsOf(book, 'api_key=k-secret'), limitsOf(book, 'api_key=renewed')]).toEqual(['own:60 f1m', 'own:3 f1m'])
    put({ api_keys: [key('k', 'late', { revokedAtMs: START_MS })] })
    expect(limitsOf(book, 'api_key=k-secret')).toBe('own:60 f1m')
  })

  it('reaches a key that was a stranger before', () => {
    const { book, put } = bookOf(acme)
    expect(limitsOf(book, 'api_key=new-secret')).toBe('own:60 f1m')
    put({ api_keys: [key('new', 'acme')] })
    expect(limitsOf(book, 'api_key=new-secret')).toBe('pro:1000 f1m')
  })

  it('leaves nothing behind of what was removed', () => {
    const { book } = bookOf({
      ...acme,
      overrides: [override('o', ofKey('k1'), 5), override('p', ofCustomer('acme'), 5)],
    })
    for (const id of ['o', 'p']) book.put('overrides', id, undefined)
    for (const id of ['k1', 'k2', 'lone']) book.put('api_keys', id, undefined)
    book.put('customers', 'acme', undefined)
    expect(book.counts).toEqual({ customers: 0, keys: 0, overrides: 0, grants: 0, blocks: 0 })
  })

  it('that is in already changes nothing', () => {
    const { book } = bookOf(acme)
    const at = (revision: number, record: ReturnType<typeof override> | undefined) =>
      book.apply([{ table: 'overrides', id: 'o', record, revision }])
    book.arriveAt(5)
    at(6, override('o', ofKey('k1'), 5))
    at(5, undefined)
    expect([limitsOf(book, K1), book.revision]).toEqual(['pro:5 f1m', 6])
  })
})

describe('KeyFinder', () => {
  it('hashes a key once, and a stranger once, however often they ask', () => {
    let hashed = 0
    const counting = (value: string): string => {
      hashed++
      return hash(value)
    }
    const finder = new KeyFinder(counting)
    const { book } = bookOf(acme)
    const record = book.key('k1')
    if (record === undefined) throw new Error('not there')
    finder.put(record)
    for (let i = 0; i < 10; i++) expect([finder.find('k1-secret')?.id, finder.find('x')?.id]).toEqual(['k1', undefined])
    expect(hashed).toBe(2)
  })
})
