import { describe, expect, it } from 'vitest'
import { startPostgres } from './postgres.mjs'
import { sharedPostgres } from './shared.ts'

describe('a PostgreSQL for tests', () => {
  it('keeps what was committed over SIGKILL and a restart', async () => {
    await using server = await startPostgres()
    await server.run('CREATE TABLE t (n int)')
    await server.run('INSERT INTO t VALUES (1)')
    await server.kill()
    expect(server.isRunning).toBe(false)
    await server.restart()
    expect(await server.run('SELECT n FROM t')).toEqual([{ n: 1 }])
  })

  it('is a copy of the first of the run', async () => {
    await using server = await startPostgres()
    const made = 'SELECT system_identifier FROM pg_control_system()'
    expect(await server.run(made)).toEqual(await (await sharedPostgres()).run(made))
  })

  it('is shared by the whole run, with a database for each who asks', async () => {
    const [one, other] = [await sharedPostgres(), await sharedPostgres()]
    expect(one.port).toBe(other.port)
    const [first, second] = [await one.createDatabase(), await one.createDatabase()]
    await one.run('CREATE TABLE t (n int)', { database: first })
    await expect(one.run('SELECT * FROM t', { database: second })).rejects.toThrow('does not exist')
  })
})
