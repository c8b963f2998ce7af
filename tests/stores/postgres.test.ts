import { randomBytes } from 'node:crypto'
import pg from 'pg'
import postgresJs from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { postgres } from '../../src/entries/postgres.ts'
import { rateLimit } from '../../src/library/rate-limit.ts'
import { CasStore } from '../../src/stores/cas/cas-store.ts'
import { partOf } from '../../src/stores/cas/map-engine.suite.ts'
import { runSqlOf, tableOf } from '../../src/stores/postgres/postgres-client.ts'
import { PostgresEngine } from '../../src/stores/postgres/postgres-engine.ts'
import { storeSuite } from '../../src/stores/store.suite.ts'
import { startPgBouncer } from '../servers/pgbouncer.mjs'
import { type PostgresServer, startPostgres } from '../servers/postgres.mjs'
import { startProxy } from '../servers/proxy.mjs'
import { until } from '../servers/until.mjs'

let server: PostgresServer
let pool: pg.Pool
const pools: pg.Pool[] = []
const newPool = (port = server.port): pg.Pool => {
  const url = server.url().replace(`:${server.port}/`, `:${port}/`)
  const made = new pg.Pool({ connectionString: url, max: 5 })
  made.on('error', () => {})
  pools.push(made)
  return made
}
beforeAll(async () => {
  server = await startPostgres()
  pool = newPool()
})
afterAll(async () => {
  await Promise.all(pools.map((each) => each.end()))
  await server.stop()
})

const newTable = (): string => `t_${randomBytes(6).toString('hex')}`

function engineOn(table: string, of = pool, isLogged = false): PostgresEngine {
  return new PostgresEngine({ run: runSqlOf(of), name: 'postgres', table: tableOf(table), isLogged })
}

let parts = 0
storeSuite(
  'postgres store',
  async ({ startMs }) => {
    let nowMs = startMs
    const engine = partOf(engineOn('kit'), `${++parts} `)
    const store = new CasStore(engine, { timeoutMs: 60_000, clock: { nowMs: () => nowMs } })
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: () => store.close(),
    }
  },
  { seeds: [3_729_438_487], operations: 1_000 },
)

const TEN = compileLimit({ limit: 10, window: '1d', algorithm: 'sliding_log' })
const open = (table: string, of = pool): CasStore => new CasStore(engineOn(table, of), { timeoutMs: 60_000 })
const charge = (key: string, cost = 1): Charge => ({ key, limit: TEN, cost, enforce: true })
const remaining = async (store: CasStore, key: string): Promise<number> =>
  (await store.decide([charge(key, 0)]))[0].remaining

