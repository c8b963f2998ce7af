import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createClient } from '@redis/client'
import { RespClient } from '../../dist/stores/redis/resp/resp-client.js'
import { chargedIn, limitOf, sumOfAll } from '../redis-audit.mjs'
import { chargesOf, openRedis } from '../scale/nodes.mjs'

const SCRIPT = readFileSync(new URL('../count.lua', import.meta.url), 'utf8')
const WINDOW_S = 86_400
const WINDOW_MS = `${1000 * WINDOW_S}`
const RULE = { unit: 'day', requests_per_unit: 1_000_000 }
export const CALLERS = 1_000

/** The keys of the plain contestants are as long as the store's. */
const KEYS = Array.from({ length: CALLERS }, (_, n) => `sluice:{17}:api|caller|caller=${n}|s1d`)

/**
 * Each makes one decision after the other.
 *
 *   decide(n)   a promise of a decision about the n-th caller
 *   counted()   what Redis has counted
 *   commands    what Redis ran for it
 */
export const contestants = { sluice, client, own, net: bareNet, pipeline }

async function sluice(redis) {
  const store = await openRedis(redis.url)
  const charges = chargesOf(CALLERS, RULE)
  return {
    commands: ['evalsha', 'fcall'],
    decide: (n) => store.decide(charges[n]),
    counted: () => chargedIn(redis, [limitOf(RULE)]),
  }
}

const plain = (redis, decide) => ({ commands: ['evalsha'], decide, counted: () => sumOfAll(redis) })

async function client(redis) {
  const connection = createClient({ url: redis.url, RESP: 2 })
  // The server is stopped while it is connected.
  connection.on('error', () => {})
  await connection.connect()
  const sha = await connection.scriptLoad(SCRIPT)
  return plain(redis, (n) => connection.evalSha(sha, { keys: [KEYS[n]], arguments: ['1', WINDOW_MS] }))
}

async function own(redis) {
  const connection = await RespClient.open({ at: { host: redis.host, port: redis.port }, tls: false })
  const sha = String(await connection.call(['SCRIPT', 'LOAD', SCRIPT]))
  return plain(redis, (n) => connection.call(['EVALSHA', sha, '1', KEYS[n], '1', WINDOW_MS]))
}

const encode = (...args) => `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`

/** Writes bytes that were encoded before, and waits for one line. */
async function bareNet(redis) {
  const sha = String(await redis.call('SCRIPT', 'LOAD', SCRIPT))
  const requests = KEYS.map((key) => Buffer.from(encode('EVALSHA', sha, '1', key, '1', WINDOW_MS)))
  return plain(redis, await exchanging(redis, requests, 1))
}

/** How to count without a script: two commands in one write. */
async function pipeline(redis) {
  const requests = KEYS.map((key) => Buffer.from(encode('INCRBY', key, '1') + encode('EXPIRE', key, `${WINDOW_S}`)))
  return { ...plain(redis, await exchanging(redis, requests, 2)), commands: ['incrby', 'expire'] }
}

/** Sends the n-th request and resolves when so many lines have come; an error of Redis rejects. */
async function exchanging(redis, requests, lines) {
  const LINE_END = 0x0a
  const INTEGER = 0x3a
  let missing = 0
  let [answered, failed] = [() => {}, () => {}]
  const buffer = Buffer.allocUnsafe(4_096)
  const callback = (length) => {
    if (missing === lines && buffer[0] !== INTEGER) failed(new Error(buffer.toString('latin1', 0, length)))
    for (let i = 0; i < length; i++) if (buffer[i] === LINE_END) missing--
    if (missing === 0) answered()
    return true
  }
  const socket = connect({ host: redis.host, port: redis.port, onread: { buffer, callback } })
  await once(socket, 'connect')
  socket.setNoDelay(true)
  return (n) =>
    new Promise((resolve, reject) => {
      missing = lines
      answered = resolve
      failed = reject
      socket.write(requests[n])
    })
}
