import { describe, expect, it } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { SLOW_MS, testDatabases } from './databases.suite.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/migrations.ts'

describe.each(testDatabases)('a database on %s', { timeout: SLOW_MS }, (_, make) => {
  it('gives the same values for the same SQL', async () => {
    const db = await (await make({ bare: true })).open()
    const sql = `SELECT 9007199254740991::int8 AS big, count(*) AS many, 7::int4 AS small, 1.5::float8 AS real,
      $1::jsonb AS json, true AS yes, NULL::text AS nothing, '{a,b}'::text[] AS list, $2::text AS text,
      (extract(epoch FROM to_timestamp($3::float8 / 1000)) * 1000)::int8 AS ms`
    expect(await db.query(sql, [JSON.stringify([1, { a: 'ü' }]), "it's", 1_700_000_000_123])).toEqual([
      {
        big: 9007199254740991,
        many: 1,
        small: 7,
        real: 1.5,
        json: [1, { a: 'ü' }],
        yes: true,
        nothing: null,
        list: ['a', 'b'],
        text: "it's",
        ms: 1_700_000_000_123,
      },
    ])
    expect(
      await db.query('SELECT id FROM (VALUES (1), (2), (3)) AS t (id) WHERE id = ANY($1::int[])', [[1, 3]]),
    ).toEqual([{ id: 1 }, { id: 3 }])
  })

  it('commits a transaction whose work is done, and nothing of one that throws', async () => {
    const db = await (await make({ bare: true })).open()
    await db.query('CREATE TABLE t (n int)')
    await db.transaction((tx) => tx.query('INSERT INTO t VALUES ($1)', [1]))
    const own = new Error('not so')
    const failing = db.transaction(async (tx) => {
      await tx.query('INSERT INTO t VALUES (2)')
      throw own
    })
    await expect(failing).rejects.toBe(own)
    const refused = db.transaction(async (tx) => {
      await tx.query('INSERT INTO t VALUES (3)')
      await tx.query('SELECT 1 / 0')
    })
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_FAILED', sqlState: '22012' })
    expect(await db.query('SELECT n FROM t')).toEqual([{ n: 1 }])
  })

  it('does not commit when an error of a statement was swallowed', async () => {
    const db = await (await make({ bare: true })).open()
    await db.query('CREATE TABLE t (n int)')
    const swallowed = db.transaction(async (tx) => {
      await tx.query('INSERT INTO t VALUES (1)')
      await tx.query('SELECT 1 / 0').catch(() => {})
    })
    await expect(swallowed).rejects.toMatchObject({ code: 'DATABASE_FAILED' })
    expect(await db.query('SELECT n FROM t')).toEqual([])
  })

  it('shows neither statements nor values in its errors', async () => {
    const db = await (await make({ bare: true })).open()
    const error = await db.query('SELECT $1::int / 0, $2::text', [1, 's3cret']).catch((error: unknown) => error)
    expect(JSON.stringify([String(error), error, Object.entries(error as object)])).not.toContain('s3cret')
  })

  it('receives what is sent on a channel, only after the commit', async () => {
    const db = await (await make({ bare: true })).open()
    const heard: string[] = []
    let begun = 0
    const stop = db.listen(
      'news',
      (payload) => heard.push(payload),
      () => begun++,
    )
    await until('it listens', () => begun > 0)
    await db.transaction((tx) => tx.query("SELECT pg_notify('news', 'one')"))
    const undone = db.transaction(async (tx) => {
      await tx.query("SELECT pg_notify('news', 'undone')")
      throw new Error('no')
    })
    await undone.catch(() => {})
    await db.query("SELECT pg_notify('news', 'two')")
    await until('both are heard', () => heard.length >= 2)
    expect(heard).toEqual(['one', 'two'])
    stop()
  })

  it('keeps what was committed over SIGKILL, recovers, and reports that something may have been missed', async () => {
    const place = await make({ own: true, bare: true })
    const db = await place.open()
    let misses = 0
    const heard: string[] = []
    db.listen(
      'news',
      (payload) => heard.push(payload),
      () => misses++,
    )
    await until('it listens', () => misses === 1)
    await db.query('CREATE TABLE t (n int)')
    for (let n = 0; n < 20; n++) await db.query('INSERT INTO t VALUES ($1)', [n])
    await place.kill()
    await place.revive()
    const rows = await until('it answers', () => db.query('SELECT count(*) AS n FROM t'))
    expect(rows).toEqual([{ n: 20 }])
    await until('the miss is reported', () => misses >= 2)
    await db.query("SELECT pg_notify('news', 'again')")
    await until('it hears again', () => heard.includes('again'))
  })

  it('migrates an empty database once, and only looks after that', async () => {
    const place = await make({ bare: true })
    const db = await place.open()
    await migrate(db)
    await migrate(db)
    expect(await db.query('SELECT version, name FROM sluice.migrations ORDER BY version')).toEqual(
      MIGRATIONS.map(({ version, name }) => ({ version, name })),
    )
  })

  it('migrates on several nodes at the same time', async () => {
    const place = await make({ bare: true })
    const nodes = await Promise.all(Array.from({ length: 6 }, () => place.open()))
    await Promise.all(nodes.map((node) => migrate(node)))
    expect(await nodes[0].query('SELECT revision FROM sluice.revision')).toEqual([{ revision: 0 }])
  })

  it('runs what is new in order, all or nothing', async () => {
    const db = await (await make({ bare: true })).open()
    await migrate(db)
    const next = MIGRATIONS.length + 1
    const more = { version: next, name: 'more', sql: 'CREATE TABLE sluice.more (n int)' }
    const wrong = { version: next + 1, name: 'wrong', sql: 'CREATE TABLE sluice.other (n int); SELECT 1 / 0' }
    await expect(migrate(db, [...MIGRATIONS, more, wrong])).rejects.toMatchObject({ sqlState: '22012' })
    expect(await db.query("SELECT to_regclass('sluice.more')::text AS t")).toEqual([{ t: null }])
    await migrate(db, [...MIGRATIONS, more])
    expect(await db.query('SELECT max(version) AS v FROM sluice.migrations')).toEqual([{ v: next }])
  })

  it('refuses a schema that is newer than the program', async () => {
    const db = await (await make({ bare: true })).open()
    await migrate(db)
    await db.query("INSERT INTO sluice.migrations VALUES (99, 'of the future')")
    await expect(migrate(db)).rejects.toThrow(
      `SCHEMA_NEWER: database: its schema has version 99, this program knows ${MIGRATIONS.length}. The database was upgraded by a newer version of Sluice. Upgrade this program.`,
    )
  })
})
