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

const allHave = (fleet: QuotaFleet, limit: number) =>
  until(`every worker has a limit of ${limit}`, async () =>
    (await fleet.limitsOf('extra', 6)).every((each) => each === limit),
  )

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

describe('a customer', () => {
  it('has the whole budget again on every node after a reset, and the use is kept', { timeout: SLOW_MS }, async () => {
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
    const audit = await fleet.ask(first, 'GET', 'audit?action=counters.reset')
    expect((audit.json.items as unknown[]).length).toBe(1)
  })
})

describe('a node whose database is away when it starts', () => {
  it('decides by its files, answers its own token, and heals', { timeout: SLOW_MS }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const name = await server.createDatabase()
    const token = 'a-token-of-the-operator'
    const env = { DATABASE_URL: server.url(name), SLUICE_ADMIN_TOKEN: token }
    const fleet = new QuotaFleet(env, '--ready-within', '100ms')
    fleet.token = token
    await server.kill()
    const node = await fleet.start()
    await node.printed('the database is away')
    expect(await fleet.check(3)).toBe('++-')
    const refused = await fleet.ask(node, 'GET', 'customers')
    expect([refused.status, refused.json.code]).toEqual([503, 'DATABASE_UNAVAILABLE'])
    expect((await fleet.ask(node, 'GET', 'rules')).status).toBe(200)
    await server.restart()
    await until('it has healed', async () => (await fleet.ask(node, 'GET', 'customers')).status === 200)
    expect((await fleet.ask(node, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
    expect(node.errors()).not.toContain(server.address.password)
  })
})
