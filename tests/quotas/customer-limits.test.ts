import { expect, it } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet } from './quota-fleet.suite.ts'

interface Shown {
  readonly domain: string
  readonly rule_id: string
  readonly used: number
  readonly is_use_known: boolean
}

it('every node shows the limit that refuses a key, also one that requests never carried the key to', {
  timeout: SLOW_MS,
}, async () => {
  const server = await sharedPostgres()
  const fleet = new QuotaFleet({ DATABASE_URL: server.url(await server.createDatabase()) }, '--workers', '2')
  await fleet.firstToken(await fleet.start())
  const [first, second] = [fleet.nodes[0], await fleet.start()]
  expect((await fleet.ask(first, 'POST', 'customers?wait=all', { id: 'acme' })).status).toBe(201)
  expect((await fleet.ask(first, 'POST', 'customers/acme/keys?wait=all', { key: API_KEY })).status).toBe(201)
  const shownBy = async (node: typeof first): Promise<Shown[]> =>
    (await fleet.ask(node, 'GET', 'customers/acme/limits')).json.limits as Shown[]
  expect(await shownBy(first)).toMatchObject([{ rule_id: 'api_key', used: 0, is_use_known: false }])

  expect(await fleet.check(4, [second])).toBe('++--')
  for (const node of fleet.nodes) {
    await until('the node shows that the limit is used up', async () => {
      const [{ used, is_use_known }] = await shownBy(node)
      return is_use_known && used === 2
    })
  }
  expect(JSON.stringify(await shownBy(first))).not.toContain(API_KEY)

  // A reset by the node that cannot name the counter holds for what the other remembers of it.
  expect((await fleet.ask(first, 'POST', 'counters/reset', { customer_id: 'acme' })).status).toBe(200)
  for (const node of fleet.nodes) {
    await until('the node shows that nothing is used', async () => (await shownBy(node))[0].used === 0)
    await until('no one is near the limit', async () => {
      const { callers } = (await fleet.ask(node, 'GET', 'near-limits')).json as { callers?: unknown[] }
      return callers?.length === 0
    })
  }
})
