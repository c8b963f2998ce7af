import { describe, expect, it, onTestFinished } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet } from './quota-fleet.suite.ts'

const rulesOf = (limit: number): string => `domain: extra
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: ${limit}, algorithm: fixed_window, anchor: first_hit, timeout_ms: 5000}}
`

const allHave = (
  fleet: QuotaFleet,
  limit: number,
  domain = 'extra',
  entry?: { readonly key: string; readonly value: string },
) =>
  until(`every worker has a limit of ${limit}`, async () =>
    (await fleet.limitsOf(domain, 6, entry)).every((each) => each === limit),
  )

const LLM = `domain: llm
descriptors:
  - {key: api_key, secret: true, rate_limit: {unit: hour, requests_per_unit: 2, timeout_ms: 5000}}
`
const OF_KEY = { key: 'api_key', value: API_KEY }
const PATH = `quotas/${API_KEY}`

/**
 * Gives one rule of several a limit for one key: each answer says where it is in force, and every worker decides so.
 */
async function raiseOne(fleet: QuotaFleet): Promise<void> {
  const [first, second] = fleet.nodes
  const putRules = (text: string) => fleet.ask(first, 'PUT', 'rules/active', { text }, { 'if-match': '*' })
  expect((await putRules(LLM)).status).toBe(200)
  await allHave(fleet, 2, 'llm', OF_KEY)
  // The other node answers by a customer that it has just heard of.
  expect((await fleet.ask(first, 'POST', 'customers', { id: 'beta' })).status).toBe(201)
  const own = { requests_per_unit: 5, unit: 'hour', domain: 'llm' }
  expect((await fleet.ask(second, 'POST', 'customers/beta/overrides', own)).json).toMatchObject({
    in_force_on: [{ domain: 'llm', rule: 'api_key' }],
    warnings: ['beta has no API key yet: rules about api_key, x-api-key apply once it has one.'],
  })
  const put = (override: object, more: object = {}) =>
    fleet.ask(second, 'PUT', PATH, { overrides: [override], ...more })

  const wide = await put({ requests_per_unit: 50, unit: 'hour' })
  expect([wide.status, wide.json.code]).toEqual([409, 'OVERRIDE_SCOPE_NEEDED'])
  expect(wide.json.detail).toMatch(/2 rules: .*shop\/api_key \(2 per day → 50 per hour\)/)
  const lowers = await put({ requests_per_unit: 20, unit: 'day' }, { all: true })
  expect([lowers.status, lowers.json.code]).toEqual([409, 'OVERRIDE_LOWERS'])
  expect(lowers.json.detail).toContain('it lowers llm/api_key (2 per hour → 20 per day).')
  const unknown = await put({ requests_per_unit: 50, unit: 'hour', domain: 'lmm' })
  expect([unknown.status, unknown.json.code]).toEqual([422, 'OVERRIDE_SCOPE_UNKNOWN'])

  const one = { domain: 'llm', rule: 'api_key' }
  const raised = await put({ ...one, requests_per_unit: 50, unit: 'hour' })
  const [was, is] = [2, 50].map((requests_per_unit) => ({ requests_per_unit, unit: 'hour' }))
  expect([raised.status, raised.json]).toMatchObject([
    200,
    { in_force_on: [{ domain: 'llm', rule: 'api_key', before: was, after: is, effect: 'raised' }], warnings: [] },
  ])
  await allHave(fleet, 50, 'llm', OF_KEY)
  expect(await fleet.limitsOf('shop', 6, OF_KEY)).toEqual(Array(12).fill(2))
  // It takes the place of the one before, and is in force nowhere itself.
  const unused = await put({ ...one, requests_per_unit: 50, unit: 'hour', descriptor: 'path:/a' })
  expect(unused.json).toMatchObject({
    in_force_on: [{ domain: 'llm', rule: 'api_key', before: is, after: was }],
    warnings: [expect.stringMatching(/^No rule uses it: .* is at the descriptor "default", and not at "path:\/a"/)],
  })
  await allHave(fleet, 2, 'llm', OF_KEY)
  await put({ ...one, requests_per_unit: 50, unit: 'hour' })
  const { json: audit } = await fleet.ask(first, 'GET', 'audit?action=overrides.put')
  const [{ after }] = audit.items as { after: object }[]
  expect(after).toMatchObject({ domain: 'llm', rule: 'api_key', inForceOn: { total: 1, rules: [{ rule: 'api_key' }] } })

  expect((await putRules(rulesOf(3))).status).toBe(200)
  await allHave(fleet, 3)
  const keys = (await fleet.ask(first, 'GET', 'customers/acme/keys')).json.items as { id: string }[]
  const { json } = await fleet.ask(first, 'GET', `customers/acme/overrides?api_key_id=${keys[0].id}`)
  expect(json.items).toMatchObject([{ domain: 'llm', problem: 'no rules define the domain "llm"' }])
  expect((await putRules(LLM)).status).toBe(200)
  await allHave(fleet, 50, 'llm', OF_KEY)
  const gone = await fleet.ask(second, 'DELETE', PATH)
  expect([gone.status, gone.json]).toMatchObject([
    200,
    { in_force_on: [{ before: is, after: was, effect: 'lowered' }] },
  ])
  await allHave(fleet, 2, 'llm', OF_KEY)
}

async function startTwo(): Promise<QuotaFleet> {
  const server = await sharedPostgres()
  const name = await server.createDatabase()
  const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) }, '--workers', '2')
  await fleet.firstToken(await fleet.start())
  await fleet.start()
  return fleet
}

