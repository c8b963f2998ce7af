import fc from 'fast-check'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { match } from 'sluice/internal/core/rules/match'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import { expect, it } from 'vitest'
import type { ApiKey, Customer, Override, QuotaChange, QuotaRecords, QuotaTable, StoredTier } from '../model.ts'
import { bookOf, customer, entriesOf, key, ofCustomer, ofKey, override, START_MS, tier } from './records.suite.ts'

const limit = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit })
/** What the rules say, by tier and path; '' is no tier. Where a tier is silent, the rule speaks. */
const YAML: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  '': { '': 60, 'endpoint=a': 30 },
  free: { '': 100 },
  pro: { '': 1_000, 'endpoint=a': 200 },
}
const tierText = (limits: Readonly<Record<string, number>>) => ({
  ...(limits[''] !== undefined && { rate_limit: limit(limits['']) }),
  ...(limits['endpoint=a'] !== undefined && {
    descriptors: [{ key: 'endpoint', value: 'a', rate_limit: limit(limits['endpoint=a']) }],
  }),
})
const DOMAIN = compileObjects([
  {
    domain: 'api',
    tiers: { free: tierText(YAML.free), pro: tierText(YAML.pro) },
    descriptors: [
      { key: 'api_key', tiered: true, ...tierText(YAML['']) },
      { key: 'tenant', tiered: true, ...tierText(YAML['']) },
    ],
  },
]).domains.get('api') as Domain

const CUSTOMERS = ['c1', 'c2']
const KEYS = ['k1', 'k2', 'k3']
const PATHS = ['', 'endpoint=a', 'endpoint=b']
const TIERS = ['free', 'pro', 'gold']
const SCOPES: readonly Partial<Override>[] = [
  {},
  { domain: 'api' },
  { domain: 'other' },
  ...['api_key', 'tenant', 'api_key/endpoint=a', 'tenant/endpoint=a'].map((rule) => ({ domain: 'api', rule })),
]

interface State {
  readonly customers: Map<string, Customer>
  readonly api_keys: Map<string, ApiKey>
  readonly overrides: Map<string, Override>
  readonly tiers: Map<string, StoredTier>
}

/** Returns the limit as the four sentences of the docs define it, by a search of all records. */
function expected(state: State, caller: string, path: string, nowMs: number): number | undefined {
  const owned = [...state.api_keys.values()].find(
    ({ id, revokedAtMs }) => caller === `api_key=${id}-secret` && (revokedAtMs === undefined || revokedAtMs > nowMs),
  )
  const customerId = owned === undefined ? /^tenant=(.*)$/.exec(caller)?.[1] : owned.customerId
  const payer = customerId === undefined ? undefined : state.customers.get(customerId)
  const ruleId = path === 'endpoint=b' ? undefined : [caller.split('=')[0], path].filter(Boolean).join('/')
  const width = ({ domain, rule }: Override): number => (domain === undefined ? 2 : rule === undefined ? 1 : 0)
  const best = (isOf: (each: Override) => boolean): number | undefined =>
    [...state.overrides.values()]
      .filter(isOf)
      .filter(({ domain = 'api', rule = ruleId }) => domain === 'api' && rule === ruleId)
      .filter(({ descriptor }) => descriptor.replace('default', '').replace(':', '=') === path)
      .filter(({ effectiveAtMs, expiresAtMs }) => effectiveAtMs <= nowMs && nowMs < (expiresAtMs ?? Infinity))
      .sort((a, b) => width(a) - width(b) || b.effectiveAtMs - a.effectiveAtMs || (a.id < b.id ? 1 : -1))[0]
      ?.requestsPerUnit
  const ofTheKey = best(({ subject }) => subject.kind === 'key' && subject.keyId === owned?.id)
  const ofThePayer = best(({ subject }) => subject.kind === 'customer' && payer?.id === subject.customerId)
  const tierName = owned?.tier ?? payer?.tier ?? ''
  const stored = state.tiers.get(`api/${tierName}`)
  const ofTheTier = stored === undefined ? YAML[tierName] : (stored.limits as { plain: Record<string, number> }).plain
  return ofTheKey ?? ofThePayer ?? ofTheTier?.[path] ?? YAML[''][path]
}

