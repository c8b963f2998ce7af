import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createLedgerClient } from '../../client/src/ledger/index.ts'
import { routesFile, startApp, startGateway } from '../../server/src/app/gateway/gateway.suite.ts'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { connected, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { grpcClient, isAllowed, limiterCheck, rlsRequest, shouldRateLimit } from '../process/grpc-load.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const SECRET = 'the secret of this ledger'
const API_KEY = 'sk_live_0123456789abcdef'

const RULES = `
domain: paid
descriptors:
  - {key: customer, rate_limit: {name: exports, unit: day, requests_per_unit: 1000, ledger: exports}}
  - {key: model, rate_limit: {unlimited: true}, descriptors: [{key: customer, rate_limit: {unit: day, requests_per_unit: 100000, ledger: {meter: exports, amount: settled}}}]}
  - {key: few, descriptors: [{key: customer, rate_limit: {unit: day, requests_per_unit: 1, algorithm: fixed_window, ledger: exports}}]}
`

interface Ledger {
  readonly node: Started
  readonly admin: (method: string, path: string, body?: object) => Promise<Record<string, never>>
  /** What is left of the meter. */
  readonly left: (customer?: string) => Promise<number>
}

async function serve(database: string, ...args: string[]): Promise<Ledger> {
  const rules = new RuleDirectory({ 'paid.yaml': RULES })
  const file = join(makeTemporaryDir('ledger'), 'first-token')
  const env = { DATABASE_URL: database, SLUICE_SECRET: SECRET, SLUICE_FIRST_TOKEN_FILE: file }
  const redis = ['--redis', (await sharedRedis()).url, '--key-prefix', `ledger-${randomBytes(6).toString('hex')}:`]
  const own = args.length > 0 ? [...args, ...redis, '--health-needs-redis', '--redis-timeout', '60s'] : []
  const node = await startWith(env, '--rules', rules.path, ...own)
  if (args.length > 0) await connected(node)
  await node.printed('the first token')
  const token = readFileSync(file, 'utf8').trim()
  const admin: Ledger['admin'] = async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${node.admin}/admin/v1/${path}`, { method, headers, body: JSON.stringify(body) })
    const json = (await response.json()) as Record<string, never>
    expect([path, response.status, json]).toEqual([path, expect.toSatisfy((status) => status < 300), json])
    return json
  }
  const left = async (customer = 'acme'): Promise<number> => {
    const { available } = (await admin('GET', `ledger/balance?customer=${customer}&meter=exports`)) as unknown as {
      available: Record<string, number>
    }
    return Object.values(available).reduce((sum, part) => sum + part, 0)
  }
  return { node, admin, left }
}

/** A customer with a key, and a meter: an allowance of 10 and credit of 5. */
async function open({ admin }: Ledger, allowance = 10, credits = 5, meter: object = {}): Promise<void> {
  await admin('PUT', 'meters/exports', { allowance, ...meter })
  await admin('POST', 'customers', { id: 'acme' })
  await admin('POST', 'customers/acme/keys?wait=all', { key: API_KEY })
  if (credits > 0)
    await admin('POST', 'customers/acme/ledger/exports/issues', { id: 'i1', kind: 'credit', amount: credits })
}

const check = async (
  node: Started,
  more: object = {},
  entries: readonly [string, string][] = [['customer', 'acme']],
) => {
  const descriptors = [{ entries: entries.map(([key, value]) => ({ key, value })) }]
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const body = JSON.stringify({ domain: 'paid', descriptors, ...more })
  const response = await fetch(`${node.url}/v1/check`, { method: 'POST', headers, body })
  const json = (await response.json()) as Record<string, unknown> & { reservation: string }
  return {
    status: response.status,
    json,
    field: response.headers.get('sluice-ledger'),
    retry: response.headers.get('retry-after'),
  }
}

const settle = async (node: Started, token: string, cost: number) => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${node.url}/v1/check`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ settle: token, cost }),
  })
  return ((await response.json()) as { settled: boolean }).settled
}

