import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { type PostgresServer, startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'

const MAIN = fileURLToPath(new URL('./usage-node.mjs', import.meta.url))
const SLOW_MS = 300_000
const PATIENCE_MS = 60_000

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

async function startNode(url: string, ...flags: string[]) {
  const child = fork(MAIN, [url, ...flags], { execArgv: [] })
  children.push(child)
  const events: string[] = []
  const address = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the node ended')))
    child.on('message', (message: { address?: string; log?: string }) => {
      if (message.log !== undefined) events.push(message.log)
      if (message.address !== undefined) resolve(message.address)
    })
  })
  const ask = async (count: number): Promise<void> => {
    const body = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'customer', value: 'acme' }] }] })
    for (let n = 0; n < count; n++) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`http://${address}/v1/check`, { method: 'POST', body, headers })
      expect([200, 429]).toContain(response.status)
      await response.arrayBuffer()
    }
  }
  const end = async (how: 'drained' | 'killed'): Promise<void> => {
    const exit = once(child, 'exit')
    if (how === 'killed') child.kill('SIGKILL')
    else child.send({ stop: true })
    await exit
  }
  return { ask, end, events }
}

async function startDatabase() {
  const server: PostgresServer = await startPostgres()
  onTestFinished(() => server.stop())
  const database = await server.createDatabase()
  const total = async (): Promise<number> => {
    const sql = 'SELECT coalesce(sum(allowed + refused), 0)::int AS n FROM sluice.usage_hourly'
    const [row] = (await server.run(sql, { database })) as { n: number }[]
    return row.n
  }
  return { server, url: server.url(database), database, total }
}

describe('usage', { timeout: SLOW_MS }, () => {
  it('that was written survives kill -9, and nothing is ever counted twice; what a node that drains has counted is written', async () => {
    const { url, total, server, database } = await startDatabase()
    const first = await startNode(url)
    await first.ask(25)
    await until('it is written', async () => (await total()) === 25, PATIENCE_MS)
    await first.ask(7)
    await first.end('killed')
    const left = await total()
    expect(left).toBeGreaterThanOrEqual(25)
    expect(left).toBeLessThanOrEqual(32)
    const second = await startNode(url)
    await second.ask(12)
    await second.end('drained')
    expect(await total()).toBe(left + 12)
    const [row] = await server.run('SELECT customer_id, limit_name FROM sluice.usage_hourly LIMIT 1', { database })
    expect(row).toEqual({ customer_id: 'acme', limit_name: 'api/customer' })
  })

  it('is counted while the database is unavailable, without a decision that waits, and written when it has recovered', async () => {
    const { url, total, server } = await startDatabase()
    const node = await startNode(url)
    await node.ask(5)
    await until('it is written', async () => (await total()) === 5, PATIENCE_MS)
    await server.kill()
    await node.ask(20)
    await until('the log says so', () => node.events.includes('usage.failed'), PATIENCE_MS)
    await node.ask(20)
    await server.restart()
    await until('it is written', async () => (await total()) === 45, PATIENCE_MS)
    await until('the log says so', () => node.events.includes('usage.recovered'), PATIENCE_MS)
    await node.end('drained')
    expect(await total()).toBe(45)
  })
})

describe('the audit log in a file', { timeout: SLOW_MS }, () => {
  it('has every entry once, however often the node is killed while it writes', async () => {
    const { url, server, database } = await startDatabase()
    const dir = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const path = join(dir, 'audit.jsonl')
    const entries = (from: number, to: number) =>
      server.run(
        `INSERT INTO sluice.audit (sequence, at_ms, actor_id, actor_name, action, target, after, previous, hash)
         SELECT n, n, 'a', 'A', 'test', 't', '{"x":"' || repeat('x', 4000) || '"}', '', n::text FROM generate_series(${from}, ${to}) n;
         INSERT INTO sluice.audit_head (sequence, hash, signature) VALUES (${to}, '', '')
         ON CONFLICT (only_row) DO UPDATE SET sequence = excluded.sequence`,
        { database },
      )
    const whole = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [])
    for (let round = 0; round < 3; round++) {
      const node = await startNode(url, '--audit-file', path)
      await entries(round * 500 + 1, (round + 1) * 500)
      await until('it writes', () => whole().length > round * 500, PATIENCE_MS)
      await node.end('killed')
    }
    const last = await startNode(url, '--audit-file', path)
    await until('it is done', () => whole().length >= 1500, PATIENCE_MS)
    await last.end('drained')
    expect(whole().map((line) => JSON.parse(line).sequence)).toEqual(Array.from({ length: 1500 }, (_, n) => n + 1))
  })
})
