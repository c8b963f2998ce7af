import { fork, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openQuotas } from '../../server/dist/quotas/open/open-quotas.js'
import { startPostgres } from '../../tests/servers/postgres.mjs'
import { startRedis } from '../../tests/servers/redis.mjs'
import { until } from '../../tests/servers/until.mjs'
import { keyOf, snapshotOf } from './records.mjs'

// Two nodes with two workers each, a PostgreSQL and a Redis: how long they take to start with many customers, what they hold, and
// how long after its answer a change is in force on every worker of every node: of a record and of the rules, while both nodes are
// idle and while they are asked as much as they can answer.

const TOKEN = 'bench-token-of-the-admin-api'
const NODES = 2
const WORKERS = 2
const FIRST = { domain: 'api', key: 'api_key', value: keyOf(1) }
const MANY_MS = 120_000
const BATCH = 2_000
/** So many connections in a row have to decide by a change: they are spread evenly over workers. */
const LOOKS = 8 * WORKERS
const RULES = `domain: api
tiers: { pro: { rate_limit: { unit: day, requests_per_unit: 2000000 } } }
descriptors:
  - key: api_key
    secret: true
    tiered: true
    rate_limit: { unit: day, requests_per_unit: 1000000 }
`

const LOAD = fileURLToPath(new URL('load.mjs', import.meta.url))

/** measureFleet measures it with so many customers, and so many changes of each kind. */
export async function measureFleet(customers, changes) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const postgres = await startPostgres()
  const redis = await startRedis()
  const nodes = []
  let load
  try {
    writeFileSync(join(dir, 'rules.yaml'), RULES)
    const env = {
      DATABASE_URL: postgres.url(),
      REDIS_URL: redis.url,
      SLUICE_SECRET: 'a secret of the bench',
      SLUICE_ADMIN_TOKEN: TOKEN,
    }
    await fill(env, customers)
    for (let i = 0; i < NODES; i++) nodes.push(await startNode(join(dir, 'rules.yaml'), env))
    const memoryMb = nodes.flatMap(memoryOf)
    const idle = await changeAll(nodes, changes)
    load = fork(
      LOAD,
      nodes.map(({ http }) => http),
    )
    let answered = 0
    load.on('message', (count) => (answered = count))
    await until('requests come', () => answered > 0)
    const [before, startedAt] = [answered, performance.now()]
    const busy = await changeAll(nodes, changes)
    const perSecond = ((answered - before) * 1_000) / (performance.now() - startedAt)
    return { startMs: nodes.map(({ startMs }) => startMs), memoryMb, idle, busy, perSecond }
  } finally {
    load?.kill('SIGKILL')
    for (const { child } of nodes) child.kill('SIGKILL')
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(dir, { recursive: true, force: true })
  }
}

/** fill writes all records, as the admin API would. */
async function fill({ DATABASE_URL, SLUICE_SECRET }, customers) {
  const quotas = await openQuotas({ url: DATABASE_URL }, { secret: SLUICE_SECRET })
  const records = snapshotOf(customers, (key) => quotas.apiKeys.hash(key))
  const by = { id: 'bench', name: 'bench', address: undefined, reason: undefined }
  for (const table of ['customers', 'api_keys', 'overrides']) {
    for (let i = 0; i < records[table].length; i += BATCH) {
      const batch = records[table].slice(i, i + BATCH).map((record) => ({ table, id: record.id, record }))
      await quotas.store.changeAll(batch, by)
    }
  }
  await quotas.close()
}

/** startNode starts a node, and resolves when it decides by what is in the database. */
async function startNode(rules, env) {
  const startedAt = performance.now()
  const args = [
    'serve',
    '--rules',
    rules,
    '--workers',
    String(WORKERS),
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--admin-port',
    '0',
  ]
  const child = spawn(process.execPath, ['server/bin/sluice.mjs', ...args], {
    env: { ...process.env, ...env, LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  const find = (name) => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1]
  await until('a node serves', () => find('http') !== undefined && find('admin') !== undefined, MANY_MS)
  const node = { child, http: find('http'), admin: find('admin'), startMs: 0 }
  // The last customer's override is an odd one: it is of the customer, and for the rule itself.
  await until('it knows its customers', async () => (await limitOf(node, FIRST)) === 1_000_001, MANY_MS)
  return { ...node, startMs: performance.now() - startedAt }
}

/** limitOf asks for a limit, on a separate connection. */
async function limitOf({ http }, { domain, key, value }) {
  const response = await fetch(`http://${http}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ domain, descriptors: [{ entries: [{ key, value }] }], cost: 0 }),
  })
  return (await response.json()).verdicts[0]?.limit
}

/** How many rules a text has that is put: few are loaded in a process, many in a thread, and sent to workers in parts. */
const EDITS = { 'a few rules': 10, '1,000 rules': 1_000, '10,000 rules': 10_000 }

/** changeAll returns, for each kind of change, how long each took. */
async function changeAll(nodes, changes) {
  const all = { 'an override': [] }
  for (let i = 0; i < changes; i++) all['an override'].push(await changeOne(nodes, nextLimit++))
  for (const [name, count] of Object.entries(EDITS)) {
    all[name] = []
    for (let i = 0; i < changes; i++) all[name].push(await editRules(nodes, count, nextLimit++))
  }
  return all
}
let nextLimit = 5_000_000

/** editRules puts other rules in force through the first node, and returns how long after the answer the last worker decides by them. */
async function editRules(nodes, count, limit) {
  const others = Array.from({ length: count - 1 }, (_, i) => ruleOf(`other-${i}`, 10))
  const text = ['domain: edited', 'descriptors:', ruleOf('edited', limit), ...others].join('\n')
  const response = await fetch(`http://${nodes[0].admin}/admin/v1/rules/active`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}`, 'if-match': '*' },
    body: JSON.stringify({ text }),
  })
  if (response.status !== 200) throw new Error(`the edit was answered ${response.status}: ${await response.text()}`)
  const answeredAt = performance.now()
  const edited = { domain: 'edited', key: 'user', value: 'edited' }
  await Promise.all(nodes.map((node) => allDecideBy(node, limit, edited)))
  return performance.now() - answeredAt
}

const ruleOf = (value, limit) =>
  `  - {key: user, value: ${value}, rate_limit: {unit: day, requests_per_unit: ${limit}}}`

/** changeOne raises a limit through the first node, and returns how long after the answer the last worker decides by it. */
async function changeOne(nodes, limit) {
  const response = await fetch(`http://${nodes[0].admin}/admin/v1/customers/customer-1/overrides`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({
      requests_per_unit: limit,
      unit: 'day',
      effective_at: new Date().toISOString(),
    }),
  })
  if (response.status !== 201) throw new Error(`the change was answered ${response.status}: ${await response.text()}`)
  const answeredAt = performance.now()
  await Promise.all(nodes.map((node) => allDecideBy(node, limit, FIRST)))
  return performance.now() - answeredAt
}

async function allDecideBy(node, limit, entry) {
  for (let looks = 0; looks < LOOKS; await turn()) looks = (await limitOf(node, entry)) === limit ? looks + 1 : 0
}

/** memoryOf is what each process of a node holds, the primary first. */
function memoryOf({ child }) {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
  return [child.pid, ...children].map((pid) => {
    const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kb) / 1024)
  })
}
