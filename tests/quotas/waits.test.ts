import { expect, it } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { API_KEY, QuotaFleet } from './quota-fleet.suite.ts'

const ALL = 'nodes=2, confirmed=2'
const RULES = `domain: extra
descriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 7, timeout_ms: 5000}}]
`

async function startTwo(): Promise<QuotaFleet> {
  const server = await sharedPostgres()
  const env = { DATABASE_URL: server.url(await server.createDatabase()) }
  // A worker that is stopped is to stay so.
  const fleet = new QuotaFleet(env, '--workers', '2', '--worker-timeout', '0s')
  await fleet.firstToken(await fleet.start())
  await fleet.start()
  return fleet
}

it('a change that waits is in force on every worker of every node when it is answered', {
  timeout: SLOW_MS,
}, async () => {
  const fleet = await startTwo()
  const [first, second] = fleet.nodes
  /** change is answered when all nodes have it; a busy machine is given the longest time. */
  const change = async (node: typeof first, method: string, path: string, body?: unknown) => {
    const answer = await fleet.ask(node, method, path, body, { prefer: 'wait=10', 'if-match': '*' })
    expect([answer.inForce, answer.status], answer.text).toEqual([ALL, expect.toSatisfy((status) => status < 300)])
    return answer
  }
  await change(first, 'POST', 'customers', { id: 'acme' })
  await change(second, 'POST', 'customers/acme/keys', { key: API_KEY })
  const limit = { requests_per_unit: 1_000_000, unit: 'day' }
  await change(first, 'POST', 'customers/acme/overrides', limit)
  expect(await fleet.check(6)).toBe('+'.repeat(12))
  const { json } = await change(second, 'POST', 'blocks', { customer_id: 'acme', status: 403 })
  expect(await fleet.check(6)).toBe('B'.repeat(12))
  await change(first, 'DELETE', `blocks/${json.id}`)
  expect(await fleet.check(6)).toBe('+'.repeat(12))
  await change(second, 'PUT', 'rules/active', { text: RULES })
  expect(await fleet.limitsOf('extra', 6)).toEqual(Array(12).fill(7))
  await change(first, 'PUT', 'rules/active', { text: `${RULES}# ${'long '.repeat(2_000)}`.replace('7', '8') })
  expect(await fleet.limitsOf('extra', 6)).toEqual(Array(12).fill(8))

  // What waits is the answer, not the change: it says which nodes have not confirmed.
  const plain = await fleet.ask(first, 'POST', 'customers', { id: 'beta' })
  expect([plain.status, plain.inForce]).toEqual([201, ''])
  const reset = await fleet.ask(first, 'POST', 'counters/reset?wait=all', { customer_id: 'acme' })
  expect([reset.status, reset.inForce]).toEqual([200, 'unknown'])
  const preview = await fleet.ask(first, 'POST', 'customers?dry_run=true&wait=all', { id: 'gamma' })
  expect([preview.status, preview.inForce]).toEqual([200, ''])

  const name = await nameOf(fleet, second)
  const missing = `nodes=2, confirmed=1, waiting_for=("${name}")`
  const stopped = await fleet.whileStopped(second.child.pid, () =>
    fleet.ask(first, 'POST', 'blocks', { customer_id: 'acme', status: 403 }, { prefer: 'wait=1' }),
  )
  expect([stopped.status, stopped.inForce]).toEqual([201, missing])
  expect(await fleet.check(6, [first])).toBe('B'.repeat(6))
  await change(first, 'POST', 'customers', { id: 'delta' })
  expect(await fleet.check(6)).toBe('B'.repeat(12))

  const [worker] = await workersOf(fleet, second)
  const partly = await fleet.whileStopped(worker, () =>
    fleet.ask(first, 'DELETE', `blocks/${stopped.json.id}`, undefined, { prefer: 'wait=1' }),
  )
  expect([partly.status, partly.inForce]).toEqual([204, missing])
  await change(first, 'POST', 'customers', { id: 'epsilon' })
  expect(await fleet.check(6)).toBe('+'.repeat(12))

  await fleet.stop(1)
  const alone = await fleet.ask(first, 'POST', 'customers?wait=all', { id: 'zeta' })
  expect(alone.inForce).toBe('nodes=1, confirmed=1')
})

interface Node {
  readonly name: string
  readonly is_here: boolean
  readonly workers: readonly { readonly pid: number }[]
}

async function ownOf(fleet: QuotaFleet, node: QuotaFleet['nodes'][number]): Promise<Node> {
  const { json } = await fleet.ask(node, 'GET', 'nodes')
  return (json.nodes as Node[]).find(({ is_here }) => is_here) as Node
}

const nameOf = async (fleet: QuotaFleet, node: QuotaFleet['nodes'][number]) => (await ownOf(fleet, node)).name

async function workersOf(fleet: QuotaFleet, node: QuotaFleet['nodes'][number]): Promise<number[]> {
  let pids: number[] = []
  await until('the workers are known', async () => {
    pids = (await ownOf(fleet, node)).workers.map(({ pid }) => pid)
    return pids.length === 2
  })
  return pids
}
