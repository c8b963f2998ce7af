import { randomBytes } from 'node:crypto'
import type { Decision } from 'sluice/internal/core/combine'
import { KeyedHash } from 'sluice/internal/core/hash'
import { decisionJson } from 'sluice/internal/core/http/decision-json'
import { rateLimitFields } from 'sluice/internal/core/http/fields'
import type { CheckRequest } from 'sluice/internal/core/request'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { Limiter, type LimiterParts } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import { LeasedStore } from 'sluice/internal/stores/leased/leased-store'
import { LendingMemoryStore } from 'sluice/internal/stores/lending/lending-memory-store'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { openStore } from 'sluice/internal/stores/open/open-store'
import { afterEach, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import {
  ask,
  block,
  bookOf,
  customer,
  grant,
  key,
  ofCustomer,
  ofKey,
  override,
  type Records,
  ruleSwitch,
  START_MS,
  standings,
  tier,
} from './records.suite.ts'

const day = (name: string, requests_per_unit: number, more: object = {}) => ({
  name,
  unit: 'day',
  requests_per_unit,
  algorithm: 'fixed_window' as const,
  timeout_ms: 5_000,
  ...more,
})

const rulesOf = (more: object = {}): RuleFile => ({
  domain: 'api',
  tiers: { free: { rate_limit: day('free', 2, more) }, pro: { rate_limit: day('pro', 4, more) } },
  descriptors: [
    {
      key: 'api_key',
      tiered: true,
      rate_limit: day('own', 1, more),
      descriptors: [{ key: 'endpoint', rate_limit: day('endpoint', 1) }],
    },
    { key: 'user', rate_limit: day('user', 100) },
    { key: 'remote_address', rate_limit: day('address', 100) },
    { key: 'job', rate_limit: { name: 'jobs', algorithm: 'concurrency', requests_per_unit: 1 } },
  ],
})

const ACME: Records = {
  customers: [customer('acme', { tier: 'free' })],
  api_keys: [key('k1', 'acme'), key('k2', 'acme')],
}
const K1 = 'api_key=k1-secret'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

interface Node {
  readonly store: Store
  readonly parts: LimiterParts
}

/** Where counters live, as two nodes that share them see it. */
const PLACES: Readonly<Record<string, () => Promise<readonly Node[]>>> = {
  memory: async () => {
    const node = { store: new MemoryStore({ clock: { nowMs: () => START_MS } }), parts: { hash: new KeyedHash(1, 2) } }
    return [node, node]
  },
  leased: async () => {
    const clock = { nowMs: () => START_MS }
    const parent = new LendingMemoryStore({ clock })
    return ['a', 'b'].map((node) => {
      const store = new LeasedStore(parent, { clock, node, isTimed: false, minHits: 1 })
      return { store, parts: { hash: new KeyedHash(1, 2) } }
    })
  },
  Redis: async () => {
    const { url } = await sharedRedis()
    const keyPrefix = `book-${randomBytes(6).toString('hex')}:`
    return Promise.all(
      [1, 2].map(async () => {
        const open = openStore({ redis: url, keyPrefix, timeoutMs: 60_000, keepAlive: false })
        opened.push(() => open.close())
        await open.ready
        return { store: open.store, parts: open.parts }
      }),
    )
  },
}

/** Opens two nodes with one book. */
async function open(place: string, records: Records, more: object = {}) {
  const rules = compileObjects([rulesOf(more)])
  const book = bookOf(records)
  const seen: (readonly PlannedCharge[])[] = []
  const observer = { decided: (charges: readonly PlannedCharge[]) => void seen.push(charges) }
  const nodes = (await PLACES[place]()).map(
    ({ store, parts }) => new Limiter(() => rules, store, { ...parts, quotas: () => book.book, observer }),
  )
  const check = async (request: string | CheckRequest, node = 0): Promise<Decision> =>
    nodes[node].check(typeof request === 'string' ? ask(request) : request)
  /** Returns what each of so many requests gets, on both nodes in turn. */
  const allowed = async (count: number, request: string | CheckRequest = K1): Promise<string> => {
    let text = ''
    for (let i = 0; i < count; i++) text += (await check(request, i % 2)).allowed ? '+' : '-'
    return text
  }
  return { ...book, nodes, check, allowed, seen }
}

describe.each(Object.keys(PLACES))('in %s', (place) => {
  describe.each(['exact', 'leased'])('a changed limit of a rule that is %s', (consistency) => {
    it('keeps what was used, and the very next request is decided by it on every node', async () => {
      const { allowed, put, book, time } = await open(place, ACME, { consistency })
      expect(await allowed(4)).toBe('++--')
      put({ overrides: [override('raise', ofKey('k1'), 5, { unit: 'day', expiresAtMs: START_MS + 60_000 })] })
      expect(await allowed(5)).toBe('+++--')
      put({ overrides: [override('lower', ofKey('k1'), 3, { unit: 'day', effectiveAtMs: START_MS - 1 })] })
      put({
        overrides: [
          override('raise', ofKey('k1'), 6, { unit: 'day', expiresAtMs: START_MS + 60_000, effectiveAtMs: START_MS }),
        ],
      })
      expect(await allowed(3)).toBe('+--')
      book.put('overrides', 'lower', undefined)
      time.nowMs += 60_000
      expect(await allowed(2)).toBe('--')
      put({
        customers: [customer('acme', { tier: 'huge' })],
        tiers: [tier('api', 'huge', { rate_limit: day('huge', 7, { consistency }) })],
      })
      expect(await allowed(3)).toBe('+--')
    })
  })

  it('what is blocked is refused before anything is counted, on every node', async () => {
    const blocks = [block('b', ofCustomer('acme'), { reason: 'fraud', status: 451, body: 'no' })]
    const { check, allowed, book } = await open(place, { ...ACME, blocks })
    const decision = await check(ask([K1, 'user=u']))
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: undefined })
    expect(decision.tightest?.rule.response).toEqual({ status: 451, body: 'no', headers: [] })
    expect(await allowed(2)).toBe('--')
    book.put('blocks', 'b', undefined)
    expect(await allowed(3)).toBe('++-')
    expect(standings(await check('user=u'))).toEqual(['user 99/100 allowed'])
  })

  it('a grant is used when the limit has nothing left, by every key of the customer, and only once', async () => {
    const { check, allowed, nodes } = await open(place, { ...ACME, grants: [grant('g', 'acme', 3)] })
    expect(await allowed(2)).toBe('++')
    const decision = await check(K1)
    expect(standings(decision)).toEqual(['grant 2/3 allowed'])
    expect(decision.tightest?.verdict).toMatchObject({ grant: 'g' })
    expect(await allowed(3, 'api_key=k2-secret')).toBe('+++')
    expect([await allowed(2), await allowed(2, 'api_key=k2-secret')]).toEqual(['+-', '--'])
    await nodes[0].reset(ask(K1))
    await until('the other node hears of it', async () => (await check(ask(K1, 0), 1)).allowed)
    expect(await allowed(3)).toBe('++-')
  })

  it('with a grant all is charged or nothing', async () => {
    const { check } = await open(place, { ...ACME, grants: [grant('g', 'acme', 3)] })
    for (let i = 0; i < 2; i++) await check(K1)
    const both = { ...ask([K1, 'user=u']), cost: 2 }
    const costly: CheckRequest = { ...both, descriptors: [both.descriptors[0], { ...both.descriptors[1], cost: 101 }] }
    expect((await check(costly)).allowed).toBe(false)
    expect(standings(await check(both))).toEqual(['grant 1/3 allowed', 'user 98/100 allowed'])
  })
})

