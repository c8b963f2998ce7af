import { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import type { Records } from '../../quotas/book/records.suite.ts'
import {
  block,
  bookOf,
  customer,
  grant,
  key,
  ofCustomer,
  ofKey,
  override,
  ruleSwitch,
  START_MS,
  tier,
} from '../../quotas/book/records.suite.ts'
import type { CallerHour, CallerHours } from '../../quotas/usage/caller-hours.ts'
import type { RuleActivity } from '../activity/fleet-activity.ts'
import type { PreviewOutcome, ProposedChange } from '../api/change.ts'
import type { Offered } from '../api/parts.ts'
import { ChangePreview } from './change-preview.ts'

const HOUR = 3_600_000
const THIS_HOUR_MS = START_MS - (START_MS % HOUR)
const BUSY_MS = THIS_HOUR_MS - 50 * HOUR

const limit = (requests_per_unit: number, unit = 'hour') => ({ unit, requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'shop',
    tiers: {
      free: { rate_limit: limit(100) },
      pro: { rate_limit: limit(1_000), descriptors: [{ key: 'endpoint', value: 'GET /a', rate_limit: limit(7) }] },
    },
    descriptors: [
      { key: 'customer', tiered: true, rate_limit: limit(10) },
      { key: 'api_key', secret: true, tiered: true, rate_limit: limit(10) },
      { key: 'user', shadow_mode: true, rate_limit: limit(5) },
    ],
  },
])

const hour = (name: string, allowed: number, refused: number, more: Partial<CallerHour> = {}): CallerHour => {
  return { customerId: 'acme', keyId: '', limit: `shop/${name}`, allowed, refused, cost: allowed, ...more }
}

const NOW = [hour('customer', 100, 5_114)]

interface Scene {
  readonly now?: readonly CallerHour[]
  readonly busy?: readonly CallerHour[]
  readonly records?: Records
  readonly activity?: readonly RuleActivity[]
  readonly hasUsage?: boolean
  readonly isShadow?: boolean
}

function scene({ now = NOW, busy = [], records = {}, activity = [], hasUsage = true, isShadow = false }: Scene = {}) {
  const { book, put } = bookOf({
    customers: [customer('acme', { tier: 'free' }), customer('beta', { tier: 'pro' })],
    api_keys: [key('k1', 'acme'), key('k2', 'acme')],
  })
  put(records)
  const looks: number[] = []
  const of = (all: readonly CallerHour[], customers: ReadonlySet<string>) =>
    all.filter(({ customerId }) => customers.has(customerId))
  const hours: Offered<CallerHours> = {
    busiest: async ({ customers }) => (of(busy, customers).length > 0 ? BUSY_MS : undefined),
    inHour: async ({ customers }, atMs) => {
      looks.push(atMs)
      return of(atMs === BUSY_MS ? busy : now, customers)
    },
  }
  const preview = new ChangePreview({
    rules: () => RULES,
    book: () => book,
    entries: CALLER_ENTRIES,
    keys: new KeyEncoder(KeyedHash.random()),
    hours: hasUsage ? hours : undefined,
    activity: { list: async () => ({ items: activity, nodes: 1, nodesLeftOut: 0, rulesLeftOut: 0 }) },
    countersOf: async () => 4,
    problems: { ofTier: () => undefined, ofOverride: () => undefined, ofScope: () => undefined },
    isShadow,
    nowMs: () => START_MS,
  })
  return { preview: (...changes: ProposedChange[]) => preview.preview(changes), looks, book }
}

const record = (table: string, id: string, after: unknown, before?: unknown): ProposedChange =>
  ({ kind: 'record', table, id, before, after }) as ProposedChange
const raise = (most: number, more = {}) =>
  record('overrides', 'o', override('o', ofCustomer('acme'), most, { unit: 'hour', ...more }))

/** Formats what is reported of each limit: `name refused/requests → from..to`. */
const lines = ({ traffic }: PreviewOutcome): string[] =>
  traffic.flatMap(({ kind, limits }) =>
    limits.map(({ domain, ruleId, requests, refused, refusedAfter }) => {
      const after = refusedAfter === undefined ? '?' : [...new Set(Object.values(refusedAfter))].join('..')
      return `${kind} ${domain}/${ruleId} ${refused ?? '?'}/${requests ?? '?'} → ${after}`
    }),
  )

