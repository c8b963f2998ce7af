import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { block, customer, key, ofCustomer } from '../../server/src/quotas/book/records.suite.ts'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import type { PostgresEndpoint } from '../servers/postgres.mjs'
import { startProxy } from '../servers/proxy.mjs'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet, SECRET } from './quota-fleet.suite.ts'

const BY = { id: 'test', name: 'test', address: undefined, reason: undefined }
/** So many that a worker takes a while to read them in. The block comes last. */
const CUSTOMERS = 2_000
const TOKEN = 'a-token-of-the-operator'

/** Writes many customers, one of whom is blocked. */
async function fill(url: string): Promise<void> {
  const quotas = await openQuotas({ url }, { secret: SECRET })
  const ids = Array.from({ length: CUSTOMERS }, (_, i) => `c${i}`)
  const blocked = key('k', 'c0', { hash: quotas.apiKeys.hash(API_KEY) })
  await quotas.store.changeAll(
    ids.map((id) => ({ table: 'customers' as const, id, record: customer(id) })),
    BY,
  )
  await quotas.store.changeAll([{ table: 'api_keys', id: 'k', record: blocked }], BY)
  await quotas.store.changeAll([{ table: 'blocks', id: 'b', record: block('b', ofCustomer('c0')) }], BY)
  await quotas.close()
}

let server: PostgresEndpoint
let name = ''
beforeAll(async () => {
  server = await sharedPostgres()
  name = await server.createDatabase()
  await fill(server.url(name))
}, SLOW_MS)

async function startBehindProxy(...args: string[]) {
  const proxy = await startProxy(server.port)
  onTestFinished(() => proxy.stop())
  const url = server.url(name).replace(`:${server.port}/`, `:${proxy.port}/`)
  const fleet = new QuotaFleet({ DATABASE_URL: url, SLUICE_ADMIN_TOKEN: TOKEN }, ...args)
  return { proxy, fleet }
}

/** What the probes of a node say: of the node, of one of its workers, and the log. */
async function healthOf({ admin, url }: { readonly admin: string; readonly url: string }): Promise<string[]> {
  const answers = await Promise.all(
    [`${admin}/readyz`, `${url}/readyz`, `${url}/healthcheck`].map((each) => fetch(each)),
  )
  return Promise.all(answers.map(async (answer) => `${answer.status} ${await answer.text()}`.trim()))
}

const WAITING = 'the records of the database are not in force yet'

it('a node is not ready before who is blocked is blocked on every worker', { timeout: SLOW_MS }, async () => {
  const { proxy, fleet } = await startBehindProxy('--workers', '2')
  await proxy.refuse()
  const node = await fleet.launch()
  await node.printed('the database is unavailable')
  expect(await healthOf(node)).toEqual([`503 not ready: ${WAITING}`, `503 not ready: ${WAITING}`, '500'])
  expect(await fleet.check(2)).not.toContain('B')
  await proxy.listen()
  await until('the node is ready', async () => (await fetch(`${node.admin}/readyz`)).status === 200)
  expect(await fleet.check(12)).toBe('B'.repeat(12))
  await node.printed('quotas are in force')
  expect((await node.printed('listening')).match(/quotas are in force/g)).toHaveLength(1)
})

it('a node whose database stays away is ready after a while, and says that it is degraded', {
  timeout: SLOW_MS,
}, async () => {
  const { proxy, fleet } = await startBehindProxy('--workers', '2', '--ready-within', '100ms')
  await proxy.refuse()
  const node = await fleet.start()
  await node.printed('records are not in force after 100 ms')
  expect(await healthOf(node)).toEqual([`200 degraded: ${WAITING}`, `200 degraded: ${WAITING}`, '200 OK'])
  const inForce = async () =>
    /^ratelimit_quotas_in_force (\d)$/m.exec(
      await (await fetch(`${node.admin}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text(),
    )?.[1]
  expect(await inForce()).toBe('0')
  await proxy.listen()
  await until('the records are in force', async () => (await healthOf(node))[0] === '200 ok')
  expect([await fleet.check(12), await inForce()]).toEqual(['B'.repeat(12), '1'])
})
