import { createClient, RESP_TYPES } from '@redis/client'
import { storedKey } from '../../dist/core/keys.js'
import { compileLimit } from '../../dist/core/limit.js'
import { headKey } from '../../dist/stores/redis/formats/exchange-format.js'
import { openNode } from '../scale/nodes.mjs'
import { draw } from './callers.mjs'
import { paced } from './paced.mjs'

// node worker.mjs '{"url": …, "consistency": …, …}' prints one JSON object: what the decisions of one process cost, and
// whether Redis has counted each of them.

const PARTITIONS = 32
const LIMITS = [
  { limit: 1_000, window: '1h' },
  { limit: 5_000, window: '24h' },
]

const { url, consistency, rules, callers, kind, perSecond, ms, warmUpMs } = JSON.parse(process.argv[2])
const policy = { consistency, onStoreFailure: 'closed', localShare: 1, timeoutMs: 10_000 }
const limits = LIMITS.slice(0, rules).map((options) => compileLimit(options))
const server = createClient({ url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
await server.connect()
await server.flushAll()
await server.sendCommand(['CONFIG', 'RESETSTAT'])

/** What the parent is asked: decisions, and exchanges of slices. */
const asked = { begun: 0, refused: 0, decisions: 0, exchanges: 0 }
const decorate = (redis) => {
  const { decide, exchange } = redis
  redis.decide = (charges) => {
    asked.decisions++
    return decide.call(redis, charges)
  }
  redis.exchange = (request) => {
    asked.exchanges++
    return exchange.call(redis, request)
  }
  return redis
}
const store = await openNode(url, { decorate })

const keyOf = (caller, rule) => `sluice:{${caller % PARTITIONS}}:api|rule${rule}|caller=${caller}`
const chargesOf = (caller) =>
  limits.map((limit, rule) => ({ key: keyOf(caller, rule), limit, cost: 1, enforce: true, policy }))
const admitted = new Int32Array(callers)
const note = (caller, verdicts) => {
  if (verdicts.every(({ allowed }) => allowed)) admitted[caller]++
  else asked.refused++
  return verdicts
}
const decide = (n) => {
  const caller = order[n]
  asked.begun++
  const answer = store.decide(chargesOf(caller))
  return answer instanceof Promise ? answer.then((verdicts) => note(caller, verdicts)) : note(caller, answer)
}

async function look() {
  const { user, system } = process.cpuUsage()
  const here = { nodeUs: user + system, ...asked }
  const info = String(await server.info('everything'))
  const numberIn = (pattern) => Number(pattern.exec(info)?.[1] ?? 0)
  const redisUs = 1e6 * (numberIn(/^used_cpu_user:(.*)$/m) + numberIn(/^used_cpu_sys:(.*)$/m))
  return { ...here, redisUs, calls: numberIn(/^cmdstat_evalsha:calls=([0-9]+)/m) }
}

/** Reads what Redis has counted, and what it still believes is lent, and compares it with what was admitted here. */
async function recount() {
  const result = { wrong: 0, over: 0, stillLent: 0, counted: 0 }
  const touched = [...admitted.keys()].filter((caller) => admitted[caller] > 0)
  for (let at = 0; at < touched.length; at += 500) {
    const part = touched.slice(at, at + 500)
    for (const [rule, limit] of limits.entries()) {
      const keys = part.map((caller) => storedKey(keyOf(caller, rule), limit))
      const states = await server.mGet(keys)
      const heads = await server.mGet(keys.map(headKey))
      part.forEach((caller, i) => {
        // A sliding window: when it began, and the hits of the one before and of this one.
        const counted = states[i] === null ? 0 : states[i].readUInt32LE(8) + states[i].readUInt32LE(12)
        result.counted += counted
        if (counted !== admitted[caller]) result.wrong++
        if (admitted[caller] > limit.max) result.over++
        if (heads[i] !== null && heads[i].readDoubleLE(0) > 0) result.stillLent++
      })
    }
  }
  return result
}

const first = Math.floor((perSecond * warmUpMs) / 1000)
const total = first + Math.floor((perSecond * ms) / 1000)
const order = draw(kind, callers, total)
let before
const { times, failures } = await paced(decide, {
  total,
  perSecond,
  mostInFlight: 4_096,
  at: first,
  reached: () => {
    before = look()
  },
})
const after = await look()
const from = await before
const { slices } = store.stats
globalThis.gc?.()
const memory = process.memoryUsage()
await store.drain()
const checks = await recount()
const grown = (name) => after[name] - from[name]
const done = grown('begun')
const sorted = times.subarray(first).sort()
const at = (share) => sorted[Math.ceil(share * sorted.length) - 1]
const answer = {
  trips: (grown('decisions') + grown('exchanges')) / done,
  exchanges: grown('exchanges') / done,
  calls: grown('calls') / done,
  nodeUs: grown('nodeUs') / done,
  redisUs: grown('redisUs') / done,
  refused: grown('refused') / done,
  p50: at(0.5),
  p99: at(0.99),
  slices,
  heapMb: (memory.heapUsed + memory.arrayBuffers) / 2 ** 20,
  rssMb: memory.rss / 2 ** 20,
  failures,
  ...checks,
}
process.stdout.write(JSON.stringify(answer), () => process.exit(0))