describe('rules of the table', () => {
  it('are in force on every worker of every node, refused with their line when wrong, and rolled back in one call', {
    timeout: SLOW_MS,
  }, async () => {
    const fleet = await startTwo()
    const [first, second] = fleet.nodes
    const any = { 'if-match': '*' }
    const put = await fleet.ask(first, 'PUT', 'rules/active', { text: rulesOf(3) }, any)
    expect(put.status, put.text).toBe(200)
    await allHave(fleet, 3)
    expect((await fleet.ask(second, 'PUT', 'rules/active', { text: rulesOf(7) }, any)).status).toBe(200)
    await allHave(fleet, 7)

    const wrong = rulesOf(7).replace('requests_per_unit', 'requests_per_units')
    const refused = await fleet.ask(first, 'PUT', 'rules/active', { text: wrong }, any)
    expect([refused.status, refused.json.problems]).toEqual([
      422,
      [expect.objectContaining({ code: 'RULE_UNKNOWN_KEY', line: 3 })],
    ])
    const doubled = await fleet.ask(first, 'PUT', 'rules/active', { text: rulesOf(1).replace('extra', 'shop') }, any)
    expect([doubled.status, doubled.text]).toEqual([422, expect.stringContaining('RULE_DUPLICATE_DOMAIN')])
    expect((await fleet.limitsOf('extra', 6)).every((each) => each === 7)).toBe(true)

    const { json } = await fleet.ask(first, 'GET', 'rules/versions')
    const versions = (json.items as { version: number; is_active: boolean }[]).map(({ version }) => version)
    const oldest = versions.at(-1)
    expect((await fleet.ask(second, 'POST', `rules/versions/${oldest}/activate`)).status).toBe(200)
    await allHave(fleet, 3)
  })
})

/** Holds `complete_until` to what it says: no use before it is missing, and it waits for a node that stands still. */
async function completeness(fleet: QuotaFleet, span: string): Promise<void> {
  const [first, second] = fleet.nodes
  const read = async () => {
    const { json } = await fleet.ask(first, 'GET', `usage?customer_id=acme&granularity=hour&${span}`)
    const rows = json.items as { allowed: number; refused: number }[]
    const sum = rows.reduce((all, { allowed, refused }) => all + allowed + refused, 0)
    return { sum, untilMs: Date.parse(String(json.complete_until)) }
  }
  let customers = 0
  /** By the clock of the nodes: that of a test may be ahead. */
  const nodeMs = async () => {
    const { json } = await fleet.ask(first, 'POST', 'customers', { id: `customer-${customers++}` })
    return Date.parse(String(json.created_at))
  }
  /** The first answer that has everything up to now. */
  const complete = async () => {
    const nowMs = await nodeMs()
    let found = await read()
    await until('the use is complete', async () => {
      found = await read()
      return found.untilMs > nowMs
    })
    return found.sum
  }
  const before = await complete()
  await fleet.check(10)
  expect(await complete()).toBe(before + 20)
  await fleet.whileStopped(second.child.pid, async () => {
    const stoppedAtMs = await nodeMs()
    await fleet.check(1, [first])
    await until('the use of the other node is written', async () => (await read()).sum === before + 21)
    expect((await read()).untilMs).toBeLessThan(stoppedAtMs)
  })
  expect(await complete()).toBe(before + 21)
}

describe('a customer', () => {
  it('has the whole budget again on every node after a reset, and then one limit raised, in force where the answer says', {
    timeout: SLOW_MS,
  }, async () => {
    const fleet = await startTwo()
    const [first, second] = fleet.nodes
    expect((await fleet.ask(first, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
    expect((await fleet.ask(first, 'POST', 'customers/acme/keys', { key: API_KEY })).status).toBe(201)
    await fleet.agrees()
    expect(await fleet.check(4)).toBe('++------')
    const reset = await fleet.ask(second, 'POST', 'counters/reset', { customer_id: 'acme' })
    expect(reset.status, reset.text).toBe(200)
    await until('there is budget again', async () => (await fleet.check(1, [first])) === '+')
    const day = 86_400_000
    const span = `from=${new Date(Date.now() - day).toISOString()}&to=${new Date(Date.now() + day).toISOString()}`
    await until('the use is in the database', async () => {
      const { json } = await fleet.ask(first, 'GET', `usage?customer_id=acme&granularity=hour&${span}`)
      const rows = json.items as { allowed: number; refused: number }[]
      const sum = (field: 'allowed' | 'refused') => rows.reduce((all, row) => all + row[field], 0)
      return sum('allowed') === 3 && sum('refused') >= 6
    })
    await completeness(fleet, span)
    const audit = await fleet.ask(first, 'GET', 'audit?action=counters.reset')
    expect((audit.json.items as unknown[]).length).toBe(1)
    await raiseOne(fleet)
  })
})

describe('a node whose database is unavailable when it starts', () => {
  it('decides by its files, answers its own token, and recovers', { timeout: SLOW_MS }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const name = await server.createDatabase()
    const token = 'a-token-of-the-operator'
    const env = { DATABASE_URL: server.url(name), SLUICE_ADMIN_TOKEN: token }
    const fleet = new QuotaFleet(env, '--ready-within', '100ms')
    fleet.token = token
    await server.kill()
    const node = await fleet.start()
    await node.printed('the database is unavailable')
    expect(await fleet.check(3)).toBe('++-')
    const refused = await fleet.ask(node, 'GET', 'customers')
    expect([refused.status, refused.json.code]).toEqual([503, 'DATABASE_UNAVAILABLE'])
    expect((await fleet.ask(node, 'GET', 'rules')).status).toBe(200)
    await server.restart()
    await until('it has recovered', async () => (await fleet.ask(node, 'GET', 'customers')).status === 200)
    expect((await fleet.ask(node, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
    expect(node.errors()).not.toContain(server.address.password)
  })
})