describe('postgres engine', () => {
  it('makes its table once, however many ask first', async () => {
    const table = newTable()
    const stores = Array.from({ length: 5 }, () => open(table, newPool()))
    const answers = await Promise.all(stores.map((store) => store.decide([charge('first')])))
    expect(answers.map(([{ remaining: left }]) => left).toSorted()).toEqual([5, 6, 7, 8, 9])
    const found = await server.run(`SELECT relpersistence FROM pg_class WHERE relname = '${table}'`)
    expect(found).toEqual([{ relpersistence: 'u' }])
  })

  it('makes a logged table where it is asked to', async () => {
    const table = newTable()
    await engineOn(table, pool, true).write([
      { name: 'a', text: 'x', base: undefined, version: '1', ttlMs: 5_000, group: 0 },
    ])
    expect(await server.run(`SELECT relpersistence FROM pg_class WHERE relname = '${table}'`)).toEqual([
      { relpersistence: 'p' },
    ])
  })

  it('writes each counter that has not changed, or all of a group, or none of it', async () => {
    const engine = engineOn(newTable())
    const write = (name: string, base: string | undefined, version: string, group: number) => ({
      ...{ name, text: `${name} ${version}`, base, version, ttlMs: 60_000, group },
    })
    const made = await engine.write([write('a', undefined, '1', 0), write('b', undefined, '1', 1)])
    expect(made.map(({ isWritten }) => isWritten)).toEqual([true, true])
    const alone = await engine.write([write('a', '1', '2', 0), write('b', 'other', '2', 1), write('c', '1', '2', 2)])
    expect(alone.map(({ isWritten }) => isWritten)).toEqual([true, false, false])
    const mixed = await engine.write([
      ...[write('a', '2', '3', 0), write('b', 'other', '3', 0)],
      ...[write('b2', undefined, '3', 1), write('c', undefined, '3', 1), write('d', undefined, '3', 2)],
    ])
    expect(mixed.map(({ isWritten }) => isWritten)).toEqual([false, false, true, true, true])
    const raced = await engine.write([write('a', '2', '4', 0), write('c', undefined, '4', 0)])
    expect(raced.map(({ isWritten }) => isWritten)).toEqual([false, false])
    const found = await engine.read(['a', 'b', 'c', 'none'])
    expect(found.map((each) => each?.text)).toEqual(['a 2', 'b 1', 'c 3', undefined])
  })

  it('keeps names and states of any characters and length apart', async () => {
    const store = open(newTable())
    const keys = ['"', '\\', '{}', 'a,b', 'NULL', 'é', `${'k'.repeat(60_000)}1`, `${'k'.repeat(60_000)}2`, "';--"]
    for (const [i, key] of keys.entries()) await store.decide([charge(key, i + 1)])
    const fresh = await Promise.all(keys.map((key) => remaining(store, key)))
    expect(fresh).toEqual(keys.map((_, i) => 9 - i))
  })

  it('makes batches of reversed groups without a deadlock', async () => {
    const table = newTable()
    const keys = Array.from({ length: 12 }, (_, i) => `k${i}`)
    const stores = Array.from({ length: 4 }, () => open(table, newPool()))
    const before = (await server.run('SELECT sum(deadlocks)::int AS n FROM pg_stat_database'))[0].n
    const rounds = stores.flatMap((store, s) =>
      Array.from({ length: 6 }, () => store.decide((s % 2 === 0 ? keys : keys.toReversed()).map((key) => charge(key)))),
    )
    const answers = await Promise.allSettled(rounds)
    const admitted = answers.filter((each) => each.status === 'fulfilled' && each.value.every(({ allowed }) => allowed))
    const left = await Promise.all(keys.map((key) => remaining(stores[0], key)))
    expect(new Set(left)).toEqual(new Set([10 - admitted.length]))
    expect((await server.run('SELECT sum(deadlocks)::int AS n FROM pg_stat_database'))[0].n).toBe(before)
  })

  it('removes what has expired, a part at a time, and nothing that another holds', async () => {
    const table = newTable()
    const engine = engineOn(table)
    const write = (name: string, ttlMs: number, group: number) => ({
      ...{ name, text: 'x', base: undefined, version: '1', ttlMs, group },
    })
    await engine.write([write('gone', 0, 0), write('held', 0, 1), write('kept', 3_600_000, 2)])
    const other = await newPool().connect()
    await other.query('BEGIN')
    await other.query(`SELECT 1 FROM ${table} WHERE name = 'held' FOR UPDATE`)
    await until('what has expired is removed', async () => {
      await engine.expire()
      return (await engine.read(['gone']))[0] === undefined
    })
    expect((await engine.read(['held', 'kept'])).map((each) => each?.text)).toEqual(['x', 'x'])
    await other.query('ROLLBACK')
    other.release()
    await until('what was held is removed, too', async () => {
      await engine.expire()
      return (await engine.read(['held']))[0] === undefined
    })
    expect(await engine.read(['kept'])).toMatchObject([{ text: 'x' }])
  })

  it('updates rows on their pages, without touching the index', async () => {
    const table = newTable()
    const store = open(table)
    for (let i = 0; i < 50; i++)
      await store.decide([{ ...charge('hot'), limit: compileLimit({ limit: 1e6, window: '1d' }) }])
    const [{ hot, all }] = (await until('the server has counted', async () => {
      const [row] = await server.run(
        `SELECT n_tup_hot_upd::int AS hot, n_tup_upd::int AS all FROM pg_stat_user_tables WHERE relname = '${table}'`,
      )
      return Number(row?.all) >= 40 && [row]
    })) as { hot: number; all: number }[]
    expect(hot / all).toBeGreaterThan(0.9)
  })

  it('uses no prepared statement with a name, and nothing of a session', async () => {
    const table = newTable()
    const one = newPool()
    const store = open(table, one)
    const client = await one.connect()
    await store.decide([charge('a'), charge('b')])
    await store.decide([charge('a')])
    expect((await client.query('SELECT * FROM pg_prepared_statements')).rows).toEqual([])
    client.release()
  })
})