const time = fc.integer({ min: -3, max: 3 }).map((ms) => START_MS + ms)
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined })
const count = fc.integer({ min: 1, max: 5_000 })
const anyTier = maybe(fc.constantFrom(...TIERS))

/** A Change puts a record, or removes it. */
type Change = readonly [table: keyof State, id: string, record: QuotaRecords[QuotaTable] | undefined]

const change = fc.oneof(
  fc
    .record({ id: fc.constantFrom(...CUSTOMERS), tier: anyTier, isThere: fc.boolean() })
    .map(({ id, tier: own, isThere }): Change => ['customers', id, isThere ? customer(id, { tier: own }) : undefined]),
  fc
    .record({
      id: fc.constantFrom(...KEYS),
      customerId: maybe(fc.constantFrom(...CUSTOMERS)),
      tier: anyTier,
      revokedAtMs: fc.option(time, { nil: undefined, freq: 5 }),
      isThere: fc.boolean(),
    })
    .map(
      ({ id, customerId, isThere, ...rest }): Change => [
        'api_keys',
        id,
        isThere ? key(id, customerId, rest) : undefined,
      ],
    ),
  fc
    .record({
      id: fc.constantFrom('o1', 'o2', 'o3', 'o4', 'o5'),
      subject: fc.oneof(fc.constantFrom(...CUSTOMERS).map(ofCustomer), fc.constantFrom(...KEYS).map(ofKey)),
      descriptor: fc.constantFrom('default', 'endpoint:a', 'endpoint:b'),
      scope: fc.constantFrom(...SCOPES),
      count,
      effectiveAtMs: time,
      expiresAtMs: maybe(time),
      isThere: fc.boolean(),
    })
    .map(
      ({ id, subject, count: most, isThere, scope, ...rest }): Change => [
        'overrides',
        id,
        isThere ? override(id, subject, most, { ...rest, ...scope }) : undefined,
      ],
    ),
  fc
    .record({ name: fc.constantFrom(...TIERS), '': maybe(count), 'endpoint=a': maybe(count), isThere: fc.boolean() })
    .map(({ name, isThere, ...limits }): Change => {
      const plain = JSON.parse(JSON.stringify(limits)) as Record<string, number>
      return ['tiers', `api/${name}`, isThere ? tier('api', name, { plain }) : undefined]
    }),
)

it('finds the limit that a search through everything finds, after any changes, at any time', () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 40 }),
      fc.array(time, { minLength: 1, maxLength: 4 }),
      (changes, times) => {
        const { book, time: clock } = bookOf({})
        const state: State = { customers: new Map(), api_keys: new Map(), overrides: new Map(), tiers: new Map() }
        changes.forEach(([table, id, record], i) => {
          const kept = state[table] as Map<string, unknown>
          if (record === undefined) kept.delete(id)
          else kept.set(id, record)
          book.apply([{ table, id, record: asStored(table, record), revision: i + 1 } as QuotaChange])
        })
        for (const nowMs of times) {
          clock.nowMs = nowMs
          for (const caller of [
            ...KEYS.map((id) => `api_key=${id}-secret`),
            ...CUSTOMERS.map((id) => `tenant=${id}`),
          ]) {
            for (const path of PATHS) {
              const entries = entriesOf(path === '' ? caller : `${caller} ${path}`)
              const [rule] = match(DOMAIN, entries, undefined, book.accounts, book.tiers)
              expect([caller, path, rule?.limit.max]).toEqual([caller, path, expected(state, caller, path, nowMs)])
            }
          }
        }
      },
    ),
    { numRuns: 500 },
  )
})

/** Writes a tier as the rule language does. */
function asStored(table: keyof State, record: QuotaRecords[QuotaTable] | undefined): typeof record {
  if (table !== 'tiers' || record === undefined) return record
  const { limits, ...rest } = record as StoredTier
  return { ...rest, limits: tierText((limits as { plain: Record<string, number> }).plain) }
}
