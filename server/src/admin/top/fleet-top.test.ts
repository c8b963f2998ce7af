import { compileObjects } from 'sluice/internal/core/rules/compile'
import { Limiter } from 'sluice/internal/engine/limiter'
import { openStore } from 'sluice/internal/stores/open/open-store'
import { describe, expect, it } from 'vitest'
import { observerOf } from '../../observe/door-observer.ts'
import { HotKeys } from '../../observe/hot-keys/hot-keys.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import type { Records } from '../../quotas/book/records.suite.ts'
import { ask, block, bookOf, customer, hash, key } from '../../quotas/book/records.suite.ts'
import { FleetQuestions } from '../fleet/fleet-questions.ts'
import type { ScopedReport } from '../hot-keys/hot-keys-route.ts'
import { ProcessView } from '../process/process-view.ts'
import { FleetTop } from './fleet-top.ts'

const limit = (requests_per_unit: number) => ({ unit: 'day', requests_per_unit, algorithm: 'fixed_window' as const })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit(1) } },
    descriptors: [
      { key: 'api_key', secret: true, tiered: true, rate_limit: limit(2) },
      { key: 'customer', rate_limit: limit(2), shadow_mode: true },
      { key: 'path', descriptors: [{ key: 'x-api-key', rate_limit: limit(2) }] },
      { key: 'user', rate_limit: limit(2) },
    ],
  },
])
const SECRET = 'k1-a-secret-of-32-characters-000'

/** scene is a node of one process, and what it says of its busiest keys. */
function scene(records: Records, scoped: Partial<ScopedReport> = {}) {
  const { book } = bookOf(records)
  const open = openStore({})
  const parts = { rules: () => RULES, quotas: () => book, entries: CALLER_ENTRIES, keys: open.keys, store: open.store }
  const view = new ProcessView(parts)
  const hotKeys = new HotKeys(0)
  const observer = observerOf('http', [...view.observers, hotKeys])
  const limiter = new Limiter(() => RULES, open.store, { ...open.parts, quotas: () => book, observer })
  const time = { nowMs: 5_000_000 }
  let asked = 0
  let collected = 0
  const processes = (async (_name: string, shown?: readonly string[]) => {
    asked++
    return [await view.owners(shown)]
  }) as unknown as AskProcesses
  const others = () => ({ ids: ['2'], away: 1 })
  const top = new FleetTop({
    hotKeys: async () => {
      collected++
      return { report: await hotKeys.gather(), scope: 'fleet', nodes: 2, nodesLeftOut: 0, ...scoped }
    },
    others,
    ask: processes,
    questions: new FleetQuestions({ node: '1', redis: undefined, others }),
    book: () => book,
    keys: open.keys,
    entries: CALLER_ENTRIES,
    nowMs: () => time.nowMs,
  })
  const hits = async (text: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await limiter.check(ask(text))
  }
  return { top, hits, time, counts: () => ({ asked, collected }) }
}

const ACME: Records = {
  customers: [customer('acme'), customer('beta')],
  api_keys: [key('k1', 'acme', { hash: hash(SECRET) }), key('k2', undefined)],
}