describe('other ways to PostgreSQL', () => {
  it('leads through PgBouncer in transaction mode, with fewer connections than processes', async () => {
    const bouncer = await startPgBouncer(server)
    onTestFinished(() => bouncer.stop())
    const table = newTable()
    const stores = Array.from({ length: 6 }, () => open(table, newPool(bouncer.port)))
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => stores[i % 6]?.decide([charge('one'), charge('two')])),
    )
    expect(answers.filter((verdicts) => verdicts?.every(({ allowed }) => allowed))).toHaveLength(10)
    expect([await remaining(open(table), 'one'), await remaining(open(table), 'two')]).toEqual([0, 0])
  })

  it('leads through the client of postgres.js', async () => {
    const sql = postgresJs(server.url(), { max: 3, onnotice: () => {} })
    onTestFinished(() => sql.end())
    const table = newTable()
    const engine = new PostgresEngine({ run: runSqlOf(sql), name: 'postgres', table: tableOf(table), isLogged: false })
    const store = new CasStore(engine, { timeoutMs: 60_000 })
    await store.decide([charge('a'), charge('b"\\')])
    expect(await store.decide([charge('a', 4), charge('c')])).toMatchObject([{ remaining: 5 }, { remaining: 9 }])
    expect([await remaining(open(table), 'a'), await remaining(open(table), 'b"\\')]).toEqual([5, 9])
    await until('it has looked for what has expired', async () => !(await engine.expire()))
  })

  it('counts for an app with its pool, and says what is no client', async () => {
    const limiter = rateLimit({
      limit: 3,
      window: '1d',
      timeoutMs: 60_000,
      store: postgres(newPool(), { table: newTable() }),
    })
    const allowed = []
    for (let i = 0; i < 4; i++) allowed.push((await limiter.check('user')).allowed)
    expect(allowed).toEqual([true, true, true, false])
    await limiter.close()
    expect(() => postgres('postgres://x' as never)).toThrow(
      'STORE_CLIENT_INVALID: postgres: got "postgres://x", expected a pool of pg',
    )
    expect(() => postgres(pool, { table: 'a; DROP TABLE b' })).toThrow('STORE_PLACE_INVALID')
    expect(() => postgres(pool, { tabel: 'a' } as never)).toThrow('OPTION_UNKNOWN')
    const both = { limit: 3, window: '1d', redis: 'redis://127.0.0.1:1', store: postgres(pool) } as const
    expect(() => rateLimit(both)).toThrow('counters live in one place')
  })
})

describe('a PostgreSQL that fails', () => {
  it('counts a charge once whose answer is cut off, and answers with it', async () => {
    const proxy = await startProxy(server.port)
    const table = newTable()
    onTestFinished(() => proxy.stop())
    // One connection, and no work of its own: a connection that is being made needs answers, too.
    const cutEngine = Object.assign(engineOn(table, newPool(proxy.port)), { expire: async () => false })
    const [direct, cut] = [open(table), new CasStore(cutEngine, { timeoutMs: 60_000 })]
    await cut.decide([charge('cut')])
    let counted = 1
    for (let i = 0; i < 4; i++) {
      proxy.rewrite({ replies: () => undefined })
      const answer = cut.decide([charge('cut')])
      answer.catch(() => {})
      await until('the charge has arrived', async () => (await remaining(direct, 'cut')) === 10 - counted - 1)
      counted++
      await proxy.heal()
      await proxy.cut()
      expect(await answer).toMatchObject([{ kind: 'allowed', remaining: 10 - counted }])
    }
    expect(await remaining(direct, 'cut')).toBe(10 - counted)
  })

  it('forgets all counters in a crash, unless the table is logged, and counts on what is there', async () => {
    const own = await startPostgres()
    onTestFinished(() => own.stop())
    const ownPool = new pg.Pool({ connectionString: own.url(), max: 2 })
    ownPool.on('error', () => {})
    onTestFinished(() => ownPool.end())
    const [unlogged, logged] = ['unlogged', 'logged'].map(
      (table) => new CasStore(engineOn(table, ownPool, table === 'logged'), { timeoutMs: 60_000 }),
    ) as [CasStore, CasStore]
    for (const store of [unlogged, logged]) await store.decide([charge('a', 6)])
    await own.crash()
    await own.restart()
    const again = (store: CasStore) =>
      until('it answers again', () => store.decide([charge('a')]).catch(() => undefined))
    expect(await again(unlogged)).toMatchObject([{ remaining: 9 }])
    expect(await again(logged)).toMatchObject([{ remaining: 3 }])
  })

  it('is unavailable where it accepts no writes, and charges nothing', async () => {
    const table = newTable()
    const store = open(table)
    await store.decide([charge('a')])
    const readOnly = new pg.Pool({ connectionString: server.url(), options: '-c default_transaction_read_only=on' })
    pools.push(readOnly)
    await expect(open(table, readOnly).decide([charge('a')])).rejects.toMatchObject({ reason: 'unavailable' })
    expect(await remaining(store, 'a')).toBe(9)
  })

  it('is reported as offline while it is away, and counts again afterwards', async () => {
    const own = await startPostgres()
    const ownPool = new pg.Pool({ connectionString: own.url(), max: 2 })
    ownPool.on('error', () => {})
    const store = open(newTable(), ownPool)
    await store.decide([charge('a')])
    await own.kill()
    await until('calls fail', () =>
      store.decide([charge('a')]).then(
        () => false,
        ({ reason }) => ['offline', 'broken'].includes(reason),
      ),
    )
    await own.restart()
    const verdicts = await until('it answers again', () => store.decide([charge('a')]).catch(() => undefined))
    expect(verdicts[0].allowed).toBe(true)
    await ownPool.end()
    await own.stop()
  })
})