describe('a block', () => {
  const blocked = async (records: Records, request: string | string[]) => {
    const { check, book } = await open('memory', { ...ACME, ...records })
    const { allowed, tightest } = await check(ask(request))
    return { isBlocked: !allowed, descriptor: tightest?.descriptor, hasHook: book.blocks !== undefined }
  }

  it.each<[claim: string, records: Records, request: string | string[], isBlocked: boolean]>([
    ['a key', { blocks: [block('b', ofKey('k1'))] }, K1, true],
    [
      'a key, and not the other keys of its customer',
      { blocks: [block('b', ofKey('k1'))] },
      'api_key=k2-secret',
      false,
    ],
    ['a customer by each key', { blocks: [block('b', ofCustomer('acme'))] }, 'api_key=k2-secret', true],
    ['a customer by its id', { blocks: [block('b', ofCustomer('acme'))] }, 'tenant=acme', true],
    ['a customer that is unknown', { blocks: [block('b', ofCustomer('x'))] }, 'customer_id=x', true],
    ['an address', { blocks: [block('b', { kind: 'cidr', cidr: '203.0.113.7' })] }, 'remote_address=203.0.113.7', true],
    ['a range', { blocks: [block('b', { kind: 'cidr', cidr: '203.0.113.0/24' })] }, 'ip=203.0.113.9', true],
    ['a range of IPv6', { blocks: [block('b', { kind: 'cidr', cidr: '2001:db8::/32' })] }, 'ip=2001:db8::1', true],
    ['all of IPv6, and not IPv4', { blocks: [block('b', { kind: 'cidr', cidr: '::/0' })] }, 'ip=203.0.113.9', false],
    [
      'what is outside of the range not',
      { blocks: [block('b', { kind: 'cidr', cidr: '203.0.113.0/25' })] },
      'ip=203.0.113.200',
      false,
    ],
    [
      'an address where a user is named not',
      { blocks: [block('b', { kind: 'cidr', cidr: '0.0.0.0/0' })] },
      'user=1.2.3.4',
      false,
    ],
    ['a request by any of its descriptors', { blocks: [block('b', ofKey('k1'))] }, ['user=u', K1], true],
    ['a suspended customer', { customers: [customer('acme', { status: 'suspended' })] }, K1, true],
    ['before it begins nothing', { blocks: [block('b', ofKey('k1'), { effectiveAtMs: START_MS + 1 })] }, K1, false],
    ['after it has ended nothing', { blocks: [block('b', ofKey('k1'), { expiresAtMs: START_MS })] }, K1, false],
    [
      'by the wide range where the narrow has ended',
      {
        blocks: [
          block('a', { kind: 'cidr', cidr: '203.0.113.7/32' }, { expiresAtMs: START_MS }),
          block('b', { kind: 'cidr', cidr: '203.0.0.0/16' }),
        ],
      },
      'ip=203.0.113.7',
      true,
    ],
  ])('refuses %s', async (_, records, request, isBlocked) => {
    expect(await blocked(records, request)).toMatchObject({ isBlocked, hasHook: true })
  })

  it('says in the decision that it is one, why, and when it ends', async () => {
    const blocks = [block('b-1', ofKey('k1'), { reason: 'card testing', expiresAtMs: START_MS + 90_000 })]
    const { check, seen } = await open('memory', { ...ACME, blocks })
    const decision = await check(ask(['user=u', K1]))
    expect(decisionJson(decision)).toEqual({
      allowed: false,
      retryAfterMs: 90_000,
      rule: 'blocked',
      reason: 'blocked: card testing',
      verdicts: [
        {
          rule: 'blocked',
          descriptor: 1,
          kind: 'refused',
          limit: 0,
          remaining: 0,
          resetAfterMs: 90_000,
          retryAfterMs: 90_000,
          block: { id: 'b-1', reason: 'card testing' },
        },
      ],
    })
    expect(rateLimitFields(decision, START_MS)).toEqual([['Retry-After', '90']])
    expect(seen.map((charges) => charges.map(({ rule, cost }) => `${rule.id} ${cost}`))).toEqual([['blocked 1']])
  })

  it('stops no acquire from being refused, and nothing from being given back', async () => {
    const { check, nodes, put } = await open('memory', ACME)
    await check(K1)
    put({ blocks: [block('b', ofKey('k1'))] })
    expect((await nodes[0].acquire(ask([K1, 'job=j']))).decision.allowed).toBe(false)
    expect(standings(await check(ask(K1, -1)))).toEqual(['free 2/2 allowed'])
  })

  it('does not keep counters from being reset', async () => {
    const { check, nodes, put, book } = await open('memory', ACME)
    await check(K1)
    put({ blocks: [block('b', ofKey('k1'))] })
    await nodes[0].reset(ask(K1))
    book.put('blocks', 'b', undefined)
    expect(standings(await check(K1))).toEqual(['free 1/2 allowed'])
  })
})

