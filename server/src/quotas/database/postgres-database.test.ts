import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../../tests/servers/ports.mjs'
import { startProxy } from '../../../../tests/servers/proxy.mjs'
import { sharedPostgres } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { openPostgres, type PostgresOptions } from './postgres-database.ts'

async function open(options: PostgresOptions): Promise<Database> {
  const db = await openPostgres(options)
  onTestFinished(() => db.close())
  return db
}

describe('PostgreSQL', () => {
  it.each(['nonsense', 'mysql://u:s3cret@host/db', 'postgres://u:s3cret@host:port/db', ''])(
    'refuses the address %j without showing its password',
    async (url) => {
      const error = await openPostgres({ url }).catch((error: unknown) => error)
      expect(error).toMatchObject({ code: 'DATABASE_URL_INVALID' })
      expect(JSON.stringify([String(error), error])).not.toContain('s3cret')
    },
  )

  it('that is not there is an error in time, with the host and without the password', async () => {
    const url = `postgres://user:s3cret@127.0.0.1:${await freePort()}/quotas?application_name=x`
    const db = await open({ url })
    const error = await db.query('SELECT 1').catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', where: expect.stringContaining('/quotas') })
    expect(JSON.stringify([String(error), error, Object.entries(error as object)])).not.toContain('s3cret')
  })

  it('that says nothing is an error in time', async () => {
    const server = await sharedPostgres()
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.stop())
    const url = server.url().replace(`:${server.port}/`, `:${proxy.port}/`)
    const db = await open({ url, connectTimeoutMs: 300, statementTimeoutMs: 200 })
    // A busy machine may take longer than that to connect.
    await until('it is connected', () => db.query('SELECT 1 AS n'))
    const connected = await open({ url, connectTimeoutMs: 300 })
    proxy.blackhole()
    await expect(connected.query('SELECT 1')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    // The connection from before: its statement has 200 ms, and the server 5 s more to say so.
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await proxy.heal()
    await until('it answers again', () => db.query('SELECT 1'))
  })

  it('ends a statement and a wait for a lock that take too long, and continues', async () => {
    const server = await sharedPostgres()
    const url = server.url(await server.createDatabase())
    const patient = await open({ url })
    const db = await open({ url, statementTimeoutMs: 300, lockTimeoutMs: 100 })
    await expect(db.query('SELECT pg_sleep(600)')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await patient.query('CREATE TABLE t (n int); INSERT INTO t VALUES (1)')
    await patient.transaction(async (tx) => {
      await tx.query('UPDATE t SET n = 2')
      await expect(db.query('UPDATE t SET n = 3')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    })
    // A busy machine may take longer than the deadline.
    expect(await until('it goes on', () => db.query('SELECT n FROM t'))).toEqual([{ n: 2 }])
  })

  it('leaves no setting behind on a connection, as poolers need it', async () => {
    const server = await sharedPostgres()
    const db = await open({ url: server.url(), connections: 1, statementTimeoutMs: 61_234 })
    const within = await db.query<{ statement_timeout: string }>('SHOW statement_timeout')
    expect(within).toEqual([{ statement_timeout: '61234ms' }])
    const other = await db.transaction((tx) => tx.query('SHOW statement_timeout'), { statementTimeoutMs: 65_000 })
    expect(other).toEqual([{ statement_timeout: '65s' }])
  })

  it('is migrated by a user who owns the schema and may make none', async () => {
    const server = await sharedPostgres()
    const database = await server.createDatabase()
    const user = `app_${database}`
    await server.run(`CREATE USER ${user}; CREATE SCHEMA sluice AUTHORIZATION ${user}`, { database })
    const db = await open({ url: server.url(database).replace('//sluice:', `//${user}:`) })
    await migrate(db)
    expect(await db.query('SELECT current_user::text AS by, revision FROM sluice.revision')).toEqual([
      { by: user, revision: 0 },
    ])
  })

  it('survives an operator who ends its connections, including listening and idle ones', async () => {
    const server = await sharedPostgres()
    const database = await server.createDatabase()
    const db = await open({ url: server.url(database) })
    let misses = 0
    const heard: string[] = []
    db.listen(
      'news',
      (payload) => heard.push(payload),
      () => misses++,
    )
    await until('it listens', () => misses === 1)
    await db.query('SELECT 1')
    await server.run(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      { database },
    )
    await until('it listens again', () => misses === 2)
    await until('it answers', () => db.query("SELECT pg_notify('news', 'again')"))
    await until('it hears', () => heard.includes('again'))
  })
})