describe('a preview of a change', () => {
  it('of a block has all requests refused that were counted, under the names that they were counted under', async () => {
    const { preview } = scene({ busy: [hour('customer', 700, 0)] })
    const outcome = await preview(record('blocks', 'b', block('b', ofCustomer('acme'))))
    expect(outcome).toMatchObject({ affectedCustomers: 1, trafficUnknown: undefined, notes: [] })
    expect(lines(outcome)).toEqual([
      'this_hour shop/customer 5114/5214 → 5214',
      'busiest_hour shop/customer 0/700 → 700',
    ])
    expect(outcome.traffic.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
      [THIS_HOUR_MS, START_MS],
      [BUSY_MS, BUSY_MS + HOUR],
    ])
  })

  it('of a block of one key leaves the requests of others alone', async () => {
    const now = [hour('api_key', 5, 1, { keyId: 'k1' }), hour('api_key', 9, 0, { keyId: 'k2' }), hour('customer', 3, 0)]
    const { preview } = scene({ now })
    expect(lines(await preview(record('blocks', 'b', block('b', ofKey('k1')))))).toEqual([
      'this_hour shop/api_key 1/6 → 6',
    ])
  })

  it('of a suspension is that of a block, and its end says that nothing is known', async () => {
    const { preview } = scene({ now: [hour('blocked', 0, 30), hour('customer', 4, 0)] })
    const [active, suspended] = [customer('acme'), customer('acme', { status: 'suspended' })]
    expect(lines(await preview(record('customers', 'acme', suspended, active)))).toEqual([
      'this_hour shop/blocked 30/30 → 30',
      'this_hour shop/customer 0/4 → 4',
    ])
    const end = await preview(record('customers', 'acme', active, suspended))
    expect(lines(end)).toEqual(['this_hour shop/blocked 30/30 → ?'])
    expect(end.traffic[0].limits[0].why).toBe('No limit was asked about requests that were blocked.')
  })

  it.each<[claim: string, most: number, after: string]>([
    ['a raise to more than all', 10_000, '0'],
    ['a raise that is too small', 1_100, '4114'],
    ['a limit that is lower', 60, '5154'],
  ])('of an override compares the limits before and after: %s', async (_, most, after) => {
    const { preview } = scene()
    expect(lines(await preview(raise(most)))).toEqual([`this_hour shop/customer 5114/5214 → ${after}`])
  })

  it('of an override by another window says what sums of an hour can say', async () => {
    const { preview } = scene()
    const outcome = await preview(raise(50, { unit: 'minute' }))
    expect(lines(outcome)).toEqual(['this_hour shop/customer 5114/5214 → 3864..5164'])
    expect(outcome.traffic[0].limits[0].why).toMatch(/^Use is known by the hour, and this limit counts per 1m/)
  })

  it('of an override that takes effect later is of the time when it does', async () => {
    const { preview } = scene()
    const later = raise(10_000, { effectiveAtMs: START_MS + 9 * HOUR, expiresAtMs: START_MS + 10 * HOUR })
    expect(lines(await preview(later))).toEqual(['this_hour shop/customer 5114/5214 → 0'])
  })

  it('of an override of one value below a limit that no rule has says that nothing was counted', async () => {
    const { preview } = scene({ now: [hour('customer', 9, 2)] })
    const outcome = await preview(raise(3, { descriptor: 'endpoint:GET /b' }))
    expect(lines(outcome)).toEqual([
      'this_hour shop/customer/endpoint=GET /b ?/? → ?',
      'this_hour shop/api_key/endpoint=GET /b ?/? → ?',
    ])
    expect(outcome.traffic[0].limits[0].why).toMatch(/^The limit is new/)
  })

  it('of several changes in one call is of all of them together', async () => {
    const { preview } = scene({ now: [hour('api_key', 100, 50, { keyId: 'k1' })] })
    const changes = [
      record('api_keys', 'k1', key('k1', 'acme', { tier: 'pro' }), key('k1', 'acme')),
      record('overrides', 'n', override('n', ofKey('k1'), 120, { unit: 'hour' })),
    ]
    expect(lines(await preview(...changes))[0]).toBe('this_hour shop/api_key 50/150 → 30')
  })

  it('of another tier of a customer names what was not limited before', async () => {
    const { preview } = scene({ now: [hour('customer', 100, 20)] })
    const outcome = await preview(record('customers', 'acme', customer('acme', { tier: 'pro' }), customer('acme')))
    expect(lines(outcome)).toEqual([
      'this_hour shop/customer 20/120 → 0',
      'this_hour shop/customer/endpoint=GET /a ?/? → ?',
      'this_hour shop/api_key/endpoint=GET /a ?/? → ?',
    ])
  })

  it('of a tier adds up the customers that have it, and those with individual limits keep them', async () => {
    const own = override('own', ofCustomer('gamma'), 1_000, { unit: 'hour' })
    const records = { customers: [customer('gamma', { tier: 'free' })], overrides: [own] }
    const now = [hour('customer', 100, 20), hour('customer', 500, 0, { customerId: 'gamma' })]
    const outcome = await scene({ now, records }).preview(
      record('tiers', 'shop/free', tier('shop', 'free', { rate_limit: limit(110) })),
    )
    expect(outcome.affectedCustomers).toBe(2)
    expect(lines(outcome)).toEqual(['this_hour shop/customer 20/120 → 10'])
  })

  it('of a grant takes from what the limits refused, up to its amount', async () => {
    const { preview } = scene()
    expect(lines(await preview(record('grants', 'g', grant('g', 'acme', 114))))).toEqual([
      'this_hour shop/customer 5114/5214 → 5000',
    ])
    const gone = await preview(record('grants', 'g', undefined, grant('g', 'acme', 114)))
    expect(lines(gone)).toEqual(['this_hour shop/customer 5114/5214 → ?'])
  })

  it('of a key that is revoked holds its requests to the limits of strangers', async () => {
    const { preview } = scene({ now: [hour('api_key', 80, 0, { keyId: 'k1' })] })
    const revoked = key('k1', 'acme', { revokedAtMs: START_MS })
    expect(lines(await preview(record('api_keys', 'k1', revoked, key('k1', 'acme'))))).toEqual([
      'this_hour shop/api_key 0/80 → 70..80',
    ])
  })

  it('of a change of no limit lists none', async () => {
    const { preview } = scene()
    const outcome = await preview(record('customers', 'acme', customer('acme', { tier: 'free', name: 'Acme' })))
    expect([lines(outcome), outcome.affectedCustomers]).toEqual([[], 1])
  })

  it.each<[claim: string, scene: Scene, unknown: string]>([
    ['use is not kept', { hasUsage: false }, 'Use is not kept: there is no database.'],
    ['there was none', { now: [] }, 'No request of theirs was counted in the last week.'],
    ['nothing is refused', { isShadow: true }, 'Nothing is refused: the service runs with --shadow-mode.'],
  ])('has no number where nothing is known: %s', async (_, given, unknown) => {
    const { preview } = scene(given)
    const outcome = await preview(record('blocks', 'b', block('b', ofCustomer('acme'))))
    expect([lines(outcome), outcome.trafficUnknown]).toEqual([[], unknown])
  })

  it('of a block of addresses does not say how many customers it is about', async () => {
    const { preview, looks } = scene()
    const outcome = await preview(record('blocks', 'b', block('b', { kind: 'cidr', cidr: '10.0.0.0/8' })))
    expect(outcome).toEqual({
      ...{ affectedCustomers: undefined, traffic: [], notes: [] },
      trafficUnknown: 'Use is counted by customer, not by address.',
    })
    expect(looks).toEqual([])
  })

  it('asks about no more than 100 customers, and says so', async () => {
    const records = { customers: Array.from({ length: 200 }, (_, i) => customer(`m${i}`, { tier: 'pro' })) }
    const { preview, looks } = scene({ records })
    const outcome = await preview(record('tiers', 'shop/pro', tier('shop', 'pro', { rate_limit: limit(600) })))
    expect([outcome.affectedCustomers, outcome.trafficUnknown]).toEqual([
      201,
      'It affects 201 customers, and use is compared for up to 100.',
    ])
    expect(looks).toEqual([])
  })

  it('changes nothing', async () => {
    const own = override('own', ofCustomer('acme'), 7)
    const { preview, book } = scene({ records: { overrides: [own], grants: [grant('g', 'acme', 1)] } })
    await preview(record('customers', 'acme', undefined, customer('acme')))
    await preview(record('overrides', 'own', undefined, own))
    await preview(record('api_keys', 'k1', undefined, key('k1', 'acme')))
    expect(book.counts).toMatchObject({ customers: 2, keys: 2, overrides: 1, grants: 1 })
    expect(book.customer('acme')).toMatchObject({ keys: 2, tier: 'free', overrides: [{ id: 'own' }] })
    expect(book.accounts?.('shop', { key: 'api_key', value: 'k1-secret' })).toBe(book.key('k1'))
  })
})

