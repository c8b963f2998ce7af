// A node of its own process: it spends all it can get of one counter, and writes a byte for each hit that was admitted, so
// that a node that is killed is counted too.
// Usage: node leased-node.mjs REDIS_URL CONSISTENCY LIMIT_JSON KEY FILE
import { openSync, writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { compileLimit } from '../../dist/core/limit.js'
import { LeasedStore } from '../../dist/stores/leased/leased-store.js'
import { RedisStore } from '../../dist/stores/redis/redis-store.js'

const [url, consistency, limitJson, key, file] = process.argv.slice(2)
const limit = compileLimit(JSON.parse(limitJson))
const policy = { consistency, onStoreFailure: 'closed', localShare: 1, timeoutMs: 60_000, syncIntervalMs: 100 }
const charges = [{ key, limit, cost: 1, enforce: true, policy }]
const hits = openSync(file, 'a')
const AT_ONCE = 16
/** A refusal for longer than this is the end of the budget; a shorter one waits for what others hold. */
const THE_END_MS = 60_000

const connected = Promise.withResolvers?.() ?? withResolvers()
const redis = new RedisStore({ url, events: { connected: () => connected.resolve() } })
const store = new LeasedStore(redis)
await connected.promise

/** Asks until it is told to stop, or until there is nothing left for long. */
async function spend() {
  for (let i = 0; !isTold; i++) {
    const verdict = await ask()
    if (verdict.allowed) writeSync(hits, '.')
    else if (verdict.retryAfterMs > THE_END_MS) return
    if (i % 8 === 0 || !verdict.allowed) await turn()
  }
}

/** Decides about one hit. On a machine that stalls an answer may come too late, and then it is no answer. */
async function ask() {
  try {
    return (await store.decide(charges))[0]
  } catch (error) {
    if (error.name !== 'StoreFault') throw error
    return { allowed: false, retryAfterMs: 0 }
  }
}

let isTold = false
process.on('message', async (message) => {
  if (message === 'stop') isTold = true
  if (message !== 'go') return
  await Promise.all(Array.from({ length: AT_ONCE }, spend))
  process.send({ ...store.stats, isDone: true })
  await store.close()
  process.disconnect()
})
process.send('ready')

function withResolvers() {
  let resolve
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}
