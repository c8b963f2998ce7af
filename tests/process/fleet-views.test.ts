import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { redisCounterStore } from '../../server/src/app/admin/redis-counter-store.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { connected, type Started, start, startWith } from '../cli/sluice-process.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { startQuotas } from './quota-service.suite.ts'

const RULES = `domain: api
descriptors:
  - key: api_key
    secret: true
    rate_limit: { unit: day, requests_per_unit: 4, algorithm: fixed_window, anchor: first_hit, timeout_ms: 5000 }
  - key: user
    rate_limit: { unit: day, requests_per_unit: 40, algorithm: fixed_window, anchor: first_hit, consistency: leased, timeout_ms: 5000 }
`
const SECRET = 'sk_live_planted_0123456789abcdef'
const TOKEN = 'a-token-of-this-test-0123456789'

const descriptors = (key: string, value: string) => ({ domain: 'api', descriptors: [{ entries: [{ key, value }] }] })

/** Asks for a decision, on a connection of its own so that both workers get some. */
async function hit(url: string, key: string, value: string): Promise<number> {
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const body = JSON.stringify(descriptors(key, value))
  return (await fetch(`${url}/v1/check`, { method: 'POST', headers, body })).status
}

/** hits is hit several times: `+` was admitted, `-` refused. */
async function hits(url: string, key: string, value: string, count: number): Promise<string> {
  let said = ''
  for (let i = 0; i < count; i++) said += (await hit(url, key, value)) === 200 ? '+' : '-'
  return said
}