const did = (id: string, allowed: number, refused: number, shadowRefused = 0): RuleActivity => {
  const counts = { allowed, refused, shadowRefused }
  return { domain: 'shop', id, isShadow: false, lastMinute: counts, lastHour: counts }
}

describe('a preview of rules', () => {
  const TEXT = `
domain: shop
tiers:
  free: {rate_limit: {unit: hour, requests_per_unit: 200}}
  pro: {rate_limit: {unit: hour, requests_per_unit: 1000}, descriptors: [{key: endpoint, value: GET /a, rate_limit: {unit: hour, requests_per_unit: 7}}]}
descriptors:
  - {key: customer, tiered: true, rate_limit: {unit: hour, requests_per_unit: 5}}
  - {key: session, rate_limit: {unit: hour, requests_per_unit: 5}}
  - {key: user, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 5}}
`

  it('names the rules that would change, and what they did in the last hour', async () => {
    const { preview } = scene({ activity: [did('customer', 100, 50), did('api_key', 9, 1)] })
    const outcome = await preview({ kind: 'rules', text: TEXT })
    expect(outcome.affectedCustomers).toBeUndefined()
    expect(outcome.notes).toContain('shop/customer: 10 per 1h, sliding_window → 5 per 1h, sliding_window')
    expect(outcome.notes).toContain('shop/api_key: removed')
    expect(lines(outcome)).toEqual([
      'last_hour shop/customer 50/150 → 0..150',
      'last_hour shop/api_key 1/10 → ?',
      'last_hour shop/session ?/? → ?',
    ])
  })

  it.each<[claim: string, id: string, mode: 'off' | 'shadow' | 'enforce', after: string]>([
    ['off', 'customer', 'off', 'last_hour shop/customer 50/150 → 0..50'],
    ['to shadow', 'customer', 'shadow', 'last_hour shop/customer 50/150 → 0..50'],
    ['on', 'user', 'enforce', 'last_hour shop/user 0/40 → 10..40'],
  ])('of a switch %s is of what the rule did', async (_, id, mode, after) => {
    const { preview } = scene({ activity: [did('customer', 100, 50), did('user', 30, 0, 10)] })
    const place = { domain: 'shop', id }
    const outcome = await preview(record('switches', `shop/${id}`, ruleSwitch(place, mode)))
    expect([lines(outcome), outcome.affectedCustomers]).toEqual([[after], undefined])
  })

  it('of a switch for all is of all rules, except rules with their own switch', async () => {
    const { preview, book } = scene({ activity: [did('customer', 100, 50), did('api_key', 30, 10)] })
    book.put('switches', 'shop/api_key', ruleSwitch({ domain: 'shop', id: 'api_key' }, 'enforce'))
    const outcome = await preview(record('switches', '*', ruleSwitch(undefined, 'off')))
    expect(lines(outcome)).toEqual(['last_hour shop/customer 50/150 → 0'])
    expect(book.switches?.('shop', { id: 'customer', name: 'customer' } as never)).toBeUndefined()
  })

  it('of a reset counts the counters, and of a token there is nothing to say', async () => {
    const { preview } = scene()
    const nothing = { traffic: [], trafficUnknown: undefined }
    expect(await preview({ kind: 'counters', target: { kind: 'key', keyId: 'k1' } })).toEqual({
      ...nothing,
      affectedCustomers: 1,
      notes: ['4 counters would start from zero.'],
    })
    expect(await preview({ kind: 'token', before: undefined, after: {} })).toEqual({
      ...nothing,
      affectedCustomers: 0,
      notes: [],
    })
  })
})
