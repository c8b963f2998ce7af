import { readdirSync, readFileSync } from 'node:fs'
import { Ledger } from '../server/dist/ledger/ledger.js'
import { verifyLedger } from '../server/dist/ledger/verify-ledger.js'
import { openQuotas } from '../server/dist/quotas/open/open-quotas.js'
import { startPostgres } from '../tests/servers/postgres.mjs'
import { PlainLedger } from './ledger/plain.mjs'
import { count, header, median, ratioLine, table } from './report.mjs'

// npm run bench -- ledger: reservations that are committed, on one account and on a thousand, with a PostgreSQL on
// the same cores that waits for its disk; and the same with a transaction for each request.

const ROUND_MS = 3_000
const ROUNDS = 3
const BALANCE = 1_000_000_000_000
const OWNER = { id: 'bench', name: 'bench', address: undefined, reason: undefined }
const GOALS = { 1: 5_000, 1000: 20_000 }

const postgres = await startPostgres(['fsync=on', 'full_page_writes=on', 'shared_buffers=256MB', 'max_wal_size=2GB'])
const url = postgres.url(await postgres.createDatabase())
const quotas = await openQuotas({ url })
const ledger = new Ledger(quotas.db)
const plain = new PlainLedger(url, 8)

async function prepare() {
  const meter = { id: 'tokens', unit: 'tokens', period: 'month', allowance: BALANCE, allowances: {} }
  const carry = { carryMost: 0, carryPeriods: 1, graceSeconds: 0, overdraft: 0 }
  const terms = { ...carry, holdSeconds: 300, refusalStatus: 402, whenUnavailable: 'closed' }
  await quotas.store.put('meters', { ...meter, ...terms, version: 0, createdAtMs: 0, updatedAtMs: 0 }, OWNER)
  const changes = Array.from({ length: 1_000 }, (_, n) => {
    const id = `c${n}`
    const own = { name: id, tier: undefined, status: 'active', timeZone: 'UTC', periodAnchor: undefined, metadata: {} }
    return { table: 'customers', id, record: { id, ...own, version: 0, createdAtMs: 0, updatedAtMs: 0 } }
  })
  await quotas.store.changeAll(changes, OWNER)
  await Promise.all(changes.map(({ id }) => ledger.ask(id, 'tokens', { kind: 'look' })))
  await plain.prepare(1_000, BALANCE)
}

let next = 1

async function pair(account) {
  const id = `b${next++}`
  const reserved = await ledger.ask(`c${account}`, 'tokens', { kind: 'reserve', id, amount: 2 })
  if (reserved.outcome.kind !== 'reserved') throw new Error('refused')
  const settled = await ledger.ask(`c${account}`, 'tokens', { kind: 'commit', id, used: 1 })
  if (settled.outcome.kind !== 'settled') throw new Error('lost')
}

const TICKS_A_SECOND = 100

/** The processor time of this process and of PostgreSQL, in ms: other work on the machine does not count in it. */
function cpuMs() {
  const { user, system } = process.cpuUsage()
  const stats = readdirSync('/proc').flatMap((pid) => {
    try {
      return /^[0-9]+$/.test(pid) ? [readFileSync(`/proc/${pid}/stat`, 'utf8')] : []
    } catch {
      return []
    }
  })
  const ticks = stats
    .map((stat) => [
      Number.parseInt(stat, 10),
      ...stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number),
    ])
    .filter(([pid, , ppid]) => pid === postgres.pid || ppid === postgres.pid)
    .reduce((sum, fields) => sum + fields[12] + fields[13], 0)
  return { node: (user + system) / 1_000, postgres: (ticks * 1_000) / TICKS_A_SECOND }
}

/**
 * Callers that each wait for the answer before they ask again. Returns pairs a second, and how long the slowest of a
 * hundred took.
 */
async function drive(callers, accounts, one) {
  const from = performance.now()
  const times = []
  const before = cpuMs()
  const run = async (n) => {
    for (let i = 0; performance.now() - from < ROUND_MS; i++) {
      const begun = performance.now()
      await one((n * 7_919 + i * 104_729) % accounts)
      times.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, n) => run(n)))
  const after = cpuMs()
  times.sort((a, b) => a - b)
  const perPair = (of) => ((after[of] - before[of]) * 1_000) / times.length
  return {
    node: perPair('node'),
    postgres: perPair('postgres'),
    rate: times.length / ((performance.now() - from) / 1_000),
    p50: times[times.length >> 1],
    p99: times[Math.floor(times.length * 0.99)],
  }
}

console.log(`${header('npm run bench -- ledger', ['pg'])}\n`)
await prepare()
const cases = [
  ['sluice, 64 callers', 64, pair],
  ['sluice, 1,024 callers', 1_024, pair],
  ['sluice, 4,096 callers', 4_096, pair],
  ['a transaction each, 8 connections', 64, (account) => plain.pair(account)],
]
for (const accounts of [1, 1_000]) {
  const found = new Map(cases.map(([name]) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, callers, one] of cases) found.get(name).push(await drive(callers, accounts, one))
  }
  const of = (name, figure) => median(found.get(name).map((each) => each[figure]))
  const rows = cases.map(([name]) => [
    name,
    count(of(name, 'rate')),
    `${of(name, 'p50').toFixed(1)} ms`,
    `${of(name, 'p99').toFixed(1)} ms`,
    `${of(name, 'node').toFixed(0)} µs`,
    `${of(name, 'postgres').toFixed(0)} µs`,
  ])
  const best = Math.max(...cases.slice(0, 3).map(([name]) => of(name, 'rate')))
  console.log(`reserve + commit, ${count(accounts)} account${accounts === 1 ? '' : 's'} (median of ${ROUNDS} rounds)\n`)
  console.log(table(['', 'pairs/s', 'p50', 'p99', 'CPU here', 'CPU PostgreSQL'], rows))
  console.log(`\n${ratioLine('to a transaction each', best / of(cases[3][0], 'rate'))}`)
  console.log(`goal ≥ ${count(GOALS[accounts])} pairs/s: ${best >= GOALS[accounts] ? 'met' : 'missed'}\n`)
}
const begun = performance.now()
const { ok, sum, entries } = await verifyLedger(quotas.db)
console.log(
  `verified ${count(entries)} entries in ${count(performance.now() - begun)} ms: ${ok && sum === 0 ? 'ok' : 'WRONG'}`,
)
await plain.close()
await quotas.close()
await postgres.stop()
if (!ok || sum !== 0) process.exitCode = 1
