import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { rateLimit } from '../../dist/library/rate-limit.js'
import { RespClient } from '../../dist/stores/redis/resp/resp-client.js'
import { paced } from '../pace.mjs'
import { ProcessWatch } from '../process-watch.mjs'
import { chargedIn, sumOfAll } from '../redis-audit.mjs'
import { keyOf, WINDOW_MS } from './callers.mjs'

const SCRIPT = readFileSync(new URL('../count.lua', import.meta.url), 'utf8')
/** Above this many in flight arrivals wait, and that counts. */
const MOST_IN_FLIGHT = 4_096

/**
 * Loops are one process that asks Redis for each call that is due. The plain ones send a script of two commands: there
 * is no server between, no rule and no deadline, the least that a decision through Redis can take here. The library's
 * makes a whole decision in the same place.
 */
export const loops = { client: clientLoop, own: ownLoop, library: libraryLoop }

const FAR = 1_000_000_000
const PATIENT_MS = 10_000

async function libraryLoop(redis) {
  const limiter = rateLimit({
    name: 'bench',
    limit: FAR,
    window: '1d',
    redis: redis.url,
    onStoreFailure: 'closed',
    timeoutMs: PATIENT_MS,
  })
  // Before there is a connection everything is refused.
  while (!(await limiter.peek(keyOf(0))).allowed) await pause(1)
  const refused = new Error('refused: not decided by Redis')
  const send = (n, answered, failed) =>
    limiter.check(keyOf(n)).then(({ allowed }) => (allowed ? answered() : failed(refused)), failed)
  const counted = async () => {
    await limiter.close()
    return chargedIn(redis, [limiter.limit])
  }
  return loopOf(send, counted)
}

async function clientLoop(redis) {
  const client = await createClient({ url: redis.url, RESP: 2 }).connect()
  const sha = await client.scriptLoad(SCRIPT)
  const send = (n, answered, failed) =>
    client.evalSha(sha, { keys: [keyOf(n)], arguments: ['1', WINDOW_MS] }).then(answered, failed)
  return loopOf(send, () => closedSum(client, redis))
}

async function ownLoop(redis) {
  const client = await RespClient.open({ at: { host: redis.host, port: redis.port }, tls: false })
  const sha = String(await client.call(['SCRIPT', 'LOAD', SCRIPT]))
  const send = (n, answered, failed) =>
    client.ask(['EVALSHA', sha, '1', keyOf(n), '1', WINDOW_MS], { answered, failed })
  return loopOf(send, () => closedSum(client, redis))
}

async function closedSum(client, redis) {
  client.destroy()
  return sumOfAll(redis)
}

/** A loop around `send(n, answered, failed)`. What Redis has counted in the end must be what was answered. */
function loopOf(send, countedAtEnd) {
  const watch = new ProcessWatch()
  let sent = 0
  let answers = 0
  let sleptMs = 0
  const failures = {}
  const scheduled = async (perSecond, ms) => {
    const total = Math.floor((perSecond * ms) / 1000)
    const times = new Float64Array(total)
    let ended = 0
    let allEnded = () => {}
    const isOver = new Promise((resolve) => {
      allEnded = resolve
    })
    let begun = 0
    const begin = (n, dueAt) => {
      if (begun - ended >= MOST_IN_FLIGHT) return false
      begun++
      const end = () => {
        times[n] = performance.now() - dueAt
        if (++ended === total) allEnded()
      }
      const answered = () => {
        answers++
        end()
      }
      const failed = ({ message }) => {
        failures[message] = (failures[message] ?? 0) + 1
        end()
      }
      send(sent++, answered, failed)
      return true
    }
    const slept = (ms) => {
      sleptMs += ms
    }
    const late = await paced(perSecond, total, { begin, slept })
    await isOver
    return { times: times.sort(), late }
  }
  const end = async () => {
    const counted = await countedAtEnd()
    const voids = Object.entries(failures).map(([message, number]) => `${number} calls failed: ${message}`)
    return counted === answers ? voids : [...voids, `${answers} were answered, but Redis counted ${counted}`]
  }
  /** What a loop sleeps it is idle, which its event loop does not know. */
  const watched = async () => {
    const { sinceMs, ...taken } = watch.take()
    const idle = taken.idle + sleptMs / sinceMs
    sleptMs = 0
    return { ...taken, idle }
  }
  return { scheduled, watched, end }
}