describe('the busiest keys of all rules', () => {
  it('are ranked together, and named by customer and API key where those are known', async () => {
    const { top, hits } = scene(ACME)
    await hits(`api_key=${SECRET}`, 9)
    await hits('customer=beta', 7)
    await hits('customer=unknown', 5)
    await hits('user=bob', 4)
    const used = await top.top('used', '5m', 50)
    expect(used).toMatchObject({ nodes: 2, nodesLeftOut: 1, sinceMs: 5_000_000 - 300_000 })
    expect(used.items).toMatchObject([
      { rule: 'api_key', customerId: 'acme', keyId: 'k1', count: 9, missed: 0, share: 1, isShadow: false },
      { rule: 'customer', key: 'customer=beta', customerId: 'beta', keyId: undefined, count: 7, isShadow: true },
      { key: 'customer=unknown', customerId: undefined, share: 0.417 },
      { key: 'user=bob', customerId: undefined },
    ])
    expect(JSON.stringify(used)).not.toContain(SECRET)
    const refused = await top.top('refused', '24h', 2)
    expect(refused.items.map(({ count }) => count)).toEqual([7, 5])
  })

  it('show no API key, although the rule does not hide it', async () => {
    const { top, hits } = scene(ACME)
    await hits(`path=/v1 x-api-key=${SECRET}`, 3)
    const { items } = await top.top('used', '1h', 50)
    expect(items).toMatchObject([{ customerId: 'acme', keyId: 'k1', count: 3 }])
    expect(items[0].key).toMatch(/^path=\/v1\|x-api-key=k1-a~[0-9a-f]{16}$/)
  })

  it('name whom a block refused: each customer, key and address range apart', async () => {
    const { top, hits } = scene({
      ...ACME,
      customers: [
        customer('acme'),
        customer('beta', { status: 'suspended' }),
        customer('gamma', { status: 'suspended' }),
      ],
      blocks: [
        block('b-1', { kind: 'key', keyId: 'k1' }),
        block('b-2', { kind: 'cidr', cidr: '10.0.0.0/8' }),
        block('b-3', { kind: 'customer', customerId: 'unknown' }),
      ],
    })
    await hits(`api_key=${SECRET}`, 5)
    await hits('ip=10.1.2.3', 2)
    await hits('ip=10.1.2.4', 2)
    await hits('customer=unknown', 3)
    await hits('customer=beta', 2)
    await hits('customer=gamma', 1)
    const { items } = await top.top('refused', '5m', 50)
    expect(items.map(({ key: who, customerId, keyId, count }) => [who, customerId, keyId, count])).toEqual([
      ['api_key=k1…', 'acme', 'k1', 5],
      ['address=10.0.0.0/8', undefined, undefined, 4],
      ['customer_id=unknown', undefined, undefined, 3],
      ['customer_id=beta', 'beta', undefined, 2],
      ['customer_id=gamma', 'gamma', undefined, 1],
    ])
    expect(items.every(({ rule }) => rule === 'blocked')).toBe(true)
  })

  it('are of this node alone where the fleet cannot be asked', async () => {
    const { top } = scene(ACME, { scope: 'node', nodes: 1 })
    expect(await top.top('used', '5m', 50)).toMatchObject({ items: [], nodes: 1, nodesLeftOut: 2 })
  })

  it('are collected once a second, and owners looked for twice a minute, however often the list is read', async () => {
    const { top, hits, time, counts } = scene(ACME)
    await hits('api_key=nobody-has-this-key-0123456789', 3)
    await Promise.all(Array.from({ length: 100 }, () => top.top('used', '5m', 50)))
    await top.top('used', '5m', 50)
    expect(counts().collected).toBe(1)
    const { asked } = counts()
    time.nowMs += 1_000
    await top.top('used', '5m', 50)
    expect(counts()).toEqual({ collected: 2, asked })
    time.nowMs += 30_000
    await top.top('used', '5m', 50)
    expect(counts().asked).toBe(asked + 1)
  })

  it('survive keys that are written like others', async () => {
    const { top, hits } = scene(ACME)
    for (const value of ['__proto__', '<img src=x onerror=alert(1)>', '\u0000', '|=%', 'acme', '~0123456789abcdef']) {
      await hits(`customer=${value}`, 3)
      await hits(`x-api-key=${value}`, 3)
      await hits(`path=${value} x-api-key=${value}`, 3)
    }
    const { items } = await top.top('used', '5m', 50)
    expect(items.length).toBeGreaterThan(6)
    expect(items.filter(({ customerId }) => customerId !== undefined).map(({ key: shown }) => shown)).toEqual([
      'customer=acme',
    ])
  })
})
