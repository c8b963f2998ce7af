import { once } from 'node:events'
import { connect } from 'node:net'
import { ReplyReader } from '../dist/stores/redis/resp/reply-reader.js'
import { startRedis } from '../tests/servers/redis.mjs'
import { contestantsOn } from './floor/contestants.mjs'
import { chargedIn, cpuUsOf } from './redis-audit.mjs'
import { count, header, median, table } from './report.mjs'

// npm run bench -- floor [--quick]: what Redis takes for a decision, compared with the least work for one. All are
// bytes that one connection sends to one server, one call after the other, in short turns: what else the machine does
// hits all alike.

const isQuick = process.argv.includes('--quick')
const { turns, calls } = isQuick ? { turns: 6, calls: 200 } : { turns: 60, calls: 400 }
/** Of calls that carry many decisions. */
const LEAST_CALLS = 24
const BUDGET = 1.3
const TWO_RULES_GOAL = 1.5

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const us = (value) => `${value.toFixed(2)} µs`
const times = (value) => `${value.toFixed(2)} ×`
const verdict = (isMet) => (isMet ? 'met' : 'missed')

/** Returns a function that sends bytes, and resolves when so many replies have come. An error of Redis rejects. */
async function askerOn(redis) {
  let missing = 0
  let [answered, failed] = [() => {}, () => {}]
  const reader = new ReplyReader((reply) => {
    if (reply instanceof Error) failed(reply)
    if (--missing === 0) answered()
  })
  const socket = connect({ host: redis.host, port: redis.port })
  await once(socket, 'connect')
  socket.setNoDelay(true)
  socket.on('data', (piece) => reader.read(piece))
  return (request, replies) =>
    new Promise((resolve, reject) => {
      missing = replies
      answered = resolve
      failed = reject
      socket.write(request)
    })
}

/** Returns the processor time of Redis for a decision, in µs, of each turn of each contestant. */
async function takeTurns(redis, contestants) {
  const ask = await askerOn(redis)
  const connection = await redis.connect()
  const cpuUs = () => cpuUsOf({ call: (...args) => connection.send(...args) })
  const sent = contestants.map(() => 0)
  const run = async (i, times) => {
    const { requests, replies } = contestants[i]
    for (let left = times; left > 0; left--) await ask(requests[sent[i]++ % requests.length], replies)
  }
  const results = contestants.map(() => [])
  for (let i = 0; i < contestants.length; i++) await run(i, contestants[i].requests.length)
  for (let turn = 0; turn < turns; turn++)
    for (let j = 0; j < contestants.length; j++) {
      const i = (j + turn) % contestants.length
      const { decisions } = contestants[i]
      const times = Math.max(calls / decisions, LEAST_CALLS)
      // Caches hold what the previous contestant left.
      await run(i, Math.ceil(times / 8))
      const before = await cpuUs()
      await run(i, times)
      results[i].push(((await cpuUs()) - before) / (times * decisions))
    }
  connection.close()
  return { results, sent }
}

/** Compares what was decided with what the windows have counted. */
async function check(redis, contestants, sent) {
  const expected = contestants.reduce((sum, { counts, decisions }, i) => sum + counts.length * decisions * sent[i], 0)
  const limits = new Map(contestants.flatMap(({ counts }) => counts.map((limit) => [limit.shape, limit])))
  const counted = await chargedIn(redis, [...limits.values()])
  if (counted !== expected) {
    say(`FAILED: ${count(expected)} were decided by windows, but Redis counted ${count(counted)}`)
    process.exitCode = 1
  } else say(`all ${count(counted)} decisions by windows were counted`)
}

function report(contestants, results) {
  const [least] = results
  const ratioTo = (those, i) => median(results[i].map((value, turn) => value / those[turn]))
  const rows = contestants.map(({ name }, i) => [name, us(median(results[i])), times(ratioTo(least, i))])
  say(
    `Redis CPU for a decision, ${turns} turns of ${calls}`,
    '',
    table(['', 'median', `× ${contestants[0].name}`], rows),
  )
  const at = (name) => contestants.findIndex((contestant) => contestant.name === `sluice, ${name}`)
  const lone = ratioTo(least, at('sliding_window'))
  const two = (name, single) => ratioTo(results[at(single)], at(name))
  const [alone, inBatches] = [two('two rules', 'sliding_window'), two('128 of two rules', '128 in a call')]
  const leased = [
    ['alone', two('leased', 'sliding_window')],
    ['of two rules', two('two leased rules', 'two rules')],
    ['128 in a call', two('128 leased in a call', '128 in a call')],
  ]
  say(
    `ratio a lone decision / INCRBY + EXPIRE in one write: ${times(lone)} (budget ${BUDGET} ×: ${verdict(lone <= BUDGET)})`,
    `ratio two rules / one, alone: ${times(alone)} (goal ${TWO_RULES_GOAL} ×: ${verdict(alone <= TWO_RULES_GOAL)})`,
    `ratio two rules / one, 128 in a call: ${times(inBatches)} (goal ${TWO_RULES_GOAL} ×: ${verdict(inBatches <= TWO_RULES_GOAL)})`,
    ...leased.map(([how, ratio]) => `ratio leased, without a slice / exact, ${how}: ${times(ratio)}`),
  )
}

const startedAt = Date.now()
const redis = await startRedis()
say(
  header(`npm run bench -- floor${isQuick ? ' --quick' : ''}`, ['sluice']),
  `redis     ${await redis.field('redis_version', 'INFO', 'server')}, on loopback`,
)
const contestants = await contestantsOn(redis)
const { results, sent } = await takeTurns(redis, contestants)
report(contestants, results)
await check(redis, contestants, sent)
await redis.stop()
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
process.exit()