it('HTTP and Envoy go down the waterfall, in every worker, and end in a 402 that says what ran out', {
  timeout: SLOW_MS,
}, async () => {
  const postgres = await sharedPostgres()
  const ledger = await serve(postgres.url(await postgres.createDatabase()), '--workers', '2')
  const { node, left } = ledger
  await open(ledger)
  const first = await check(node, { cost: 4 })
  expect([first.status, first.field]).toEqual([
    200,
    expect.stringMatching(/^"exports";paid=4;from="allowance";left=11;period-ends=\d{10}$/),
  ])
  expect(first.json.ledger).toMatchObject([{ meter: 'exports', amount: 4, paid_from: { allowance: 4 } }])

  const client = grpcClient(node.grpc)
  onTestFinished(() => client.close())
  const envoy = await shouldRateLimit(client, rlsRequest('paid', 'acme', 'customer'))
  expect([envoy[1], envoy.toString('latin1')]).toEqual([
    1,
    expect.stringContaining('"exports";paid=1;from="allowance";left=10'),
  ])
  expect(isAllowed(await limiterCheck(client, 'paid', 'acme', 'customer'))).toBe(true)
  expect(await left()).toBe(9)

  expect((await check(node, { cost: 6 })).json.ledger).toMatchObject([{ paid_from: { allowance: 4, credits: 2 } }])
  const refused = await check(node, { cost: 4 })
  expect([refused.status, refused.retry]).toEqual([402, null])
  expect(refused.field).toMatch(
    /^"exports";short=4;left=3;ran-out="allowance credits";would-help="next_period credits";period-ends=\d{10}$/,
  )
  expect(refused.json).toMatchObject({
    allowed: false,
    rule: 'exports',
    code: 'LEDGER_SHORT',
    reason: expect.stringContaining('3 are left after the allowance of the period, then bought credits'),
    ledger: [
      {
        needed: 4,
        available: { credits: 3 },
        ran_out: ['allowance', 'credits'],
        would_help: ['next_period', 'credits'],
      },
    ],
  })
  expect((await check(node, { cost: 3 })).status).toBe(200)
  const broke = await shouldRateLimit(client, rlsRequest('paid', 'acme', 'customer'))
  expect([broke[1], broke.toString('latin1')]).toEqual([2, expect.stringContaining('LEDGER_SHORT')])
  const json = await fetch(`${node.url}/json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ domain: 'paid', descriptors: [{ entries: [{ key: 'customer', value: 'acme' }] }] }),
  })
  expect([json.status, JSON.stringify(await json.json())]).toEqual([402, expect.stringContaining('sluice-ledger')])
  const asked = { domain: 'paid', descriptors: [{ entries: [{ key: 'customer', value: 'acme' }] }] }
  expect(await ledger.admin('POST', 'explain', asked)).toMatchObject({
    admitted: false,
    counters: [{ rule_name: 'exports', would_refuse: false }],
    meters: [{ meter: 'exports', takes: 1, customer_id: 'acme', code: 'LEDGER_SHORT', status: 402 }],
  })
  expect(await ledger.admin('GET', 'refusals?customer_id=acme')).toMatchObject({
    refusals: [{ rule: 'customer', reason: 'ledger_short', detail: expect.stringContaining('What would help') }],
  })
  // Of 1,000 a day, what was refused took nothing.
  const look = await check(node, { cost: 0 })
  expect(look.field).toBeNull()
  expect((await check(node, {}, [['customer', 'nobody']])).json).toMatchObject({ code: 'LEDGER_CUSTOMER_UNKNOWN' })
})

it('a refusal by the limit takes nothing of the ledger', { timeout: SLOW_MS }, async () => {
  const postgres = await sharedPostgres()
  const ledger = await serve(postgres.url(await postgres.createDatabase()))
  await open(ledger)
  const few: [string, string][] = [
    ['few', 'x'],
    ['customer', 'acme'],
  ]
  expect((await check(ledger.node, {}, few)).status).toBe(200)
  expect((await check(ledger.node, {}, few)).status).toBe(429)
  expect(await ledger.left()).toBe(14)
})

it('what is reserved is held, and what it came to is booked once', { timeout: SLOW_MS }, async () => {
  const postgres = await sharedPostgres()
  const ledger = await serve(postgres.url(await postgres.createDatabase()), '--workers', '2')
  await open(ledger)
  const { node, left } = ledger
  const model: [string, string][] = [
    ['model', 'gpt'],
    ['customer', 'acme'],
  ]
  const { json } = await check(node, { reserve: 12 }, model)
  expect(await left()).toBe(3)
  expect(await settle(node, json.reservation, 7)).toBe(true)
  expect(await settle(node, json.reservation, 2)).toBe(false)
  expect(await left()).toBe(8)
  const over = await check(node, { reserve: 8 }, model)
  expect(await settle(node, over.json.reservation, 20)).toBe(true)
  expect(await left()).toBe(0)
})

it('the client reserves, commits and books at the doors, and says what ran out', { timeout: SLOW_MS }, async () => {
  const postgres = await sharedPostgres()
  const { node, admin, left } = await serve(postgres.url(await postgres.createDatabase()))
  await open({ node, admin, left })
  const { token } = await admin('POST', 'tokens', { name: 'program', role: 'ledger' })
  const ledger = createLedgerClient({ url: node.admin, token })
  const asked = { customer: 'acme', meter: 'exports', amount: 12 }
  const reserved = await ledger.reserve({ ...asked, id: 'r1' })
  if (!reserved.paid) return expect.unreachable(reserved.reason)
  expect(reserved.paidFrom).toEqual({ allowance: 10, grants: 0, credits: 2, overdraft: 0, unpaid: 0 })
  expect(reserved.expiresAt).toBeInstanceOf(Date)
  const short = await ledger.reserve(asked)
  expect(short).toMatchObject({
    ...{ paid: false, status: 402, needed: 12, available: { credits: 3 } },
    ...{ ranOut: ['allowance', 'credits'], wouldHelp: ['credits'] },
  })
  expect(await reserved.commit(4)).toMatchObject({ used: 4, repeated: false })
  expect(await ledger.commit({ ...asked, id: 'r1' }, 4)).toMatchObject({ used: 4, repeated: true })
  await expect(ledger.commit({ ...asked, id: 'r1' }, 5)).rejects.toMatchObject({
    status: 422,
    code: 'LEDGER_ID_REUSED',
  })
  const worked = await ledger.hold({ ...asked, amount: 5 }, async (hold) => {
    hold.used = 1
    return (await left()) + hold.amount
  })
  expect([worked, await left()]).toEqual([11, 10])
  await expect(ledger.hold({ ...asked, amount: 5 }, () => Promise.reject(new Error('no paper')))).rejects.toThrow(
    'no paper',
  )
  await expect(ledger.hold(asked, () => 1)).rejects.toMatchObject({ code: 'LEDGER_SHORT', shortage: { needed: 12 } })
  expect(await ledger.book({ ...asked, amount: 2, id: 'e1', at: new Date() })).toMatchObject({ paid: true, used: 2 })
  expect(await ledger.book({ ...asked, amount: 50 })).toMatchObject({ paid: false, needed: 50 })
  expect(await ledger.balance(asked)).toMatchObject({ available: { allowance: 3, credits: 5 }, held: 0 })
  await expect(ledger.balance({ ...asked, meter: 'none' })).rejects.toMatchObject({
    status: 404,
    code: 'RECORD_UNKNOWN',
  })
})

const ROUTES = (app: string) => `
upstreams: {app: ${app}}
identity: {api_key: true}
routes:
  - name: model
    path: /model/*
    upstream: app
    limits: [{name: tokens, by: api_key, unit: day, requests_per_unit: 100000, reserve: 5, settle: {json: used, sse: used}, ledger: {meter: exports, amount: settled}}]
  - {name: all, path: '/*', upstream: app, limits: [{name: calls, by: api_key, unit: day, requests_per_unit: 1000, ledger: exports}]}
`

it('the gateway reserves before and commits what the answer says after', { timeout: SLOW_MS }, async () => {
  const postgres = await sharedPostgres()
  const database = postgres.url(await postgres.createDatabase())
  const ledger = await serve(database)
  await open(ledger, 40, 0, { refusal_status: 429 })
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    '/model/json': (response) => response.setHeader('Content-Type', 'application/json').end('{"used": 3}'),
    '/model/sse': (response) => response.setHeader('Content-Type', 'text/event-stream').end('data: {"used": 7}\n\n'),
    '/model/silent': (response) => response.end('hello'),
    '/model/gone': (response) => response.destroy(),
    '/gone': (response) => response.destroy(),
    '/hello': (response) => response.end('hello'),
  }
  const app = await startApp((request: IncomingMessage, response) => answers[request.url ?? '']?.(response))
  const { file } = routesFile(ROUTES(app))
  const gateway = await startGateway(['--routes', file], { DATABASE_URL: database, SLUICE_SECRET: SECRET })
  await until('the gateway has the records', async () => (await fetch(`${gateway.admin}/readyz`)).status === 200)
  const get = async (path: string, key = API_KEY) => {
    const response = await fetch(gateway.url + path, { headers: { 'x-api-key': key, accept: 'application/json' } })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const costs: [path: string, cost: number][] = [
    ['/model/json', 3],
    ['/model/sse', 7],
    ['/model/silent', 5],
    ['/model/gone', 0],
    ['/gone', 0],
    ['/hello', 1],
  ]
  let expected = 40
  for (const [path, cost] of costs) {
    const { status, headers } = await get(path)
    expect([path, status]).toEqual([path, path.endsWith('gone') ? 502 : 200])
    if (status === 200) expect(headers.get('sluice-ledger')).toContain('paid=')
    expected -= cost
    await until(`${path} is booked`, async () => {
      const { available, held } = (await ledger.admin(
        'GET',
        'ledger/balance?customer=acme&meter=exports',
      )) as unknown as {
        available: { allowance: number }
        held: number
      }
      return held === 0 && available.allowance === expected
    })
  }
  for (let i = 0; i < expected; i++) expect((await get('/hello')).status).toBe(200)
  const refused = await get('/hello')
  expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([429, 'LEDGER_SHORT'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('sluice-ledger')).toContain('ran-out="allowance"')
  expect((await get('/hello', 'sk_live_of_no_one_at_all')).status).toBe(402)
})

it('requests are refused with 503 while the database is unavailable, and paid again after', {
  timeout: SLOW_MS,
}, async () => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const ledger = await serve(postgres.url(await postgres.createDatabase()))
  await open(ledger)
  await check(ledger.node)
  await postgres.kill()
  const away = await check(ledger.node)
  expect([away.status, away.json.code, away.retry, away.field]).toEqual([
    503,
    'LEDGER_UNAVAILABLE',
    '1',
    '"exports";unavailable',
  ])
  await postgres.restart()
  await until('the ledger answers', async () => (await check(ledger.node)).status === 200)
  await until('what was refused is undone', async () => (await ledger.left()) === 13)
})

it('without a database, a rule with a meter refuses, and the log says why', { timeout: SLOW_MS }, async () => {
  const rules = new RuleDirectory({ 'paid.yaml': RULES })
  const node = await startWith({}, '--rules', rules.path)
  const { status, json } = await check(node)
  expect([status, json.code]).toEqual([503, 'LEDGER_UNAVAILABLE'])
  await node.printed('the service has no database (--database)')
})
