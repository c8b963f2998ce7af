import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { block, customer, key, ofCustomer } from '../../server/src/quotas/book/records.suite.ts'
import type { QuotaChange, QuotaSnapshot, QuotaTable } from '../../server/src/quotas/model.ts'
import { hashApiKey } from '../../server/src/quotas/tables/api-key-hash.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const MAIN = fileURLToPath(new URL('./quota-service.mjs', import.meta.url))
const hash = (key: string): string => hashApiKey('a secret of this test', key)
const RULES = `
domain: api
tiers: {free: {rate_limit: {name: free, unit: day, requests_per_unit: 2, algorithm: fixed_window, anchor: first_hit, timeout_ms: 5000, consistency: leased}}}
descriptors:
  - {key: api_key, tiered: true, rate_limit: {unit: day, requests_per_unit: 1, timeout_ms: 5000}}
`

const SNAPSHOT: QuotaSnapshot = {
  customers: Array.from({ length: 3_000 }, (_, i) => customer(`c${i}`, { tier: 'free' })),
  api_keys: Array.from({ length: 3_000 }, (_, i) => key(`k${i}`, `c${i}`, { hash: hash(`secret-${i}`) })),
  overrides: [],
  grants: [],
  blocks: [block('b0', ofCustomer('c2999'))],
  tiers: [],
  switches: [],
  meters: [],
  revision: 1,
}

/** Runs the service with two workers, and delivers 3,000 customers before it is ready. */
export async function startQuotas(...more: string[]) {
  const { url } = await sharedRedis()
  const rules = new RuleDirectory({ 'api.yaml': RULES })
  const ports = ['--http-port', '0', '--grpc-port', '0', '--admin-port', '0', '--host', '127.0.0.1']
  const prefix = `quotas-${randomBytes(6).toString('hex')}:`
  const args = [
    '--workers',
    '2',
    '--rules',
    rules.path,
    '--redis',
    url,
    '--key-prefix',
    prefix,
    '--secret',
    's',
    '--health-needs-redis',
    ...ports,
    ...more,
  ]
  const own = fork(MAIN, args, { serialization: 'advanced', execArgv: [] })
  onTestFinished(async () => {
    if (!own.connected) return
    const exited = once(own, 'exit')
    own.send({ stop: true })
    await exited
  })
  const [first] = (await once(own, 'message')) as [{ isWaiting: boolean }]
  expect(first.isWaiting).toBe(true)
  own.send({ load: SNAPSHOT })
  const [{ addresses }] = (await once(own, 'message')) as [{ addresses: { http: string; admin: string } }]
  // Before it is connected, a worker counts by itself.
  await until(
    'both workers are connected to Redis',
    async () => (await fetch(`http://${addresses.admin}/readyz`)).status === 200,
  )
  let revision = 1
  const change = (table: QuotaTable, id: string, record: unknown): void => {
    own.send({ apply: [{ table, id, record, revision: ++revision } as QuotaChange] })
  }
  /** Makes requests on connections of their own, so that both workers get some. */
  const ask = async (id: number, count: number): Promise<string> => {
    let text = ''
    for (let i = 0; i < count; i++) {
      const descriptors = [{ entries: [{ key: 'api_key', value: `secret-${id}` }] }]
      const headers = { connection: 'close', 'content-type': 'application/json' }
      const body = JSON.stringify({ domain: 'api', descriptors })
      const response = await fetch(`http://${addresses.http}/v1/check`, { method: 'POST', body, headers })
      text += response.status === 200 ? '+' : response.status === 403 ? 'B' : '-'
    }
    return text
  }
  return { change, ask, http: addresses.http, redis: { url, keyPrefix: prefix } }
}