async function api(admin: string, path: string, body?: object, token: string | undefined = TOKEN) {
  const headers = { ...(token && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(`${admin}/admin/v1/${path}`, { headers, ...sent })
  const text = await answer.text()
  return { status: answer.status, text, json: JSON.parse(text) }
}

/** Returns what starts nodes with two workers each on one Redis, and resolves when they are connected to it. */
async function nodeStarter(): Promise<(...more: string[]) => Promise<Started>> {
  const rules = new RuleDirectory({ 'api.yaml': RULES })
  const { url: redis } = await sharedRedis()
  const args = ['--workers', '2', '--health-needs-redis', '--rules', rules.path, '--key-prefix', randomUUID()]
  const env = { REDIS_URL: redis, SLUICE_SECRET: 'a secret of this test', SLUICE_ADMIN_TOKEN: TOKEN }
  return async (...more) => {
    const node = await startWith(env, ...args, ...more)
    await connected(node)
    return node
  }
}

/** Starts two nodes. */
async function twoNodes(): Promise<readonly Started[]> {
  const startNode = await nodeStarter()
  return Promise.all([startNode(), startNode()])
}

describe('the views of two nodes with two workers', () => {
  it.each([
    ['api_key', SECRET, 4],
    ['user', 'bob', 40],
  ])('gives %s the whole budget again on every worker of every node', async (key, value, budget) => {
    const [one, two] = await twoNodes()
    const target = descriptors(key, value)
    await until('it is used up', async () => (await hits(one.url, key, value, budget)) === '-'.repeat(budget))
    // Each worker of each node remembers a refusal of its own.
    expect(await hits(two.url, key, value, 6)).toBe('------')
    const looked = await api(one.admin, 'counters/look', target)
    expect(looked.json.counters).toMatchObject([{ rule_id: key, used: budget, remaining: 0, would_refuse: true }])
    expect(looked.text).not.toContain(SECRET)
    expect(await api(one.admin, 'counters/reset', target)).toMatchObject({ status: 200, json: { reset: 1 } })
    await until('the other node admits', async () => (await hit(two.url, key, value)) === 200)
    await until('so does the one that was asked', async () => (await hit(one.url, key, value)) === 200)
    const after = await api(two.admin, 'counters/look', target)
    expect(after.json.counters[0].used).toBeLessThan(budget)
  })

  it('shows figures that move under load, both nodes, and which one is unavailable', async () => {
    const [one, two] = await twoNodes()
    const listed = await until('both nodes are known', async () => {
      const { nodes } = (await api(one.admin, 'nodes')).json
      return nodes.length === 2 && nodes.every(({ circuit }: { circuit: string | null }) => circuit !== null) && nodes
    })
    expect(listed).toMatchObject([
      { is_here: true, is_away: false, store: 'up', workers: [{ id: '1', state: 'ready' }, { id: '2' }] },
      { is_here: false, is_away: false, store: 'up', workers: [{ id: '1' }, { id: '2' }] },
    ])
    for (const node of listed) {
      expect(node).toMatchObject({ circuit: 'closed', decisions_per_second: expect.any(Number) })
      expect(node.memory_bytes).toBeGreaterThan(3 * 20_000_000)
      expect(node.event_loop_delay_ms).toBeGreaterThanOrEqual(0)
      for (const worker of node.workers) expect(worker.pid).toBeGreaterThan(1)
    }
    expect(listed.map(({ admin_address }: { admin_address: string }) => admin_address.split(':').pop())).toEqual(
      [one, two].map(({ admin }) => new URL(admin).port),
    )
    const stream = await fetch(`${one.admin}/admin/v1/live`, { headers: { authorization: `Bearer ${TOKEN}` } })
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    await hits(one.url, 'api_key', SECRET, 6)
    await hits(two.url, 'api_key', SECRET, 3)
    let text = ''
    let seen = { allowed: 0, refused: 0 }
    await until('the stream has shown all of it', async () => {
      text += new TextDecoder().decode((await reader.read()).value)
      const frames = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
      seen = frames.reduce(
        (sum, { allowed, refused }) => {
          return { allowed: sum.allowed + allowed, refused: sum.refused + refused }
        },
        { allowed: 0, refused: 0 },
      )
      return seen.allowed >= 4 && seen.refused >= 5
    })
    await reader.cancel()
    const { refusals } = await until('both nodes report refusals', async () => {
      const { json } = await api(one.admin, 'refusals')
      return json.nodes === 2 && new Set(json.refusals.map(({ node }: { node: string }) => node)).size === 2 && json
    })
    const alone = (await api(one.admin, 'refusals?scope=node')).json
    expect([alone.nodes, alone.nodes_left_out]).toEqual([1, 0])
    expect(new Set(alone.refusals.map(({ node }: { node: string }) => node))).toEqual(new Set([listed[0].id]))
    const activity = await until('both nodes report what rules did', async () => {
      const { json } = await api(two.admin, 'rules/activity')
      return json.nodes === 2 && json.rules[0]?.last_hour.refused >= 5 && json
    })
    expect(activity).toMatchObject({
      rules_left_out: 0,
      rules: [
        { domain: 'api', id: 'api_key', is_shadow: false, last_hour: { allowed: 4, refused: 5, shadow_refused: 0 } },
      ],
    })
    const top = (await api(one.admin, 'top?by=refused&period=24h')).json
    expect(top.items[0]).toMatchObject({ domain: 'api', rule: 'api_key', customer_id: null, is_shadow: false })
    expect(JSON.stringify([top, activity])).not.toContain(SECRET)
    expect(refusals[0]).toMatchObject({ domain: 'api', rule: 'api_key', reason: 'over_limit' })
    expect(JSON.stringify(refusals)).not.toContain(SECRET)
    const { callers } = (await api(two.admin, 'near-limits')).json
    expect(callers).toMatchObject([{ rule: 'api_key', limit: 4, remaining: 0 }])
    two.child.kill('SIGKILL')
    await until('the other is unavailable', async () => {
      const { nodes } = (await api(one.admin, 'nodes')).json
      return nodes[1]?.is_away === true
    })
    expect((await api(one.admin, 'refusals')).json).toMatchObject({ nodes: 1, nodes_left_out: 1 })
    await until('so say the figures', async () => {
      const frame = (await api(one.admin, 'live/history')).json.frames.at(-1)
      return frame.nodes === 2 && frame.nodes_away === 1
    })
  })

  it('knows a node by its name: one that was killed and started again is one node', async () => {
    const startNode = await nodeStarter()
    const [one, first] = await Promise.all([startNode('--node-name', 'one'), startNode('--node-name', 'two')])
    const named = async (): Promise<string> => {
      const { nodes } = (await api(one.admin, 'nodes')).json
      return nodes
        .map(({ name, is_away }: { name: string; is_away: boolean }) => (is_away ? `${name} away` : name))
        .join()
    }
    await until('both are known', async () => (await named()) === 'one,two')
    first.child.kill('SIGKILL')
    await until('one is unavailable', async () => (await named()) === 'one,two away')
    const away = (await api(one.admin, 'nodes')).json.nodes[1]
    expect(Date.parse(away.listed_until) - Date.parse(away.seen_at)).toBe(600_000)
    const second = await startNode('--node-name', 'two')
    await until('it is there again', async () => (await named()) === 'one,two')
    const { frames } = (await api(one.admin, 'live/history')).json
    await until('so say the figures', async () => {
      const frame = (await api(one.admin, 'live/history')).json.frames.at(-1)
      return frame.nodes === 2 && frame.nodes_away === 0
    })
    // No figure has counted it as two.
    expect(Math.max(...frames.map(({ nodes }: { nodes: number }) => nodes))).toBe(2)
    expect((await api(second.admin, 'nodes')).json.nodes.map(({ name }: { name: string }) => name)).toEqual([
      'two',
      'one',
    ])
  })

  it('does not report a stopped node as missing', async () => {
    const [one, two] = await twoNodes()
    const known = async () => (await api(one.admin, 'nodes')).json.nodes.length
    await until('both are known', async () => (await known()) === 2)
    two.child.kill('SIGTERM')
    await two.output
    await until('it is gone', async () => (await known()) === 1)
  })
})

describe('the views of a service in memory', () => {
  it('works without Redis and without a database', async () => {
    const rules = new RuleDirectory({ 'api.yaml': RULES })
    const { url, admin } = await startWith({ SLUICE_ADMIN_TOKEN: TOKEN }, '--rules', rules.path)
    expect(await hits(url, 'api_key', SECRET, 5)).toBe('++++-')
    const explained = await api(admin, 'explain', descriptors('api_key', SECRET))
    expect(explained.json).toMatchObject({
      admitted: false,
      blocked: null,
      counters: [{ used: 4, would_refuse: true }],
    })
    expect(explained.json.counters[0].what_would_admit).toMatch(/^Wait /)
    expect((await api(admin, 'counters/reset', descriptors('api_key', SECRET))).json).toEqual({ reset: 1 })
    expect(await hits(url, 'api_key', SECRET, 5)).toBe('++++-')
    expect((await api(admin, 'nodes')).json.nodes).toMatchObject([{ is_here: true, store: 'memory' }])
    const frame = await until('there is a frame', async () => (await api(admin, 'live/history')).json.frames.at(-1))
    expect(frame).toMatchObject({ nodes: 1, store: 'memory', database: 'none' })
    expect((await api(admin, 'rules')).status).toBe(200)
    expect((await api(admin, 'nodes')).json.nodes[0]).toMatchObject({ circuit: null, workers: [{ id: '1' }] })
    expect((await api(admin, 'near-limits')).json).toMatchObject({ nodes: 1, nodes_left_out: 0 })
    expect((await api(admin, 'top')).json.items[0]).toMatchObject({ rule: 'api_key', count: 2 })
    expect((await api(admin, 'usage/by-tier')).json.code).toBe('QUOTAS_UNAVAILABLE')
    expect((await api(admin, 'changes')).json.changes).toEqual([])
    rules.write('api.yaml', RULES.replace('40', '41'))
    const [change] = await until('the change of a rule file is shown', async () => {
      const { changes } = (await api(admin, 'changes')).json
      return changes.length === 1 && changes
    })
    expect(change).toMatchObject({ kind: 'rule_files', actor: 'rule files', text: expect.stringMatching(/api\.yaml$/) })
  })

  it('is there without any setting', async () => {
    const { admin } = await start()
    const answers = await Promise.all(
      ['nodes', 'rules', 'live/history', 'refusals', 'near-limits'].map((path) => api(admin, path, undefined, '')),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })
})

describe('two workers with quotas', () => {
  it('forget a customer that another node was asked to reset, and show owners of keys what they used', async () => {
    const { ask, http, redis } = await startQuotas('--customer-usage')
    expect(await ask(0, 6)).toBe('++----')
    const usage = await fetch(`http://${http}/v1/usage`, { headers: { 'x-api-key': 'secret-0' } })
    expect(await usage.json()).toMatchObject({ usage: { default: { used: 2, limit: 2, remaining: 0 } } })
    const stranger = await fetch(`http://${http}/v1/usage`, { headers: { 'x-api-key': 'secret-of-nobody' } })
    expect(stranger.status).toBe(401)
    const elsewhere = redisCounterStore(redis.url, {
      keyPrefix: redis.keyPrefix,
      keys: undefined,
      redisTls: {},
      redisSentinelAuth: undefined,
      secret: 's',
    } as unknown as Parameters<typeof redisCounterStore>[1])
    onTestFinished(() => elsewhere.close())
    await elsewhere.redis?.()
    elsewhere.tellCallers('customer c0')
    await until('the budget is whole again', async () => (await ask(0, 1)) === '+')
  })
})