describe('grants', () => {
  const endsIn = (ms: number) => ({ expiresAtMs: START_MS + ms })

  it('are used first to end first, and not before they begin or after they have ended', async () => {
    const grants = [
      grant('late', 'acme', 1, endsIn(200)),
      grant('soon', 'acme', 1, endsIn(100)),
      grant('over', 'acme', 9, endsIn(0)),
      grant('next', 'acme', 1, { effectiveAtMs: START_MS + 100 }),
    ]
    const { check, allowed, time } = await open('memory', { ...ACME, grants })
    await allowed(2)
    const used = async () => (await check(K1)).tightest?.verdict.grant
    expect([await used(), await used(), await used()]).toEqual(['soon', 'late', undefined])
    time.nowMs += 100
    expect([await used(), await used()]).toEqual(['next', undefined])
  })

  it('are for their descriptor, and for limits of the account alone', async () => {
    const grants = [grant('g', 'acme', 1, { descriptor: 'endpoint:GET /a' })]
    const { allowed } = await open('memory', { ...ACME, grants })
    expect(await allowed(3, `${K1} endpoint=GET /a`)).toBe('++-')
    expect(await allowed(2, `${K1} endpoint=GET /b`)).toBe('+-')
    expect(await allowed(3)).toBe('++-')
  })

  it('that are extended or raised keep what was used of them', async () => {
    const { allowed, put } = await open('memory', { ...ACME, grants: [grant('g', 'acme', 2, endsIn(100))] })
    expect(await allowed(5)).toBe('++++-')
    put({ grants: [grant('g', 'acme', 3, endsIn(900))] })
    expect(await allowed(2)).toBe('+-')
  })

  it('are reported as they are: what remains of the grant, and when the limit has budget again', async () => {
    const { check, allowed } = await open('memory', { ...ACME, grants: [grant('g', 'acme', 5)] })
    await allowed(2)
    const refused = 86_400 - Math.floor((START_MS / 1_000) % 86_400)
    expect(rateLimitFields(await check(K1), START_MS)).toEqual([
      ['RateLimit-Policy', '"grant";q=5'],
      ['RateLimit', `"grant";r=4;t=${refused}`],
      ['X-RateLimit-Limit', '5'],
      ['X-RateLimit-Remaining', '4'],
      ['X-RateLimit-Reset', String(START_MS / 1_000 + refused)],
    ])
  })

  it('ask nothing more for a request that is admitted, and report one decision to observers', async () => {
    const { allowed, seen } = await open('memory', { ...ACME, grants: [grant('g', 'acme', 1)] })
    expect(await allowed(4)).toBe('+++-')
    expect(seen.map((charges) => charges.map(({ rule }) => rule.name).join())).toEqual([
      'free',
      'free',
      'grant',
      'free',
    ])
  })

  it('are not used by a look', async () => {
    const { check, allowed } = await open('memory', { ...ACME, grants: [grant('g', 'acme', 1)] })
    await allowed(2)
    expect((await check(ask(K1, 0))).allowed).toBe(false)
    expect(await allowed(2)).toBe('+-')
  })

  it('hold places where a request also needs one', async () => {
    const { nodes, allowed } = await open('memory', { ...ACME, grants: [grant('g', 'acme', 2)] })
    await allowed(2)
    const held = await nodes[0].acquire(ask([K1, 'job=j']))
    expect([held.decision.allowed, held.permits !== undefined]).toEqual([true, true])
    expect((await nodes[0].acquire(ask([K1, 'job=j']))).decision.allowed).toBe(false)
    if (held.permits !== undefined) await nodes[0].release(held.permits)
    expect(standings((await nodes[0].acquire(ask([K1, 'job=j']))).decision)).toEqual([
      'grant 0/2 allowed',
      'jobs 0/1 allowed',
    ])
  })
})

