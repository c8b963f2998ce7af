import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newToken } from '../../admin/access/admin-tokens.ts'
import type { WholeDatabase } from '../database/database.ts'
import { makeDataDir, SLOW_MS, type TestDatabase, testDatabases } from '../database/databases.suite.ts'
import { type Quotas, quotasOn } from '../open/open-quotas.ts'
import { customer, SUPPORT } from '../records/record-store.suite.ts'
import type { Actor } from './actor.ts'
import { hashOf, NO_ENTRY } from './audit-entry.ts'
import { HeadSignatures } from './signed-head.ts'

const NIGHT: Actor = { id: 'token-2', name: 'Nächte', address: undefined, reason: undefined }

describe.each(testDatabases)('the audit log on %s', { timeout: SLOW_MS }, (_, make) => {
  let clock = 1_750_000_000_000

  interface Log {
    readonly place: TestDatabase
    readonly quotas: Quotas
    readonly file: string
    /** Changes the log as a user does who may do everything. */
    tamper(sql: string): Promise<unknown>
    problems(): Promise<string[]>
  }

  /** Makes a log of five entries: three by one actor, two by another. */
  async function fiveEntries(): Promise<Log> {
    const place = await make()
    const dataDir = makeDataDir()
    const quotas = await quotasOn(await place.open(), { now: () => clock++, secret: 's'.repeat(32), dataDir })
    for (const [n, by] of [SUPPORT, SUPPORT, NIGHT, NIGHT, SUPPORT].entries()) {
      await quotas.store.put('customers', customer(`c${n % 3}`, { name: `name ${n}` }), by)
    }
    return {
      place,
      quotas,
      file: join(dataDir, 'audit-head.json'),
      async tamper(sql) {
        const off = 'ALTER TABLE sluice.audit DISABLE TRIGGER ALL'
        return place.asSuperuser(`${off}; ${sql}; ALTER TABLE sluice.audit ENABLE TRIGGER ALL`)
      },
      async problems() {
        const { problems } = await quotas.verifyAudit()
        return problems.map(({ sequence, what }) => `${sequence}: ${what}`)
      },
    }
  }

  it('has who, what, when, from where, and why, with what was before and after', async () => {
    const { quotas, problems } = await fiveEntries()
    expect(await problems()).toEqual([])
    const { items } = await quotas.audit.list({ limit: 10 })
    expect(items.map(({ sequence }) => sequence)).toEqual([5, 4, 3, 2, 1])
    expect(items[1]).toMatchObject({
      actor: NIGHT,
      action: 'customers.put',
      target: { kind: 'customers', id: 'c0' },
      customerId: 'c0',
      before: { id: 'c0', name: 'name 0' },
      after: { id: 'c0', name: 'name 3' },
    })
    expect(items[4]).toMatchObject({ before: undefined, actor: { reason: 'a call', address: '192.0.2.7' } })
  })

  it('is listed by actor, action, target, customer and time, in pages', async () => {
    const { quotas } = await fiveEntries()
    const sequences = async (query: object) =>
      (await quotas.audit.list({ limit: 10, ...query })).items.map(({ sequence }) => sequence)
    expect(await sequences({ actor: 'token-2' })).toEqual([4, 3])
    expect(await sequences({ target: 'customers/c1' })).toEqual([5, 2])
    expect(await sequences({ target: 'c1' })).toEqual([5, 2])
    expect(await sequences({ customerId: 'c0', action: 'customers.put' })).toEqual([4, 1])
    expect(await sequences({ action: 'customers.remove' })).toEqual([])
    expect([await sequences({ kinds: ['customers'], actor: 'token-2' }), await sequences({ kinds: ['c1'] })]).toEqual([
      [4, 3],
      [],
    ])
    expect(await sequences({ upTo: 3 })).toEqual([3, 2, 1])
    expect(await sequences({ kinds: ['customers', 'tiers'] })).toEqual([5, 4, 3, 2, 1])
    expect(await sequences({ kinds: ['tiers'] })).toEqual([])
    expect(await sequences({ kinds: ['customer'] })).toEqual([])
    expect(await sequences({ actor: NIGHT.name })).toEqual([4, 3])
    const { items, next } = await quotas.audit.list({ limit: 2 })
    expect(await sequences({ fromMs: items[1].atMs })).toEqual([5, 4])
    expect(await sequences({ toMs: items[1].atMs, actor: 'token-2' })).toEqual([3])
    expect(await sequences({ after: next, limit: 2 })).toEqual([3, 2])
    await expect(quotas.audit.list({ limit: 2, after: 'x' })).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
  })

  it.each([
    "UPDATE sluice.audit SET actor_name = 'nobody'",
    'DELETE FROM sluice.audit WHERE sequence = 5',
    'TRUNCATE sluice.audit',
  ])('cannot be changed: %s', async (sql) => {
    const { place, problems } = await fiveEntries()
    await expect(place.asSuperuser(sql)).rejects.toThrow('the audit log is only added to')
    expect(await problems()).toEqual([])
  })

  it.each([
    ['an actor', "actor_name = 'nobody'"],
    ['an actor without a name', 'reason = NULL'],
    ['a reason that was none', "address = ''"],
    ['a time', 'at_ms = at_ms + 1'],
    ['what was before', "before = '{}'"],
    ['what was after', "after = replace(after, 'name', 'Name')"],
    ['a target', "target = 'customers/c9'"],
    ['a customer', 'customer_id = NULL'],
  ])('shows an edit of %s', async (_, set) => {
    const { tamper, problems } = await fiveEntries()
    await tamper(`UPDATE sluice.audit SET ${set} WHERE sequence = 2`)
    expect(await problems()).toEqual(['2: it was changed'])
  })

  it('shows edits whose hashes were computed again, also of the last entry, which nothing follows', async () => {
    const { tamper, quotas, problems, file } = await fiveEntries()
    const entries = await quotas.audit.unconfirmed('none', 5)
    for (const at of [1, 4]) {
      const hash = hashOf({ ...entries[at], actor_name: 'nobody' })
      await tamper(`UPDATE sluice.audit SET actor_name = 'nobody', hash = '${hash}' WHERE sequence = ${at + 1}`)
    }
    const seen = ['3: it does not follow the one before', '5: it is not the last entry that was written']
    expect(await problems()).toEqual([...seen, '5: it is not the entry that audit-head.json knows'])
    rmSync(file)
    expect(await problems()).toEqual(seen)
  })

  it('shows entries that were removed', async () => {
    const { tamper, problems } = await fiveEntries()
    await tamper('DELETE FROM sluice.audit WHERE sequence IN (2, 3)')
    expect(await problems()).toEqual(['2: entries 2 to 3 are missing'])
  })

  it('shows that the beginning was removed', async () => {
    const { tamper, problems } = await fiveEntries()
    await tamper('DELETE FROM sluice.audit WHERE sequence = 1')
    expect(await problems()).toEqual(['1: it is missing'])
  })

  it('shows entries that changed places', async () => {
    const { tamper, problems } = await fiveEntries()
    await tamper(
      'UPDATE sluice.audit SET sequence = -2 WHERE sequence = 2; UPDATE sluice.audit SET sequence = 2 WHERE sequence = 3; UPDATE sluice.audit SET sequence = 3 WHERE sequence = -2',
    )
    expect(await problems()).toEqual(
      expect.arrayContaining(['2: it was changed', '3: it was changed', '2: it does not follow the one before']),
    )
  })

  it('shows that the end was cut off, also when the note in the database was set back', async () => {
    const { tamper, place, problems } = await fiveEntries()
    const [noted] = await place.asSuperuser('SELECT sequence, hash, signature FROM sluice.audit_head')
    expect(noted.sequence === 5 || noted.sequence === '5').toBe(true)
    await tamper('DELETE FROM sluice.audit WHERE sequence = 5')
    expect(await problems()).toEqual([
      '5: the end is missing, up to entry 5',
      '5: the end is missing, up to entry 5, as audit-head.json says',
    ])
    await place.asSuperuser(
      'UPDATE sluice.audit_head SET sequence = 4, hash = (SELECT hash FROM sluice.audit WHERE sequence = 4)',
    )
    expect(await problems()).toEqual([
      '4: the note of the last entry has a wrong signature',
      '5: the end is missing, up to entry 5, as audit-head.json says',
    ])
  })

  it('shows a cut by an attacker who kept an older note, by the file outside', async () => {
    const { tamper, place, quotas, problems } = await fiveEntries()
    const [old] = await place.asSuperuser('SELECT sequence, hash, signature FROM sluice.audit_head')
    await quotas.store.remove('customers', 'c0', NIGHT)
    await tamper('DELETE FROM sluice.audit WHERE sequence = 6')
    await place.asSuperuser(
      `UPDATE sluice.audit_head SET sequence = ${old.sequence}, hash = '${old.hash}', signature = '${old.signature}'`,
    )
    expect(await problems()).toEqual(['6: the end is missing, up to entry 6, as audit-head.json says'])
  })

  it('shows that everything was removed', async () => {
    const { tamper, problems } = await fiveEntries()
    await tamper('DELETE FROM sluice.audit')
    expect(await problems()).toEqual([
      '0: the end is missing, up to entry 5',
      '0: the end is missing, up to entry 5, as audit-head.json says',
    ])
  })

  it('shows that everything was removed, with every note of it in the database', async () => {
    const { tamper, quotas, file } = await fiveEntries()
    rmSync(file)
    await tamper('DELETE FROM sluice.audit; DELETE FROM sluice.audit_head')
    const broken = { sequence: 0, reason: 'the note of the last entry is missing' }
    expect(await quotas.audit.verify()).toMatchObject({ ok: false, entries: 0, broken, anchors: [] })
    // It is no new log for a service that starts then, and what is added does not look whole.
    await quotas.open()
    expect(await quotas.audit.verify()).toMatchObject({ ok: false, broken })
    await quotas.store.remove('customers', 'c0', NIGHT)
    expect(await quotas.audit.verify()).toMatchObject({ ok: false, entries: 1, broken: { sequence: 0 } })
  })

  it('shows that the log was begun again under a note without a signature', async () => {
    const { tamper, quotas, file } = await fiveEntries()
    rmSync(file)
    await tamper("DELETE FROM sluice.audit; UPDATE sluice.audit_head SET sequence = 0, hash = '', signature = ''")
    expect(await quotas.audit.verify()).toMatchObject({ ok: false })
    await quotas.store.remove('customers', 'c0', NIGHT)
    expect(await quotas.audit.verify()).toMatchObject({ ok: false })
  })

  it('shows that its genesis was removed or is of another database', async () => {
    const { tamper, problems } = await fiveEntries()
    await tamper("UPDATE sluice.audit SET target = 'audit/other' WHERE sequence = 0")
    expect(await problems()).toEqual(['0: it was changed'])
    await tamper('DELETE FROM sluice.audit WHERE sequence = 0')
    expect(await problems()).toEqual(['0: it is missing'])
  })

  it('is whole in a database that was never changed, and begins once', async () => {
    const place = await make()
    const quotas = await quotasOn(await place.open(), { secret: 's'.repeat(32) })
    const verified = await quotas.audit.verify()
    expect(verified).toMatchObject({ ok: true, entries: 0, anchors: [] })
    expect(verified.head).toMatch(/^[0-9a-f]{64}$/)
    const other = await quotasOn(await place.open(), { secret: 's'.repeat(32) })
    expect(await other.audit.verify()).toEqual(verified)
    expect((await quotas.audit.list({ limit: 10 })).items).toEqual([])
    expect(await quotas.audit.unconfirmed('file', 10)).toEqual([])
  })

  it('keeps outside of the database only what was committed', async () => {
    const { quotas, file, problems } = await fiveEntries()
    const before = readFileSync(file, 'utf8')
    const broken = (quotas.db as WholeDatabase).atomically(async () => {
      await quotas.store.remove('customers', 'c0', NIGHT)
      throw new Error('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect([readFileSync(file, 'utf8'), await problems()]).toEqual([before, []])
  })

  it('that an older version began, without a genesis, is whole', async () => {
    const place = await make()
    const options = { secret: 's'.repeat(32) }
    const quotas = await quotasOn(await place.open(), options)
    const off = 'ALTER TABLE sluice.audit DISABLE TRIGGER ALL; DELETE FROM sluice.audit'
    const { signature } = new HeadSignatures(() => quotas.keys.keyFor('audit')).sign(NO_ENTRY)
    await place.asSuperuser(
      `${off}; UPDATE sluice.audit_head SET sequence = 0, hash = '', signature = '${signature}'; ALTER TABLE sluice.audit ENABLE TRIGGER ALL`,
    )
    await quotas.store.put('customers', customer('c0'), SUPPORT)
    expect(await quotas.audit.verify()).toMatchObject({ ok: true, entries: 1 })
  })

  it('shows an entry that someone else added', async () => {
    const { place, quotas, problems } = await fiveEntries()
    const last = (await quotas.audit.unconfirmed('none', 5))[4]
    const forged = { ...last, sequence: 6, previous: last.hash, reason: 'mine' }
    await place.asSuperuser(
      `INSERT INTO sluice.audit SELECT 6, at_ms, actor_id, actor_name, action, target, customer_id, before, after, 'mine', address, hash, '${hashOf(forged)}' FROM sluice.audit WHERE sequence = 5`,
    )
    expect(await problems()).toEqual(['6: it was not added by Sluice'])
  })

  it('shows a file that was edited, and takes one that is behind for what it is', async () => {
    const { file, quotas, problems } = await fiveEntries()
    const text = readFileSync(file, 'utf8')
    await quotas.store.remove('customers', 'c0', NIGHT)
    writeFileSync(file, text)
    expect(await problems()).toEqual([])
    writeFileSync(file, text.replace('"sequence":5', '"sequence":4'))
    const unsigned = 'what audit-head.json has was not signed by Sluice, or by another installation'
    expect(await problems()).toEqual([`4: ${unsigned}`])
    writeFileSync(file, 'nonsense')
    expect(await problems()).toEqual([`0: ${unsigned}`])
  })

  it('does not reveal what is kept of an API key', async () => {
    const { quotas } = await fiveEntries()
    const hash = quotas.apiKeys.hash('sk_live_123456789')
    const key = { id: 'k1', hash, prefix: 'sk_l', customerId: 'c0', name: 'main', tier: undefined }
    await quotas.store.put('api_keys', { ...key, version: 0, createdAtMs: 0, revokedAtMs: undefined }, SUPPORT)
    const { items } = await quotas.audit.list({ limit: 1 })
    expect(items[0].after).toMatchObject({ prefix: 'sk_l' })
    expect(JSON.stringify(items)).not.toContain(hash)
  })

  it('is handed to sinks from where each of them has confirmed it', async () => {
    const { quotas } = await fiveEntries()
    const waiting = async (sink: string) => (await quotas.audit.unconfirmed(sink, 3)).map(({ sequence }) => sequence)
    expect(await waiting('kafka')).toEqual([1, 2, 3])
    await quotas.audit.confirm('kafka', 3)
    await quotas.audit.confirm('kafka', 2)
    expect([await waiting('kafka'), await waiting('file')]).toEqual([
      [4, 5],
      [1, 2, 3],
    ])
  })

  it('says in one word whether it is whole, and which entry is the first that is not', async () => {
    const { tamper, quotas } = await fiveEntries()
    const { items } = await quotas.audit.list({ limit: 1 })
    expect(await quotas.audit.verify()).toEqual({
      ok: true,
      entries: 5,
      head: items[0].hash,
      broken: undefined,
      anchors: ['audit-head.json'],
      unread: [],
    })
    await tamper("UPDATE sluice.audit SET reason = 'x' WHERE sequence IN (2, 4)")
    const broken = { sequence: 2, reason: 'it was changed' }
    expect(await quotas.audit.verify()).toMatchObject({ ok: false, entries: 5, broken })
  })

  it('has no gap and no fork when many change something at the same time', async () => {
    const { place, quotas, problems } = await fiveEntries()
    const other = await quotasOn(await place.open(), { secret: 's'.repeat(32) })
    const both = [quotas, other].flatMap(({ store }, node) =>
      Array.from({ length: 10 }, (_, n) => store.put('customers', customer(`n${node}-${n}`), SUPPORT)),
    )
    const { kept } = newToken({ name: 't', role: 'viewer' }, clock)
    await Promise.all([
      ...both,
      other.tokens.create(kept, SUPPORT),
      quotas.rules.put(await quotas.rules.check('domain: a'), { by: SUPPORT }),
    ])
    expect(await problems()).toEqual([])
    expect(await quotas.verifyAudit()).toMatchObject({ entries: 27, anchors: ['audit-head.json'] })
    expect(await other.verifyAudit()).toMatchObject({ problems: [], anchors: [] })
  })
})
