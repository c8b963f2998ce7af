import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { copyPglite, makeDataDir } from './databases.suite.ts'
import { PgliteDatabase, type PgliteOptions } from './pglite-database.ts'

const MAIN = fileURLToPath(new URL('./pglite-main.js', import.meta.url))

async function open(options: Partial<PgliteOptions> = {}): Promise<{ db: PgliteDatabase; dataDir: string }> {
  const dataDir = options.dataDir ?? makeDataDir()
  if (options.dataDir === undefined) await copyPglite(dataDir)
  const db = new PgliteDatabase({ ...options, dataDir })
  onTestFinished(() => db.close())
  return { db, dataDir }
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    // A process that has ended and was not waited for is a zombie, where there is a /proc.
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

// A start of PGlite takes half a second, and 20 on two cores with a load of ten.
describe('PGlite', () => {
  it('makes its database when it is first asked, in a separate process, and opens it again', async () => {
    const { db, dataDir } = await open({ dataDir: makeDataDir() })
    expect(db.pid).toBeUndefined()
    await db.query('CREATE TABLE t (n int); INSERT INTO t VALUES (1)')
    expect(db.pid).not.toBe(process.pid)
    expect(readFileSync(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8').trim()).toBe('18')
    expect(statSync(dataDir).mode & 0o077).toBe(0)
    await db.close()
    expect(readdirSync(dataDir)).toEqual(['postgres'])
    const again = await open({ dataDir })
    expect(await again.db.query('SELECT n FROM t')).toEqual([{ n: 1 }])
  })

  it('refuses a directory that another process has open, and opens it when that is done', async () => {
    const { db, dataDir } = await open()
    await db.query('SELECT 1')
    const second = await open({ dataDir })
    await expect(second.db.query('SELECT 1')).rejects.toThrow(
      `DATABASE_LOCKED: ${dataDir}: another process has it open. A data directory can be used by one process at a time. Use --admin to ask the service that has it open.`,
    )
    await db.close()
    expect(await second.db.query('SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it('refuses a directory of another version, and one that is no database, and leaves them as they are', async () => {
    const dataDir = makeDataDir()
    mkdirSync(join(dataDir, 'postgres'), { recursive: true })
    writeFileSync(join(dataDir, 'postgres', 'notes.txt'), 'mine')
    const { db } = await open({ dataDir })
    await expect(db.query('SELECT 1')).rejects.toThrow('DATABASE_VERSION_UNSUPPORTED')
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '16\n')
    await expect(db.query('SELECT 1')).rejects.toThrow(
      `DATABASE_VERSION_UNSUPPORTED: ${dataDir}: got version 16, not 18. `,
    )
    expect(readdirSync(join(dataDir, 'postgres')).sort()).toEqual(['PG_VERSION', 'notes.txt'])
  })

  it('ends with its parent, also when that is killed', async () => {
    const dataDir = makeDataDir()
    await copyPglite(dataDir)
    const script = `import { fork } from 'node:child_process'
      const child = fork(${JSON.stringify(MAIN)}, [${JSON.stringify(dataDir)}], { serialization: 'advanced' })
      child.on('message', ({ type }) => process.send({ type, pid: child.pid }))`
    const file = join(dataDir, 'parent.mjs')
    writeFileSync(file, script)
    const parent = fork(file, { execArgv: [] })
    const [{ type, pid }] = (await once(parent, 'message')) as [{ type: string; pid: number }]
    expect([type, isRunning(pid)]).toEqual(['ready', true])
    parent.kill('SIGKILL')
    await until('the process of PGlite has ended', () => !isRunning(pid), 60_000)
    const { db } = await open({ dataDir })
    expect(await db.query('SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it('rejects what was in flight when its process crashed, and does the next', async () => {
    const { db } = await open()
    await db.query('CREATE TABLE t (n int)')
    const crashing = db.transaction(async (tx) => {
      await tx.query('INSERT INTO t VALUES (1)')
      process.kill(db.pid!, 'SIGKILL')
      await tx.query('INSERT INTO t VALUES (2)')
    })
    await expect(crashing).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await db.query('SELECT n FROM t')).toEqual([])
  })

  it('gives up a statement that takes too long, and its process with it', async () => {
    const { db } = await open({ statementTimeoutMs: 8000 })
    await db.query('SELECT 1')
    const pid = db.pid!
    // One that computes for eight seconds looks the same from here.
    process.kill(pid, 'SIGSTOP')
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await db.query('SELECT 1 AS n')).toEqual([{ n: 1 }])
    expect(db.pid).not.toBe(pid)
  })

  it('folds its log of changes into the tables, so that the log does not grow with what is written', async () => {
    const { db, dataDir } = await open({ upkeepEveryWorks: 2, checkpointBytes: 4 * 1024 * 1024, vacuumEveryMs: 0 })
    await db.query('CREATE TABLE t (n int)')
    // Each turn fills a file of the log, which has 16 MB.
    const turn = 'INSERT INTO t VALUES (1); SELECT pg_switch_wal()'
    const logBytes = () =>
      readdirSync(join(dataDir, 'postgres', 'pg_wal'))
        .map((name) => statSync(join(dataDir, 'postgres', 'pg_wal', name)))
        .reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0)
    for (let n = 0; n < 12; n++) {
      await db.query(turn)
      await db.query('DELETE FROM t')
    }
    expect(logBytes()).toBeLessThan(160 * 1024 * 1024)
    const [{ vacuumed }] = await db.query<{ vacuumed: number }>(
      "SELECT vacuum_count AS vacuumed FROM pg_stat_user_tables WHERE relname = 't'",
    )
    expect(vacuumed).toBeGreaterThan(0)
  })

  it('ends what waits when it is closed, and answers nothing afterwards', async () => {
    const { db } = await open()
    const rows = db.query('SELECT 1 AS n')
    await db.close()
    expect(await rows).toEqual([{ n: 1 }])
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  })
})
