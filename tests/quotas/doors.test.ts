import { expect, it, onTestFinished } from 'vitest'
import { startApp, startGateway } from '../../server/src/app/gateway/gateway.suite.ts'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { grpcClient, isAllowed, limiterCheck, rlsRequest, shouldRateLimit } from '../process/grpc-load.suite.ts'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet, SECRET } from './quota-fleet.suite.ts'

/** Nothing here says `tiered`, and there are no tiers. */
const RULES = `
domain: plain
descriptors:
  - {key: api_key, secret: true, rate_limit: {unit: day, requests_per_unit: 1, timeout_ms: 5000}}
`

const ROUTES = (app: string, dir: string) => {
  const routes = new RuleDirectory({
    'routes.yaml': `
upstreams: {app: ${app}}
identity: {api_key: true}
routes: [{name: all, path: '/*', upstream: app, domain: plain, descriptors: [[api_key]]}]
`,
  })
  return ['--routes', `${routes.path}/routes.yaml`, '--rules', dir]
}

it('an override of a key under a plain rule is in force at every door', { timeout: SLOW_MS }, async () => {
  const postgres = await sharedPostgres()
  const database = postgres.url(await postgres.createDatabase())
  const fleet = new QuotaFleet({ DATABASE_URL: database }, '--workers', '2')
  fleet.rules.write('shop.yaml', RULES)
  const node = await fleet.start()
  await fleet.firstToken(node)
  const app = await startApp((_, response) => response.end('hello'))
  const [, redisUrl, , keyPrefix] = await fleet.redis()
  const args = ['--redis', redisUrl, '--key-prefix', keyPrefix]
  const gateway = await startGateway([...ROUTES(app, fleet.rules.path), ...args], {
    DATABASE_URL: database,
    SLUICE_SECRET: SECRET,
    REDIS_URL: (await sharedRedis()).url,
  })
  const client = grpcClient(node.grpc)
  onTestFinished(() => client.close())

  const body = JSON.stringify({
    domain: 'plain',
    descriptors: [{ entries: [{ key: 'api_key', value: API_KEY }] }],
  })
  const post = async (path: string): Promise<boolean> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(node.url + path, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return response.status === 200
  }
  /** Each says whether one more request of the key is admitted. */
  const doors: Record<string, () => Promise<boolean>> = {
    '/v1/check': () => post('/v1/check'),
    '/json': () => post('/json'),
    Envoy: async () => (await shouldRateLimit(client, rlsRequest('plain', API_KEY, 'api_key')))[1] === 1,
    'sluice.v1.Limiter': async () => isAllowed(await limiterCheck(client, 'plain', API_KEY, 'api_key')),
    gateway: async () => {
      const response = await fetch(`${gateway.url}/`, { headers: { 'x-api-key': API_KEY } })
      await response.arrayBuffer()
      return response.status === 200
    },
  }
  const admitted = async () => {
    const found: string[] = []
    for (const [name, ask] of Object.entries(doors)) if (await ask()) found.push(name)
    return found
  }
  expect(await admitted()).toEqual(['/v1/check'])
  const put = await fleet.ask(node, 'PUT', `quotas/${API_KEY}?wait=all`, {
    overrides: [{ requests_per_unit: 1_000_000, unit: 'day' }],
  })
  expect([put.status, put.json]).toMatchObject([
    200,
    { in_force_on: [{ domain: 'plain', rule: 'api_key', before: { requests_per_unit: 1 }, effect: 'raised' }] },
  ])
  await until('the override is in force at every door', async () => (await admitted()).length === 5)
})
