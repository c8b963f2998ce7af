import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { copyPglite, makeDataDir, SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { PgliteDatabase } from '../../server/src/quotas/database/pglite-database.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet } from './quota-fleet.suite.ts'

const TAMPER = `ALTER TABLE sluice.audit DISABLE TRIGGER ALL; UPDATE sluice.audit SET actor_name = 'nobody' WHERE sequence = 3;
  ALTER TABLE sluice.audit ENABLE TRIGGER ALL`

/** Says whether all requests had the same outcome. */
const only = (outcome: string, text: string): boolean => text === outcome.repeat(text.length)

/** Waits until every node, and every worker of it, decides so. A change is given the time that a busy machine takes. */
const becomes = (fleet: QuotaFleet, outcome: string, what: string) =>
  until(what, async () => only(outcome, await fleet.check(6)))

async function makeCustomer(fleet: QuotaFleet): Promise<void> {
  const [node] = fleet.nodes
  expect((await fleet.ask(node, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
  expect((await fleet.ask(node, 'POST', 'customers/acme/keys', { key: API_KEY })).status).toBe(201)
  await fleet.agrees()
}

async function raise(fleet: QuotaFleet): Promise<void> {
  const body = { requests_per_unit: 1_000_000, unit: 'day', reason: 'a call' }
  expect((await fleet.ask(fleet.nodes.at(-1)!, 'POST', 'customers/acme/overrides', body)).status).toBe(201)
  await becomes(fleet, '+', 'the raise is in force')
}

async function block(fleet: QuotaFleet): Promise<string> {
  const made = await fleet.ask(fleet.nodes[0], 'POST', 'blocks', { customer_id: 'acme', reason: 'abuse', status: 403 })
  expect(made.status).toBe(201)
  await becomes(fleet, 'B', 'the block is in force')
  return made.json.id
}

/** Gives the customer next to nothing, and then lets that end by the time alone. */
async function letExpire(fleet: QuotaFleet): Promise<void> {
  const [node] = fleet.nodes
  const limit = { requests_per_unit: 1, unit: 'day' }
  const made = await fleet.ask(node, 'POST', 'customers/acme/overrides', {
    ...limit,
    expires_at: '2099-01-01T00:00:00Z',
  })
  expect(made.status).toBe(201)
  await becomes(fleet, '-', 'the smaller limit is in force')
  const path = `customers/acme/overrides/${made.json.id}`
  // By the clock of the node: that of a test may be ahead.
  const soon = new Date(Date.parse(String(made.json.created_at)) + 2_000).toISOString()
  const put = await fleet.ask(node, 'PUT', path, { ...limit, expires_at: soon }, { 'if-match': made.etag })
  expect(put.status, put.text).toBe(200)
  await becomes(fleet, '+', 'the override has expired')
}

/** Turns a whole layer off through one node, and on again through another. */
async function switchLayer(fleet: QuotaFleet): Promise<void> {
  const [node] = fleet.nodes
  const limit = { requests_per_unit: 1, unit: 'day' }
  expect((await fleet.ask(node, 'POST', 'customers/acme/overrides', limit)).status).toBe(201)
  await becomes(fleet, '-', 'the smaller limit is in force')
  const body = { layer: 'rate', mode: 'off', reason: 'a look at it first' }
  expect((await fleet.ask(node, 'PUT', 'layers', body)).status).toBe(200)
  await becomes(fleet, '+', 'the layer is off, on every worker of every node')
  expect((await fleet.ask(fleet.nodes.at(-1)!, 'DELETE', 'layers?layer=rate')).status).toBe(204)
  await becomes(fleet, '-', 'the layer is on again')
}

const verified = (fleet: QuotaFleet, ...args: string[]) => fleet.run('audit', 'verify', ...args)

describe('a customer', () => {
  it('is raised, blocked and unblocked on two nodes with two workers each, whatever is killed', {
    timeout: SLOW_MS,
  }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const name = await server.createDatabase()
    const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) }, '--workers', '2')
    const first = await fleet.start()
    await fleet.firstToken(first)
    const second = await fleet.start()
    await makeCustomer(fleet)
    const backup = execFileSync('pg_dump', [server.url(name)], { encoding: 'utf8' })
    expect(await fleet.check(1)).toBe('++')
    expect(await fleet.check(4)).toBe('--------')
    await raise(fleet)
    const blockId = await block(fleet)
    const { changes } = (await fleet.ask(second, 'GET', 'changes')).json
    expect(changes).toMatchObject([
      { kind: 'blocks', text: 'blocked acme', actor: 'first start' },
      { kind: 'overrides', text: 'override of acme: 1000000 per day' },
    ])
    await until('use is shown by tier', async () => {
      const { tiers } = (await fleet.ask(second, 'GET', 'usage/by-tier?period=1h')).json
      const [none] = tiers as { tier: string | null; customers: number; allowed: number; refused: number }[]
      return none.tier === null && none.customers === 1 && none.allowed > 2 && none.refused > 4
    })
    const { items } = (await fleet.ask(first, 'GET', 'top?by=refused&period=1h')).json
    expect(items).toContainEqual(expect.objectContaining({ rule: 'api_key', customer_id: 'acme' }))

    await server.kill()
    const refused = await fleet.ask(second, 'DELETE', `blocks/${blockId}`)
    expect([refused.status, refused.json.code]).toEqual([503, 'DATABASE_UNAVAILABLE'])
    expect(await fleet.check(4)).toBe('BBBBBBBB')
    await second.printed('the database is unavailable')
    await server.restart()
    await until(
      'the node has recovered',
      async () => (await fleet.ask(second, 'GET', `blocks/${blockId}`)).status === 200,
    )

    await fleet.kill(0)
    fleet.nodes.shift()
    expect((await fleet.ask(second, 'DELETE', `blocks/${blockId}`)).status).toBe(204)
    await becomes(fleet, '+', 'the block is gone')
    const third = await fleet.start()
    expect(await fleet.check(4, [third])).toBe('++++')
    await letExpire(fleet)
    await switchLayer(fleet)

    const whole = verified(fleet)
    expect([whole.stderr, whole.status, whole.stdout]).toEqual([
      expect.stringContaining('compared with nothing outside of the database'),
      0,
      expect.stringMatching(/^the audit log is whole: \d+ entries\n$/),
    ])
    const anchored = await fleet.redis()
    const [last] = /\d+/.exec(whole.stdout) ?? []
    await until('the end of the log is in Redis', () => verified(fleet, ...anchored).stdout.includes('as Redis says'))
    expect(verified(fleet, ...anchored)).toMatchObject({ status: 0, stderr: '' })
    expect((await fleet.ask(third, 'GET', 'audit/verify')).json).toMatchObject({
      ok: true,
      anchors: ['Redis'],
      unread: [],
    })
    const older = server.url(await server.createDatabase())
    execFileSync('psql', [older, '-q', '-v', 'ON_ERROR_STOP=1'], {
      input: backup,
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    expect(fleet.run('audit', 'verify', '--database', older)).toMatchObject({ status: 0 })
    expect(fleet.run('audit', 'verify', '--database', older, ...anchored)).toMatchObject({
      status: 1,
      stdout: `entry 4: the end is missing, up to entry ${last}, as Redis says\n`,
    })
    await server.run(TAMPER, { database: name })
    const broken = verified(fleet)
    expect([broken.status, broken.stdout]).toEqual([1, 'entry 3: it was changed\n'])
    expect(broken.stderr).toContain('AUDIT_BROKEN')
    await server.run('DROP SCHEMA sluice CASCADE', { database: name })
    for (const args of [['verify'], ['verify', ...anchored], ['list']]) {
      const dropped = fleet.run('audit', ...args)
      expect([dropped.status, dropped.stdout]).toEqual([1, ''])
      expect(dropped.stderr).toMatch(/^DATABASE_EMPTY: database: it has no schema "sluice"\. /)
    }
    const schemas = "SELECT FROM pg_namespace WHERE nspname = 'sluice'"
    expect(await server.run(schemas, { database: name }), 'a look creates nothing').toEqual([])
    const output = [first, second, third].map(({ errors }) => errors()).join('')
    expect(output + broken.stderr).not.toContain(server.address.password)
  })

  it('is raised, blocked and unblocked on one node with PGlite, whatever is killed', { timeout: SLOW_MS }, async () => {
    const dataDir = makeDataDir()
    await copyPglite(dataDir)
    const fleet = new QuotaFleet({ SLUICE_DATA: dataDir })
    const node = await fleet.start()
    await fleet.firstToken(node)
    await node.printed('quotas are in force')
    await makeCustomer(fleet)
    expect(await fleet.check(4)).toBe('++--')
    const { inForce } = await fleet.ask(node, 'POST', 'customers?wait=all', { id: 'beta' })
    expect(inForce).toBe('nodes=1, confirmed=1')
    await raise(fleet)
    const blockId = await block(fleet)

    const { pid } = JSON.parse(readFileSync(join(dataDir, 'postgres.lock'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    expect(await fleet.check(4)).toBe('BBBB')
    await until(
      'the database has recovered',
      async () => (await fleet.ask(node, 'GET', `blocks/${blockId}`)).status === 200,
    )

    await fleet.kill(0)
    const again = await fleet.start(0)
    await becomes(fleet, 'B', 'the block is known again')
    expect((await fleet.ask(again, 'DELETE', `blocks/${blockId}`)).status).toBe(204)
    await becomes(fleet, '+', 'the block is gone')
    await letExpire(fleet)

    expect(verified(fleet).stderr).toMatch(/^DATABASE_LOCKED: .* Use --admin to ask .*\n$/)
    const asked = ['--admin', again.admin, '--token', fleet.token]
    expect(verified(fleet, ...asked)).toMatchObject({ status: 0, stderr: '' })
    const made = fleet.run('token', 'create', '--role', 'viewer', '--name', 'on call', ...asked)
    expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^sluice_[\w-]{43}\n$/) })
    const [, id = ''] = /^token (\S+),/.exec(made.stderr) ?? []
    expect(fleet.run('token', 'revoke', id, ...asked).stdout).toBe(`revoked ${id} (on call)\n`)
    expect(fleet.run('token', 'list', ...asked).stdout).toMatch(new RegExp(`${id} .* revoked .* on call`))

    await fleet.stop(0)
    expect(verified(fleet)).toMatchObject({ status: 0, stderr: '' })
    const db = new PgliteDatabase({ dataDir })
    await db.query(TAMPER)
    await db.close()
    expect(verified(fleet)).toMatchObject({ status: 1, stdout: 'entry 3: it was changed\n' })
  })
})
