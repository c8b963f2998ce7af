import { describe, expect, it } from 'vitest'
import { newToken } from '../../admin/access/admin-tokens.ts'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import { customer, SUPPORT } from '../records/record-store.suite.ts'
import { UsagePages } from '../usage/usage-pages.ts'
import type { UsageQuery } from './usage-store.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MIDNIGHT = 20_000 * DAY

function ruleText(requests: number): string {
  return `domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: ${requests} }\n`
}

describe.each(testDatabases)('in addition to records, %s keeps', { timeout: SLOW_MS }, (_, make) => {
  async function open(options: { secret?: string; now?: () => number } = {}) {
    return quotasOn(await (await make()).open(), options)
  }

  describe('tokens', () => {
    const made = (more: Partial<Parameters<typeof newToken>[0]> = {}) =>
      newToken({ name: 'on call', role: 'operator', ...more }, 1_750_000_000_000)

    it('as hashes, found by them, also when they were revoked', async () => {
      const { tokens, db, audit } = await open()
      expect(await tokens.hasAny()).toBe(false)
      const { token, kept } = made({ expiresAtMs: 4_000_000_000_000 })
      await tokens.create(kept, SUPPORT)
      const stored = JSON.stringify([await db.query('SELECT * FROM sluice.tokens'), await audit.list({ limit: 9 })])
      expect(stored).not.toContain(token)
      expect(JSON.stringify(await audit.list({ limit: 9 }))).not.toContain(kept.hash)
      expect(await tokens.find(kept.hash)).toEqual(kept)
      expect(await tokens.get(kept.id)).toEqual(kept)
      for (const found of [tokens.find('0'), tokens.get('0'), tokens.revoke('0', SUPPORT)])
        expect(await found).toBeUndefined()
      expect(await tokens.revoke(kept.id, SUPPORT)).toMatchObject({ revokedAtMs: expect.any(Number) })
      expect(await tokens.revoke(kept.id, SUPPORT)).toMatchObject({ revokedAtMs: expect.any(Number) })
      expect(await tokens.find(kept.hash)).toMatchObject({ revokedAtMs: expect.any(Number) })
      expect(await tokens.hasAny()).toBe(false)
      const { items } = await audit.list({ limit: 9 })
      expect(items.map(({ action }) => action)).toEqual(['tokens.revoke', 'tokens.create'])
    })

    it('with the time of their last use, written together', async () => {
      const { tokens, db } = await open()
      const { kept } = made()
      await tokens.create(kept, SUPPORT)
      expect((await tokens.list())[0].lastUsedAtMs).toBeUndefined()
      for (let n = 1; n <= 3; n++) tokens.used(kept.id, kept.createdAtMs + n * 1000)
      expect(await db.query('SELECT last_used_at FROM sluice.tokens')).toEqual([{ last_used_at: null }])
      expect((await tokens.list())[0].lastUsedAtMs).toBe(kept.createdAtMs + 3000)
      const { kept: wrong } = made({ role: 'root' as never })
      await expect(tokens.create(wrong, SUPPORT)).rejects.toMatchObject({ code: 'RECORD_INVALID' })
    })

    it('of which one is the first, however many nodes start at the same time, and none that has expired counts', async () => {
      const place = await make()
      let now = 1_750_000_000_000
      const nodes = await Promise.all([0, 1].map(async () => quotasOn(await place.open(), { now: () => now })))
      const first = await Promise.all(
        nodes.map(({ tokens }) => tokens.createFirst(made({ expiresAtMs: now + 1000 }).kept, SUPPORT)),
      )
      expect(first.sort()).toEqual([false, true])
      expect(await nodes[0].tokens.hasAny()).toBe(true)
      now += 1000
      expect(await nodes[0].tokens.hasAny()).toBe(false)
      expect(await nodes[1].tokens.createFirst(made().kept, SUPPORT)).toBe(true)
    })
  })

  describe('usage', () => {
    const count = (atMs: number, more: object = {}) => ({
      customerId: 'acme',
      limit: 'api/orders',
      atMs,
      allowed: 2,
      refused: 1,
      cost: 5,
      ...more,
    })

    it('by hour and day of UTC, from several nodes, with a batch that is sent again counted once', async () => {
      const { usage, db } = await open()
      const pages = new UsagePages(db)
      const first = { node: 'a', id: '1', counts: [count(MIDNIGHT), count(MIDNIGHT + 5), count(MIDNIGHT + HOUR)] }
      expect(await usage.add(first)).toBe(true)
      expect(await usage.add(first)).toBe(false)
      expect(await usage.add({ ...first, node: 'b', counts: [count(MIDNIGHT, { keyId: 'k1' })] })).toBe(true)
      expect(await usage.add({ node: 'a', id: '2', counts: [] })).toBe(true)
      const range = { customerId: 'acme', fromMs: MIDNIGHT - DAY, toMs: MIDNIGHT + DAY, limit: 99 }
      const read = async (query: Partial<UsageQuery>) =>
        (await pages.read({ ...range, granularity: 'day', ...query })).items
      expect(await read({ granularity: 'hour' })).toEqual([
        { customerId: 'acme', limit: 'api/orders', atMs: MIDNIGHT, allowed: 6, refused: 3, cost: 15 },
        { customerId: 'acme', limit: 'api/orders', atMs: MIDNIGHT + HOUR, allowed: 2, refused: 1, cost: 5 },
      ])
      expect(await read({})).toEqual([
        { customerId: 'acme', limit: 'api/orders', atMs: MIDNIGHT, allowed: 8, refused: 4, cost: 20 },
      ])
      const ofKey = "SELECT allowed FROM sluice.usage_hourly WHERE api_key_id = 'k1'"
      expect(await db.query(ofKey)).toEqual([{ allowed: 2 }])
      expect(await read({ toMs: MIDNIGHT, granularity: 'hour' })).toEqual([])
    })

    it('by day when hours are old, without losing what comes late, and not for ever', async () => {
      let now = MIDNIGHT + DAY
      const { usage, db } = await open({ now: () => now })
      const range = { customerId: 'acme', fromMs: MIDNIGHT, toMs: MIDNIGHT + 900 * DAY, limit: 99 }
      const pages = new UsagePages(db)
      const read = async (granularity: 'hour' | 'day') => (await pages.read({ ...range, granularity })).items
      await usage.add({ node: 'a', id: '1', counts: [count(MIDNIGHT + HOUR), count(MIDNIGHT + 2 * HOUR)] })
      await usage.rollUp()
      expect(await read('hour')).toHaveLength(2)
      now = MIDNIGHT + 36 * DAY
      await usage.rollUp()
      expect(await read('hour')).toEqual([])
      await usage.add({ node: 'a', id: '2', counts: [count(MIDNIGHT + 3 * HOUR)] })
      expect(await read('day')).toMatchObject([{ atMs: MIDNIGHT, allowed: 6 }])
      await usage.rollUp()
      expect(await read('day')).toMatchObject([{ atMs: MIDNIGHT, allowed: 6, cost: 15 }])
      now = MIDNIGHT + 800 * DAY
      await usage.rollUp()
      expect([await read('day'), await db.query('SELECT 1 FROM sluice.usage_daily')]).toEqual([[], []])
    })

    it('of many nodes that write the same rows at the same time', async () => {
      const { usage, db } = await open()
      const pages = new UsagePages(db)
      const counts = Array.from({ length: 20 }, (_, n) => count(MIDNIGHT, { customerId: `c${n % 5}`, limit: `l${n}` }))
      const batches = Array.from({ length: 10 }, (_, n) => ({
        node: `n${n}`,
        id: '1',
        counts: n % 2 === 0 ? counts : [...counts].reverse(),
      }))
      await Promise.all(batches.map((batch) => usage.add(batch)))
      const range = { fromMs: 0, toMs: MIDNIGHT + DAY, granularity: 'day' } as const
      const { items } = await pages.read({ ...range, customerId: 'c0', limit: 99 })
      const all: string[] = []
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const page = await pages.read({ ...range, limit: 7, after })
        all.push(...page.items.map(({ customerId, limit }) => `${customerId} ${limit}`))
        after = page.next
      }
      expect([all.length, new Set(all).size]).toEqual([20, 20])
      expect(all).toEqual([...all].sort())
      expect(items.map(({ allowed }) => allowed)).toEqual([20, 20, 20, 20])
    })
  })

  describe('rules', () => {
    it('in versions, the newest in force, and goes back to a former one in a call', async () => {
      const { rules, audit } = await open()
      expect([await rules.read(), await rules.versions({ limit: 9 })]).toEqual([
        undefined,
        { items: [], next: undefined },
      ])
      const first = await rules.put(await rules.check(ruleText(1)), { by: SUPPORT, comment: 'first', version: 0 })
      expect(first).toMatchObject({ version: 1, isActive: true, by: SUPPORT.name, comment: 'first', limits: 1 })
      expect(first.domains).toEqual(['api'])
      await rules.put(await rules.check(ruleText(2)), { by: SUPPORT, version: 1 })
      const third = await rules.check(ruleText(3))
      await expect(rules.put(third, { by: SUPPORT, version: 1 })).rejects.toMatchObject({ code: 'VERSION_STALE' })
      expect(await rules.read()).toMatchObject({ version: 2, text: ruleText(2) })
      const back = { by: SUPPORT, comment: 'back to version 1', version: 2, action: 'activate' } as const
      expect(await rules.put(await rules.check(ruleText(1)), back)).toMatchObject({ version: 3, comment: back.comment })
      expect(await rules.read()).toMatchObject({ version: 3, text: ruleText(1), isActive: true })
      expect(await rules.read(2)).toMatchObject({ version: 2, text: ruleText(2), isActive: false })
      const { items, next } = await rules.versions({ limit: 2 })
      expect(items.map(({ version, isActive }) => [version, isActive])).toEqual([
        [3, true],
        [2, false],
      ])
      expect((await rules.versions({ limit: 2, after: next })).items.map(({ version }) => version)).toEqual([1])
      const entries = (await audit.list({ limit: 99, target: 'rules/active' })).items
      expect(entries.map(({ action }) => action)).toEqual(['rules.activate', 'rules.put', 'rules.put'])
      expect(entries[1]).toMatchObject({ before: { version: 1 }, after: { version: 2, text: ruleText(2) } })
    })

    it('that are right, as files have to be', async () => {
      const { rules } = await open()
      await expect(rules.check('domain: [')).rejects.toThrow(/^RULE_SYNTAX: rules table:1/)
      expect(await rules.read()).toBeUndefined()
    })
  })

  describe('a secret', () => {
    it('for hashes of API keys, the same on all nodes, unless one is given', async () => {
      const place = await make()
      const [one, other] = await Promise.all([place.open(), place.open()])
      const [first, second] = [await quotasOn(one), await quotasOn(other)]
      const key = 'sk_live_abcdefghijklmnopqrstuvwxyz'
      expect(first.apiKeys.hash(key)).toMatch(/^[0-9a-f]{64}$/)
      expect(first.apiKeys.hash(key)).toBe(second.apiKeys.hash(key))
      await expect(quotasOn(one, { secret: 'x'.repeat(32) })).rejects.toMatchObject({ code: 'SECRET_CHANGED' })
      expect(first.apiKeys.prefix(key)).toBe('sk_live_')
      expect(first.apiKeys.prefix('abcdefgh')).toBe('ab')
      expect(first.apiKeys.prefix('abc')).toBe('')
    })

    it('of the operator, which is not in the database', async () => {
      const secret = 'the secret of the operator'
      const { db } = await open({ secret })
      expect(JSON.stringify(await db.query('SELECT * FROM sluice.meta'))).not.toContain(secret)
      await expect(quotasOn(db, { secret: 'another' })).rejects.toMatchObject({ code: 'SECRET_CHANGED' })
      await expect(quotasOn(db)).rejects.toMatchObject({ code: 'SECRET_CHANGED' })
    })
  })

  describe('idempotency keys', () => {
    it('with the answer, until it is too old', async () => {
      const { idempotency, db } = await open()
      expect(await idempotency.claim('1', 'a', 'f')).toBeUndefined()
      expect(await idempotency.claim('1', 'a', 'f')).toEqual({ fingerprint: 'f', sealed: undefined })
      expect(await idempotency.claim('2', 'b', 'f')).toBeUndefined()
      expect(await idempotency.fill('1', async () => 7, String)).toBe(7)
      expect(await idempotency.claim('1', 'a', 'other')).toEqual({ fingerprint: 'f', sealed: '7' })
      await idempotency.free('1')
      expect(await idempotency.claim('1', 'a', 'f')).toEqual({ fingerprint: 'f', sealed: '7' })
      await idempotency.free('2')
      expect(await idempotency.claim('2', 'b', 'g')).toBeUndefined()
      await db.query("UPDATE sluice.idempotency_keys SET created_at = now() - interval '2 minutes'")
      expect(await idempotency.claim('2', 'b', 'h')).toBeUndefined()
      await db.query("UPDATE sluice.idempotency_keys SET created_at = now() - interval '25 hours'")
      expect(await idempotency.claim('1', 'a', 'other')).toBeUndefined()
      await idempotency.clean()
      expect(await db.query('SELECT owner FROM sluice.idempotency_keys')).toEqual([{ owner: 'a' }])
    })

    it('together with what they protect: both, or neither', async () => {
      const { idempotency, store, audit, db } = await open()
      const change = () => store.put('customers', customer('acme'), SUPPORT)
      await idempotency.claim('1', 'a', 'f')
      const broken = idempotency.fill('1', change, () => {
        throw new Error('the process ends here')
      })
      await expect(broken).rejects.toThrow('the process ends here')
      expect(await store.get('customers', 'acme')).toBeUndefined()
      expect((await audit.verify()).entries).toBe(0)
      await idempotency.fill('1', change, () => 'sealed')
      expect(await store.get('customers', 'acme')).toMatchObject({ id: 'acme' })
      expect(await audit.verify()).toMatchObject({ ok: true, entries: 1 })
      expect(await db.query('SELECT answer FROM sluice.idempotency_keys')).toEqual([{ answer: 'sealed' }])
    })

    it('once, also where a repetition took the claim over from a request that took too long', async () => {
      const { idempotency, store } = await open()
      await idempotency.claim('1', 'a', 'f')
      await idempotency.fill(
        '1',
        () => store.put('customers', customer('first'), SUPPORT),
        () => 'sealed',
      )
      const slow = idempotency.fill(
        '1',
        () => store.put('customers', customer('second'), SUPPORT),
        () => 'other',
      )
      await expect(slow).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
      expect(await store.get('customers', 'second')).toBeUndefined()
    })

    it('of one token no more than it may have', async () => {
      const { idempotency, db } = await open()
      await db.query(
        `INSERT INTO sluice.idempotency_keys (id, owner, fingerprint) SELECT n::text, 'a', 'f' FROM generate_series(1, 1000) n`,
      )
      await expect(idempotency.claim('x', 'a', 'f')).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEYS_TOO_MANY' })
      expect(await idempotency.claim('x', 'b', 'f')).toBeUndefined()
    })
  })
})
