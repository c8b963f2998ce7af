import { describe, expect, it } from 'vitest'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import { SUPPORT } from '../records/quota-store.suite.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MIDNIGHT = 20_000 * DAY

describe.each(testDatabases)('beside records, %s keeps', { timeout: SLOW_MS }, (_, make) => {
  async function open(options: { secret?: string; now?: () => number } = {}) {
    return quotasOn(await (await make()).open(), options)
  }

  describe('tokens', () => {
    it('as hashes, told once, found by their text until they are revoked', async () => {
      const { tokens, db, audit } = await open()
      expect(await tokens.hasAny()).toBe(false)
      const { token, text } = await tokens.create('on call', 'operator', SUPPORT)
      expect(text).toMatch(/^sluice_[\w-]{43}$/)
      const stored = JSON.stringify([await db.query('SELECT * FROM sluice.tokens'), await audit.list({ limit: 9 })])
      expect(stored).not.toContain(text)
      expect(text.startsWith(token.prefix) && token.prefix.length <= text.length / 4).toBe(true)
      expect(await tokens.find(text)).toMatchObject({ id: token.id, role: 'operator', name: 'on call' })
      expect(await tokens.find(`${text}x`)).toBeUndefined()
      expect(await tokens.revoke(token.id, SUPPORT)).toBe(true)
      expect(await tokens.revoke(token.id, SUPPORT)).toBe(false)
      expect([await tokens.find(text), await tokens.hasAny()]).toEqual([undefined, false])
      const { items } = await audit.list({ limit: 9 })
      expect(items.map(({ action }) => action)).toEqual(['tokens.revoke', 'tokens.create'])
    })

    it('with the time of their last use, written together', async () => {
      let now = 1_750_000_000_000
      const { tokens, db } = await open({ now: () => now })
      const { text } = await tokens.create('t', 'viewer', SUPPORT)
      expect((await tokens.list())[0].lastUsedAtMs).toBeUndefined()
      for (let n = 0; n < 3; n++) {
        now += 1000
        await tokens.find(text)
      }
      expect(await db.query('SELECT last_used_at FROM sluice.tokens')).toEqual([{ last_used_at: null }])
      expect((await tokens.list())[0].lastUsedAtMs).toBe(now)
      await expect(tokens.create('t', 'root' as never, SUPPORT)).rejects.toMatchObject({ code: 'RECORD_INVALID' })
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
      const { usage } = await open()
      const first = { node: 'a', id: '1', counts: [count(MIDNIGHT), count(MIDNIGHT + 5), count(MIDNIGHT + HOUR)] }
      expect(await usage.add(first)).toBe(true)
      expect(await usage.add(first)).toBe(false)
      expect(await usage.add({ ...first, node: 'b', counts: [count(MIDNIGHT, { keyId: 'k1' })] })).toBe(true)
      expect(await usage.add({ node: 'a', id: '2', counts: [] })).toBe(true)
      const range = { customerId: 'acme', fromMs: MIDNIGHT - DAY, toMs: MIDNIGHT + DAY }
      expect(await usage.read({ ...range, granularity: 'hour' })).toEqual([
        { limit: 'api/orders', atMs: MIDNIGHT, allowed: 6, refused: 3, cost: 15 },
        { limit: 'api/orders', atMs: MIDNIGHT + HOUR, allowed: 2, refused: 1, cost: 5 },
      ])
      expect(await usage.read({ ...range, granularity: 'day' })).toEqual([
        { limit: 'api/orders', atMs: MIDNIGHT, allowed: 8, refused: 4, cost: 20 },
      ])
      expect(await usage.read({ ...range, keyId: 'k1', granularity: 'day' })).toMatchObject([{ allowed: 2 }])
      expect(await usage.read({ ...range, limit: 'other', granularity: 'day' })).toEqual([])
      expect(await usage.read({ ...range, toMs: MIDNIGHT, granularity: 'hour' })).toEqual([])
    })

    it('by day when hours are old, without losing what comes late, and not for ever', async () => {
      let now = MIDNIGHT + DAY
      const { usage, db } = await open({ now: () => now })
      const read = (granularity: 'hour' | 'day') =>
        usage.read({ customerId: 'acme', fromMs: MIDNIGHT, toMs: MIDNIGHT + 900 * DAY, granularity })
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

    it('of many nodes that write the same rows at once', async () => {
      const { usage } = await open()
      const counts = Array.from({ length: 20 }, (_, n) => count(MIDNIGHT, { customerId: `c${n % 5}`, limit: `l${n}` }))
      const batches = Array.from({ length: 10 }, (_, n) => ({
        node: `n${n}`,
        id: '1',
        counts: n % 2 === 0 ? counts : [...counts].reverse(),
      }))
      await Promise.all(batches.map((batch) => usage.add(batch)))
      const read = await usage.read({ customerId: 'c0', fromMs: 0, toMs: MIDNIGHT + DAY, granularity: 'day' })
      expect(read.map(({ allowed }) => allowed)).toEqual([20, 20, 20, 20])
    })
  })

  describe('rules', () => {
    it('in versions, one of each document in force, and goes back one step at a call', async () => {
      const { rules, audit } = await open()
      const active = async () => (await rules.active()).map(({ name, version, text }) => `${name}@${version} ${text}`)
      expect(await rules.put('api.yaml', 'one', SUPPORT)).toBe(1)
      expect(await active()).toEqual([])
      await rules.activate('api.yaml', 1, SUPPORT)
      expect(await rules.put('api.yaml', 'two', SUPPORT)).toBe(2)
      expect(await rules.put('api.yaml', 'three', SUPPORT, { activate: true })).toBe(3)
      expect(await rules.put('other.yaml', 'x', SUPPORT, { activate: true })).toBe(1)
      expect(await active()).toEqual(['api.yaml@3 three', 'other.yaml@1 x'])
      expect(await rules.rollback('api.yaml', SUPPORT)).toBe(1)
      expect(await active()).toEqual(['api.yaml@1 one', 'other.yaml@1 x'])
      expect(await rules.rollback('api.yaml', SUPPORT)).toBeUndefined()
      expect(await active()).toEqual(['other.yaml@1 x'])
      const unknown = { code: 'DOCUMENT_VERSION_UNKNOWN' }
      await expect(rules.rollback('api.yaml', SUPPORT)).rejects.toMatchObject(unknown)
      await expect(rules.activate('api.yaml', 9, SUPPORT)).rejects.toMatchObject(unknown)
      await rules.activate('other.yaml', undefined, SUPPORT)
      expect(await active()).toEqual([])
      expect(await rules.rollback('other.yaml', SUPPORT)).toBe(1)
      const versions = await rules.versions()
      expect(versions.map(({ name, version, isActive }) => [name, version, isActive])).toEqual([
        ['api.yaml', 3, false],
        ['api.yaml', 2, false],
        ['api.yaml', 1, false],
        ['other.yaml', 1, true],
      ])
      expect(versions[0]).toMatchObject({ createdBy: 'token-1', reason: 'a call' })
      expect(await rules.get('api.yaml', 2)).toEqual({ name: 'api.yaml', version: 2, text: 'two' })
      expect((await audit.list({ limit: 99, target: 'rules/api.yaml' })).items).toHaveLength(7)
    })
  })

  describe('a secret', () => {
    it('of its own for hashes of API keys, the same on all nodes, unless there is one', async () => {
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
    it('with the answer, for the same request of the same actor', async () => {
      const { idempotency, db } = await open()
      expect(await idempotency.begin('a', 'k', 'f')).toEqual({ kind: 'new' })
      expect(await idempotency.begin('a', 'k', 'f')).toEqual({ kind: 'busy' })
      expect(await idempotency.begin('b', 'k', 'f')).toEqual({ kind: 'new' })
      await idempotency.finish('a', 'k', 201, '{"id":1}')
      expect(await idempotency.begin('a', 'k', 'f')).toEqual({ kind: 'done', status: 201, answer: '{"id":1}' })
      expect(await idempotency.begin('a', 'k', 'other')).toEqual({ kind: 'other' })
      await idempotency.forget('b', 'k')
      expect(await idempotency.begin('b', 'k', 'g')).toEqual({ kind: 'new' })
      await db.query("UPDATE sluice.idempotency_keys SET created_at = now() - interval '2 minutes'")
      expect(await idempotency.begin('b', 'k', 'g')).toEqual({ kind: 'new' })
      await db.query("UPDATE sluice.idempotency_keys SET created_at = now() - interval '25 hours'")
      expect(await idempotency.begin('a', 'k', 'other')).toEqual({ kind: 'new' })
      await idempotency.clean()
      expect(await db.query('SELECT actor FROM sluice.idempotency_keys')).toEqual([{ actor: 'a' }])
    })
  })
})
