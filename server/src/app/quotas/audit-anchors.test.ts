import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { AnchorKeeper } from '../../quotas/audit/anchor-keeper.ts'
import { makeDataDir, makePostgres, SLOW_MS, type TestDatabase } from '../../quotas/database/databases.suite.ts'
import { type Quotas, quotasOn } from '../../quotas/open/open-quotas.ts'
import { customer, SUPPORT } from '../../quotas/records/record-store.suite.ts'
import { FileSink } from '../usage/file-sink.ts'
import { type AnchorConfig, anchorsOf } from './audit-anchors.ts'

const NO_TLS = { caFile: undefined, certFile: undefined, keyFile: undefined, anyHostName: false }
const TRIGGERS = {
  off: 'ALTER TABLE sluice.audit DISABLE TRIGGER ALL',
  on: 'ALTER TABLE sluice.audit ENABLE TRIGGER ALL',
}

describe('anchors of the audit log', { timeout: SLOW_MS }, () => {
  interface Node {
    readonly quotas: Quotas
    readonly keeper: AnchorKeeper
    readonly events: string[]
    change(count: number): Promise<void>
    problems(): Promise<string[]>
  }

  /** Starts a node with the anchors that its settings name. */
  async function start(place: TestDatabase, settings: Partial<AnchorConfig>, dataDir?: string): Promise<Node> {
    const anchors = anchorsOf({
      keyPrefix: '',
      redisTls: NO_TLS,
      redisUrl: undefined,
      redisSentinelAuth: undefined,
      auditFile: undefined,
      ...settings,
    })
    const quotas = await quotasOn(await place.open(), { secret: 's'.repeat(32), anchors, dataDir })
    onTestFinished(async () => {
      await Promise.all(anchors.map((anchor) => anchor.close?.()))
    })
    const events: string[] = []
    const keeper = new AnchorKeeper(quotas.audit, {
      failed: ({ name }) => events.push(`failed: ${name}`),
      recovered: ({ name }) => events.push(`recovered: ${name}`),
      ahead: ({ name }) => events.push(`ahead: ${name}`),
    })
    onTestFinished(() => keeper.close())
    return {
      quotas,
      keeper,
      events,
      async change(count) {
        for (let n = 0; n < count; n++)
          await quotas.store.put('customers', customer('acme', { name: `${Math.random()}` }), SUPPORT)
        await keeper.turn()
      },
      async problems() {
        const { problems, unread } = await quotas.verifyAudit()
        return [
          ...unread.map(({ anchor }) => `unread: ${anchor}`),
          ...problems.map(({ sequence, what }) => `${sequence}: ${what}`),
        ]
      },
    }
  }

  /** Returns the settings of a Redis, and a view of its contents. */
  async function ofRedis() {
    const redis = await sharedRedis()
    const keyPrefix = `anchor-${randomBytes(6).toString('hex')}:`
    return {
      settings: { redisUrl: redis.url, keyPrefix },
      text: async () => (await redis.call('GET', `${keyPrefix}sluice:audit-head:1`)) as string | null,
    }
  }

  const tamper = (place: TestDatabase, sql: string) => place.asSuperuser(`${TRIGGERS.off}; ${sql}; ${TRIGGERS.on}`)

  it('in Redis have the end of the log after every change, and no secret', async () => {
    const place = await makePostgres()
    const { settings, text } = await ofRedis()
    const { quotas, keeper, change, problems, events } = await start(place, settings)
    expect(await problems()).toEqual(['unread: Redis'])
    keeper.start()
    await change(3)
    // The turn that was asked for may have begun before the last change: then another follows.
    await until('the last change is there', async () => JSON.parse((await text()) ?? '{}').sequence === 3)
    const [last] = (await quotas.audit.list({ limit: 1 })).items
    expect(await text()).toMatch(/^\{"sequence":3,"hash":"[0-9a-f]{64}","signature":"[0-9a-f]{64}"\}$/)
    expect(JSON.parse((await text()) as string).hash).toBe(last.hash)
    expect(await quotas.audit.verify()).toMatchObject({ ok: true, anchors: ['Redis'], unread: [] })
    // A change alone gets there, without a turn that is asked for.
    await quotas.store.remove('customers', 'acme', SUPPORT)
    await until('it is there', async () => JSON.parse((await text()) as string).sequence === 4)
    expect(events).toEqual([])
    expect(keeper.figures).toEqual([{ kind: 'redis', isKept: true }])
  })

  it('in Redis show that the database was emptied with every note of it, and stay as they are however long the new log gets', async () => {
    const place = await makePostgres()
    const { settings, text } = await ofRedis()
    const { change, problems } = await start(place, settings)
    await change(3)
    const before = await text()
    await place.asSuperuser('DROP SCHEMA sluice CASCADE')
    const after = await start(place, settings)
    expect(await after.problems()).toEqual(['1: the end is missing, up to entry 3, as Redis says'])
    await after.change(5)
    expect(await after.problems()).toEqual(['3: it is not the entry that Redis knows'])
    expect(await text()).toBe(before)
    expect(after.events).toEqual(['ahead: Redis'])
    expect(after.keeper.figures).toEqual([{ kind: 'redis', isKept: false }])
    await expect(problems()).resolves.toEqual(await after.problems())
  })

  it('show that rows, head and all were deleted while a customer stayed', async () => {
    const place = await makePostgres()
    const { settings } = await ofRedis()
    const { change, problems, quotas } = await start(place, settings)
    await change(2)
    await tamper(place, 'DELETE FROM sluice.audit; DELETE FROM sluice.audit_head')
    expect(await problems()).toEqual([
      '0: the note of the last entry is missing',
      '0: the end is missing, up to entry 2, as Redis says',
    ])
    expect(await quotas.audit.verify()).toMatchObject({ ok: false, anchors: ['Redis'] })
  })

  it('show that an older copy of the database was put back: Redis, the file and the audit file, each by its name', async () => {
    const place = await makePostgres()
    const { settings, text } = await ofRedis()
    const dataDir = makeDataDir()
    const path = join(dataDir, 'audit.jsonl')
    const auditFile = { path, maxMib: 100, files: 3 }
    const { quotas, change, problems, events } = await start(place, { ...settings, auditFile }, dataDir)
    const sink = new FileSink({ path, maxBytes: 1e9, keep: 1 }, 'host')
    onTestFinished(() => sink.close())
    await sink.open()
    await change(2)
    const [older] = await place.asSuperuser('SELECT sequence, hash, signature FROM sluice.audit_head')
    await change(2)
    await sink.write(await quotas.audit.unconfirmed('none', 10))
    expect(await problems()).toEqual([])
    const kept = await text()
    await tamper(place, 'DELETE FROM sluice.audit WHERE sequence > 2')
    await place.asSuperuser(
      `UPDATE sluice.audit_head SET sequence = 2, hash = '${older.hash}', signature = '${older.signature}'`,
    )
    const missing = (anchor: string, last: number) =>
      `${last - 1}: the end is missing, up to entry 4, as ${anchor} says`
    expect(await problems()).toEqual(['audit-head.json', 'Redis', path].map((anchor) => missing(anchor, 4)))
    await change(3)
    expect((await problems()).sort()).toEqual(
      ['audit-head.json', 'Redis', path].map((anchor) => `4: it is not the entry that ${anchor} knows`).sort(),
    )
    expect([await text(), events.sort()]).toEqual([kept, ['ahead: Redis', 'ahead: audit-head.json']])
  })

  it('of another installation, or damaged, are an error and are not written over', async () => {
    const place = await makePostgres()
    const { settings, text } = await ofRedis()
    const redis = await sharedRedis()
    const { change, problems, events } = await start(place, settings)
    await change(1)
    const foreign = JSON.stringify({ ...JSON.parse((await text()) as string), signature: 'f'.repeat(64) })
    for (const there of [foreign, 'nonsense']) {
      await redis.call('SET', `${settings.keyPrefix}sluice:audit-head:1`, there)
      await change(1)
      expect(await text()).toBe(there)
      expect(await problems()).toEqual([expect.stringContaining('what Redis has was not signed by Sluice')])
    }
    expect(events).toEqual(['ahead: Redis'])
    await redis.call('DEL', `${settings.keyPrefix}sluice:audit-head:1`)
    await change(1)
    expect([await problems(), events]).toEqual([[], ['ahead: Redis', 'recovered: Redis']])
  })

  it('are never moved back by a node that read before another wrote', async () => {
    const place = await makePostgres()
    const { settings, text } = await ofRedis()
    const one = await start(place, settings)
    const [slow] = one.quotas.audit.anchors
    const read = slow.read.bind(slow)
    await one.change(1)
    const stale = await read()
    const other = await start(place, settings)
    await other.change(2)
    const newest = await text()
    vi.spyOn(slow, 'read').mockResolvedValueOnce(stale)
    await one.keeper.turn()
    expect(JSON.parse(newest as string).sequence).toBe(3)
    expect(await text()).toBe(newest)
    expect(await one.problems()).toEqual([])
  })

  it('that cannot be reached stop no change, are reported once, and get the end of the log when they are back', async () => {
    const place = await makePostgres()
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const { quotas, keeper, change, problems, events } = await start(place, { redisUrl: server.url })
    await change(1)
    await server.kill()
    await change(1)
    await change(1)
    expect(events).toEqual(['failed: Redis'])
    expect(await quotas.audit.verify()).toMatchObject({
      ok: true,
      anchors: [],
      unread: [{ anchor: 'Redis', reason: expect.stringContaining('REDIS_UNREACHABLE') }],
    })
    await server.restart()
    await until('it is reached again', async () => {
      await keeper.turn()
      return events.length > 1
    })
    expect([events, await problems()]).toEqual([['failed: Redis', 'recovered: Redis'], []])
    expect((await quotas.audit.verify()).anchors).toEqual(['Redis'])
  })
})
