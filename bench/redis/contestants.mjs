import { readFileSync } from 'node:fs'
import { createClient } from '@redis/client'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { KeyedHash } from '../../dist/core/hash.js'
import { CompactKeys, readableKeys } from '../../dist/stores/redis/formats/stored-keys.js'
import { RedisStore } from '../../dist/stores/redis/redis-store.js'
import { chargedTo, SUM_OF_ALL } from '../redis-audit.mjs'
import { apiKey, chargesOf, LIMIT, WINDOW_MS } from './callers.mjs'

/**
 * Each contestant is used as its documentation says, and makes decisions for callers 0 to `callers` - 1.
 *
 *   decide(n)   a promise of whether the n-th caller is allowed, which rejects when there was no decision
 *   counted()   how many decisions were counted, as the server has it where that can be added up
 *   calls()     how many commands carried how many decisions so far, where decisions travel together
 *   storedKeys  the keys of the n-th caller
 */
export const contestants = { sluice, 'one EVALSHA each': plain, 'rate-limiter-flexible': flexible }

const HASH = new KeyedHash(17, 42)

/** Overload is to show as a longer wait, not as an answer by the rule's policy. */
const TIMEOUT_MS = 10_000

/** Several stores are as many nodes, each with separate connections: callers are divided among them. */
async function sluice({ url, servers, callers, algorithm, secret, requests, compact = false, nodes = 1 }) {
  const seen = { calls: 0, decisions: 0 }
  const names = compact ? new CompactKeys(HASH, '', false) : readableKeys('')
  let carried = 0
  let unconnected = servers.length * nodes
  let isConnected = () => {}
  const connected = new Promise((resolve) => {
    isConnected = resolve
  })
  const events = {
    connected: () => {
      unconnected--
      if (unconnected === 0) isConnected()
    },
    callEnded(_shard, _ms, decisions, fault) {
      if (fault === undefined) carried += decisions
      seen.calls++
      seen.decisions += decisions
    },
  }
  const options = { url, timeoutMs: TIMEOUT_MS, events, compactKeys: compact ? HASH : undefined }
  const stores = Array.from({ length: nodes }, () => new RedisStore(options))
  await connected
  const charges = chargesOf(callers, { algorithm, secret, requests }).map(([{ key, limit, cost, enforce }]) => [
    { key, limit, cost, enforce },
  ])
  return {
    decide: async (n) => (await stores[n % nodes].decide(charges[n]))[0].allowed,
    // A bucket fills up again and a log forgets: what the server confirmed is all that is known of those.
    counted: async () => (WINDOWS.includes(algorithm) ? chargedTo(stores[0], charges.flat()) : carried),
    calls: () => ({ ...seen }),
    storedKeys: (n) => charges[n].map(({ key, limit }) => names.of(`${key}|${limit.shape}`)),
    close: () => Promise.all(stores.map((store) => store.close())),
  }
}

const WINDOWS = [undefined, 'sliding_window', 'fixed_window']

async function connect(url) {
  const client = createClient({ url, RESP: 2 })
  await client.connect()
  return client
}

/** Sends a separate script call for every decision: two-keys.lua. The client batches the commands of one turn. */
async function plain({ url, callers }) {
  const client = await connect(url)
  const sha = await client.scriptLoad(readFileSync(new URL('./two-keys.lua', import.meta.url), 'utf8'))
  const keys = Array.from({ length: callers }, (_, n) => apiKey(n))
  const storedKeys = (n, now = Date.now()) => {
    const window = Math.floor(now / WINDOW_MS)
    const prefix = `ratelimit:sliding_window:api:api_key:${keys[n]}`
    return [`${prefix}:${window}`, `${prefix}:${window - 1}`]
  }
  const decide = async (n, now = Date.now()) => {
    const args = [`${LIMIT}`, `${WINDOW_MS}`, `${now}`]
    const [allowed] = await client.evalSha(sha, { keys: storedKeys(n, now), arguments: args })
    return allowed === 1
  }
  return { decide, counted: () => client.eval(SUM_OF_ALL), storedKeys, close: () => client.close() }
}

async function flexible({ url, callers }) {
  const storeClient = await connect(url)
  const limiter = new RateLimiterRedis({
    storeClient,
    useRedisPackage: true,
    points: LIMIT,
    duration: WINDOW_MS / 1000,
  })
  const keys = Array.from({ length: callers }, (_, n) => apiKey(n))
  return {
    // It rejects what it refuses.
    decide: async (n) => (await limiter.consume(keys[n])).remainingPoints >= 0,
    counted: () => storeClient.eval(SUM_OF_ALL),
    storedKeys: (n) => [limiter.getKey(keys[n])],
    close: () => storeClient.close(),
  }
}
