import { Agent, request } from 'node:http'
import { CLASSES } from './classes.mjs'

// Requests on a fixed schedule, in a separate process: node load.mjs PORT PHASES, where PHASES is JSON: a list of {
// seconds, perSecond }. Arrivals are random, always the same. It reports the outcome of each request: when it was due,
// its class, its status (0: no answer in time), and how long after it was due that was.

const [port, phases] = process.argv.slice(2).map((text) => JSON.parse(text))
/** Clients do not wait for longer. */
const PATIENCE_MS = 2_000
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1_024 })

const records = { dueMs: [], kind: [], status: [], tookMs: [] }
let mostLateMs = 0
let open = 0

let state = 7
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

function kindOf(dice) {
  let rest = dice
  const at = CLASSES.findIndex(({ share }) => {
    rest -= share
    return rest < 0
  })
  return at < 0 ? CLASSES.length - 1 : at
}

function* arrivals() {
  let fromMs = 0
  for (const { seconds, perSecond } of phases) {
    const untilMs = fromMs + seconds * 1_000
    let at = fromMs
    for (;;) {
      at -= Math.log(1 - random()) * (1_000 / perSecond)
      if (at >= untilMs) break
      yield { dueMs: at, kind: kindOf(random()) }
    }
    fromMs = untilMs
  }
}

function send(dueMs, kind, startedMs) {
  const { path, method } = CLASSES[kind]
  const at = records.dueMs.push(dueMs) - 1
  records.kind.push(kind)
  records.status.push(0)
  records.tookMs.push(PATIENCE_MS)
  open++
  let isOver = false
  const done = (status) => {
    if (isOver) return
    isOver = true
    clearTimeout(late)
    open--
    records.status[at] = status
    records.tookMs[at] = Math.round((performance.now() - startedMs - dueMs) * 100) / 100
  }
  const asked = request(
    { agent, host: '127.0.0.1', port, path, method, headers: { 'content-length': 0 } },
    (answer) => {
      answer.resume()
      answer.on('end', () => done(answer.statusCode))
      answer.on('error', () => done(0))
    },
  )
  const late = setTimeout(() => {
    done(0)
    asked.destroy()
  }, PATIENCE_MS)
  asked.on('error', () => done(0))
  asked.end()
}

const schedule = arrivals()
const startedMs = performance.now()
let next = schedule.next()
function turn() {
  const nowMs = performance.now() - startedMs
  while (!next.done && next.value.dueMs <= nowMs) {
    mostLateMs = Math.max(mostLateMs, nowMs - next.value.dueMs)
    send(next.value.dueMs, next.value.kind, startedMs)
    next = schedule.next()
  }
  if (!next.done) setTimeout(turn, Math.max(0, Math.min(2, next.value.dueMs - nowMs)))
  else if (open > 0) setTimeout(turn, 10)
  else process.send({ records, mostLateMs }, () => process.exit())
}
turn()