describe('a switch', () => {
  const rule = (id: string) => ({ domain: 'api', id })

  it('turns one rule off, to shadow, and on again, immediately', async () => {
    const { allowed, put, book, check } = await open('memory', ACME)
    expect(await allowed(3)).toBe('++-')
    put({ switches: [ruleSwitch(rule('api_key'), 'shadow')] })
    expect(await allowed(1)).toBe('+')
    expect((await check(K1)).verdicts[0].rule.shadow).toBe(true)
    put({ switches: [ruleSwitch(rule('api_key'), 'off')] })
    expect((await check(K1)).verdicts).toEqual([])
    book.put('switches', 'api/api_key', undefined)
    expect(await allowed(1)).toBe('-')
    expect(book.switches).toBeUndefined()
  })

  it('is found by the name of a rule, too, and goes before the one for all', async () => {
    const { check, put } = await open('memory', ACME)
    put({
      switches: [
        ruleSwitch(undefined, 'off'),
        ruleSwitch(rule('user'), 'enforce'),
        ruleSwitch(rule('free'), 'enforce'),
      ],
    })
    const decision = await check(ask([K1, 'user=u', 'remote_address=1.2.3.4']))
    expect(standings(decision)).toEqual(['free 1/2 allowed', 'user 99/100 allowed'])
  })

  it('makes a rule that only reports enforce', async () => {
    const { put, book } = bookOf(ACME)
    const rules = compileObjects([
      { domain: 'api', descriptors: [{ key: 'user', shadow_mode: true, rate_limit: day('user', 0) }] },
    ])
    const limiter = new Limiter(() => rules, new MemoryStore(), { quotas: () => book })
    expect(limiter.check(ask('user=u')).allowed).toBe(true)
    put({ switches: [ruleSwitch(rule('user'), 'enforce')] })
    expect(limiter.check(ask('user=u')).allowed).toBe(false)
  })
})

