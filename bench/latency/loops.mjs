import { readFileSync } from 'node:fs'
import { createClient } from '@redis/client'
import { RespClient } from '../../dist/stores/redis/resp/resp-client.js'
import { paced } from '../pace.mjs'
import { ProcessWatch } from '../process-watch.mjs'
import { sumOfAll } from '../redis-audit.mjs'
import { keyOf } from './callers.mjs'

const SCRIPT = readFileSync(new URL('../count.lua', import.meta.url), 'utf8')
const WINDOW_MS = '86400000'
/** Above this many in flight arrivals wait, and that counts. */
const MOST_IN_FLIGHT = 4_096

/**
 * The plain loops: one process that sends a script of two commands for each call that is due, and waits for its answer. There
 * is no server between it and Redis, no rule and no deadline: the least that a decision through Redis can take here.
 */
export const loops = { client: clientLoop, own: ownLoop }

async function clientLoop(redis) {
  const client = await createClient({ url: redis.url, RESP: 2 }).connect()
  const sha = await client.scriptLoad(SCRIPT)
  const send = (n, answered, failed) =>
    client.evalSha(sha, { keys: [keyOf(n)], arguments: ['1', WINDOW_MS] }).then(answered, failed)
  return loopOf(redis, send, () => client.destroy())
}

async function ownLoop(redis) {
  const client = await RespClient.open({ at: { host: redis.host, port: redis.port }, tls: false })
  const sha = String(await client.call(['SCRIPT', 'LOAD', SCRIPT]))
  const send = (n, answered, failed) =>
    client.ask(['EVALSHA', sha, '1', keyOf(n), '1', WINDOW_MS], { answered, failed })
  return loopOf(redis, send, () => client.destroy())
}

/** loopOf is a loop around `send(n, answered, failed)`. What Redis has counted in the end must be what was answered. */
function loopOf(redis, send, close) {
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
    close()
    const counted = await sumOfAll(redis)
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
