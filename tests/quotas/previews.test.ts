import { describe, expect, it, onTestFinished } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'
import { QuotaFleet } from './quota-fleet.suite.ts'

const HOUR = 3_600_000
const RULES = `
domain: shop
tiers: {pro: {rate_limit: {unit: day, requests_per_unit: 18, algorithm: fixed_window}}}
descriptors:
  - {key: customer, tiered: true, rate_limit: {unit: day, requests_per_unit: 10, algorithm: fixed_window, timeout_ms: 5000}}
  - {key: user, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 10, algorithm: fixed_window, timeout_ms: 5000}}
`
/** As many requests as each customer makes before a change, and again after it. */
const REQUESTS = 30
const LIMIT = 10

interface Range {
  readonly at_least: number
  readonly at_most: number
}

interface Preview {
  readonly affected_customers: number | null
  readonly traffic_unknown: string | null
  readonly traffic: readonly {
    readonly period: string
    readonly limits: readonly { rule_id: string; requests: number; refused: number; refused_after: Range | null }[]
  }[]
}

interface Change {
  readonly claim: string
  readonly method: string
  readonly path: (customer: string) => string
  readonly body: (customer: string) => unknown
  /** What the preview has to say of 30 requests, of which 20 were refused. */
  readonly after: Range
}

const exactly = (count: number): Range => ({ at_least: count, at_most: count })

const CHANGES: readonly Change[] = [
  {
    claim: 'a block',
    method: 'POST',
    path: () => 'blocks',
    body: (customer_id) => ({ customer_id, status: 403 }),
    after: exactly(REQUESTS),
  },
  {
    claim: 'a suspension',
    method: 'PATCH',
    path: (id) => `customers/${id}`,
    body: () => ({ status: 'suspended' }),
    after: exactly(REQUESTS),
  },
  {
    claim: 'a raise',
    method: 'POST',
    path: (id) => `customers/${id}/overrides`,
    body: () => ({ requests_per_unit: 15, unit: 'day' }),
    after: exactly(REQUESTS - 15),
  },
  {
    claim: 'another tier',
    method: 'PATCH',
    path: (id) => `customers/${id}`,
    body: () => ({ tier: 'pro' }),
    after: exactly(REQUESTS - 18),
  },
  {
    claim: 'a grant',
    method: 'POST',
    path: (id) => `customers/${id}/grants`,
    body: () => ({ amount: 4 }),
    after: exactly(REQUESTS - LIMIT - 4),
  },
  {
    claim: 'a raise by the minute',
    method: 'POST',
    path: (id) => `customers/${id}/overrides`,
    body: () => ({ requests_per_unit: 12, unit: 'minute' }),
    // Sums of an hour do not say in which minute requests came.
    after: { at_least: 0, at_most: REQUESTS - 12 },
  },
]

async function start() {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const name = await server.createDatabase()
  const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) })
  fleet.rules.write('shop.yaml', RULES)
  const node = await fleet.start()
  await fleet.firstToken(node)
  const hit = async (customer: string, key = 'customer'): Promise<number> => {
    const descriptors = [{ entries: [{ key, value: customer }] }]
    const response = await fetch(`${node.url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'shop', descriptors }),
    })
    await response.text()
    return response.status
  }
  const hits = async (customer: string, count: number, key?: string): Promise<number[]> => {
    const got: number[] = []
    for (let i = 0; i < count; i++) got.push(await hit(customer, key))
    return got
  }
  /** Makes a change, and waits until the node decides by it: the version of a record is the revision of its change. */
  const make = async (method: string, path: string, body: unknown): Promise<void> => {
    const made = await fleet.ask(node, method, path, body, { 'if-match': '*' })
    expect(made.status, made.text).toBeLessThan(300)
    await until('the change is in force', async () => {
      const { nodes } = (await fleet.ask(node, 'GET', 'nodes')).json as unknown as { nodes: { revision: number }[] }
      return nodes[0].revision >= Number(made.json.version)
    })
  }
  return { fleet, node, hits, make }
}

type Scene = Awaited<ReturnType<typeof start>>

const refusedOf = (statuses: readonly number[]): number => statuses.filter((status) => status !== 200).length

/** Does something again, for another customer, if an hour of the clock ended meanwhile: use is counted by the hour. */
async function inOneHour<T>(work: (round: number) => Promise<T>): Promise<T> {
  for (let round = 0; ; round++) {
    const hour = Math.floor(Date.now() / HOUR)
    const done = await work(round)
    if (Math.floor(Date.now() / HOUR) === hour) return done
  }
}

/** Asks until the use of all requests has been written: a node writes every second. */
async function previewed({ fleet, node }: Scene, { method, path, body }: Change, customer: string): Promise<Preview> {
  let preview: Preview | undefined
  await until('the preview knows of all requests', async () => {
    const address = `${path(customer)}?dry_run=true`
    const answer = await fleet.ask(node, method, address, body(customer), { 'if-match': '*' })
    expect(answer.status, answer.text).toBe(200)
    preview = answer.json as unknown as Preview
    return preview.traffic[0]?.limits[0]?.requests === REQUESTS
  })
  return preview as Preview
}

describe('a preview', { timeout: SLOW_MS }, () => {
  it('of a change to a customer says what then happens to the same requests', async () => {
    const scene = await start()
    for (const change of CHANGES) {
      const outcome = await inOneHour(async (round) => {
        const id = `${change.claim.replaceAll(' ', '-')}-${round}`
        await scene.make('POST', 'customers', { id })
        expect(refusedOf(await scene.hits(id, REQUESTS))).toBe(REQUESTS - LIMIT)
        const { traffic, affected_customers } = await previewed(scene, change, id)
        return { id, traffic, affected_customers }
      })
      const { id, traffic, affected_customers } = outcome
      expect([change.claim, affected_customers, traffic], change.claim).toMatchObject([
        change.claim,
        1,
        [
          {
            period: 'this_hour',
            limits: [{ rule_id: 'customer', requests: 30, refused: 20, refused_after: change.after }],
          },
        ],
      ])
      // Counters start from nothing, as they were when the first of the requests came.
      const reset = await scene.fleet.ask(scene.node, 'POST', 'counters/reset', { customer_id: id })
      expect(reset.status, reset.text).toBe(200)
      await scene.make(change.method, change.path(id), change.body(id))
      const refused = refusedOf(await scene.hits(id, REQUESTS))
      expect(refused, change.claim).toBeGreaterThanOrEqual(change.after.at_least)
      expect(refused, change.claim).toBeLessThanOrEqual(change.after.at_most)
    }
  })

  it('of a rule that is switched on says what it then refuses', async () => {
    const scene = await start()
    const { fleet, node } = scene
    expect(refusedOf(await scene.hits('ann', REQUESTS, 'user'))).toBe(0)
    const enforce = { rule: { domain: 'shop', id: 'user' }, mode: 'enforce' }
    const limits = [{ rule_id: 'user', requests: REQUESTS, refused: 0, refused_after: exactly(REQUESTS - LIMIT) }]
    // What a rule did is told once a second.
    await until('the preview knows of all requests', async () => {
      const { json } = await fleet.ask(node, 'PUT', 'rules/switches?dry_run=true', enforce)
      const preview = json as unknown as Preview
      if (preview.traffic[0]?.limits[0]?.requests !== REQUESTS) return false
      expect(preview).toMatchObject({ affected_customers: null, traffic: [{ period: 'last_hour', limits }] })
      return true
    })
    await scene.make('PUT', 'rules/switches', enforce)
    expect(refusedOf(await scene.hits('bob', REQUESTS, 'user'))).toBe(REQUESTS - LIMIT)
  })
})