describe('a switch of a layer', () => {
  const layer = (name: string, mode: 'off' | 'shadow' | 'enforce') => ruleSwitch({ domain: '$layers', id: name }, mode)

  it('turns all rules of its kind off or to shadow, whatever is said of one of them, and none of the other kind', async () => {
    const { nodes, check, put, book } = await open('memory', ACME)
    const both = ask([K1, 'job=j'])
    put({ switches: [layer('rate', 'off'), ruleSwitch({ domain: 'api', id: 'api_key' }, 'enforce')] })
    expect((await check(K1)).verdicts).toEqual([])
    expect((await nodes[0].acquire(both)).decision.verdicts.map(({ rule }) => rule.name)).toEqual(['jobs'])
    expect((await nodes[0].acquire(both)).decision.allowed).toBe(false)
    put({ switches: [layer('rate', 'enforce'), layer('concurrency', 'shadow')] })
    expect((await nodes[0].acquire(both)).decision.allowed).toBe(true)
    expect((await check(K1)).verdicts).toHaveLength(1)
    for (const name of ['rate', 'concurrency']) book.put('switches', `$layers/${name}`, undefined)
    expect((await nodes[0].acquire(both)).decision.allowed).toBe(false)
  })

  it('leaves a rule off that its file turns off', async () => {
    const { check, put } = await open('memory', ACME)
    put({ switches: [layer('rate', 'shadow'), ruleSwitch({ domain: 'api', id: 'api_key' }, 'off')] })
    expect((await check(K1)).verdicts).toEqual([])
  })

  it('reports overload to the shedder, in its terms', () => {
    const { put, book } = bookOf(ACME)
    expect(book.layers).toBeUndefined()
    put({ switches: [layer('worker', 'enforce'), layer('fleet', 'shadow')] })
    expect([book.layers?.('worker'), book.layers?.('fleet')]).toEqual(['on', 'shadow'])
    put({ switches: [layer('worker', 'off')] })
    expect(book.layers?.('worker')).toBe('off')
    for (const name of ['worker', 'fleet']) book.put('switches', `$layers/${name}`, undefined)
    expect([book.layers, book.switches]).toEqual([undefined, undefined])
  })
})
