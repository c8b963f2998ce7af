import { setTimeout as pause } from 'node:timers/promises'
import { chargesOf, openNode } from './nodes.mjs'

/** How long after the last hit its answer may come. */
const LAST_ANSWERS_MS = 500
/** Hits that are due come together this often, as they do from sockets; more often would mostly measure timers. */
const STEP_MS = 4

/**
 * Some nodes of a fleet. Each sends hits to every stream, which is a rule and one counter that all nodes share, on a
 * schedule that starts when the parent says. It returns what was admitted in each millisecond, by when it was `asked`
 * and by when it was `answered`.
 */
export async function fleet({ url, nodes, streams, phases }) {
  const totalMs = phases.reduce((sum, { ms }) => sum + ms, LAST_ANSWERS_MS)
  const logs = streams.map(() => ({
    asked: new Array(totalMs).fill(0),
    answered: new Array(totalMs).fill(0),
    refused: phases.map(() => 0),
    failed: {},
  }))
  const stores = await Promise.all(nodes.map(() => openNode(url, { isEager: true })))
  const charges = streams.map(({ name, rule }) => chargesOf(1, rule, name)[0])
  const { startAtMs } = await ready()
  const hit = (store, stream, phase) => {
    const log = logs[stream]
    const askedAt = Date.now() - startAtMs
    const heard = ([verdict]) => {
      const answeredAt = Date.now() - startAtMs
      if (!verdict.allowed) log.refused[phase]++
      else if (answeredAt < totalMs) {
        log.asked[askedAt]++
        log.answered[answeredAt]++
      }
    }
    const answer = store.decide(charges[stream])
    if (!(answer instanceof Promise)) heard(answer)
    else
      answer.then(heard, ({ message }) => {
        log.failed[message] = (log.failed[message] ?? 0) + 1
      })
  }
  await pause(startAtMs - Date.now())
  let phaseAt = 0
  let [longestStallMs, lookedAt] = [0, performance.now()]
  const arrived = nodes.map(() => new Array(totalMs).fill(0))
  for (const [phase, { ms, perSecond }] of phases.entries()) {
    const begun = nodes.map(() => 0)
    for (let at = 0; at < ms; at = Date.now() - startAtMs - phaseAt) {
      nodes.forEach((node, i) => {
        const due = Math.floor((perSecond[node] * Math.min(at, ms)) / 1000 + node / perSecond.length)
        arrived[i][Math.min(Date.now() - startAtMs, totalMs - 1)] += Math.max(0, due - begun[i])
        for (; begun[i] < due; begun[i]++) for (const stream of streams.keys()) hit(stores[i], stream, phase)
      })
      await pause(STEP_MS)
      longestStallMs = Math.max(longestStallMs, performance.now() - lookedAt - STEP_MS)
      lookedAt = performance.now()
    }
    phaseAt += ms
  }
  await pause(LAST_ANSWERS_MS)
  await Promise.all(stores.map((store) => store.close()))
  return { logs, arrived, longestStallMs }
}

/** Reports to the parent that this process is ready, and returns the parent's reply. */
function ready() {
  return new Promise((resolve) => {
    process.once('message', resolve)
    process.send('ready')
  })
}

/** A node that takes slices until it is killed, or asked to end: then it returns them. */
export async function victim({ url, streams, perSecond }) {
  const store = await openNode(url, { isEager: true })
  const charges = streams.map(({ name, rule }) => chargesOf(1, rule, name)[0])
  const startAt = performance.now()
  let isEnding = false
  process.on('SIGTERM', () => {
    isEnding = true
  })
  process.send('ready')
  for (let begun = 0; !isEnding; await pause(1)) {
    const due = ((performance.now() - startAt) * perSecond) / 1000
    for (; begun < due; begun++) await Promise.allSettled(charges.map(async (charge) => store.decide(charge)))
  }
  await store.close()
  return {}
}

/** Lets nodes use a budget up, and returns what each got when how much was left. */
export async function sizes({ url, server, nodes, perSecond, limit }) {
  await server.flushAll()
  const grants = []
  const held = new Map()
  const noted = (redis) => ({
    decide: (charges) => redis.decide(charges),
    listen: (listener) => redis.listen(listener),
    notify: (notice) => redis.notify(notice),
    close: () => redis.close(),
    async exchange(request) {
      const reply = await redis.exchange(request)
      held.set(request.holder, reply.held)
      const left = reply.free + [...held.values()].reduce((sum, part) => sum + part, 0)
      if (request.need + request.ahead > 0) grants.push([left, Math.max(0, reply.held - request.need)])
      return reply
    },
  })
  const stores = await Promise.all(
    Array.from({ length: nodes }, () => openNode(url, { isEager: true, decorate: noted })),
  )
  const rule = { unit: 'day', requests_per_unit: limit, consistency: 'leased' }
  const [charge] = chargesOf(1, rule, `sizes-${nodes}`)
  const ask = async (store) => store.decide(charge)
  let refused = 0
  const startAt = performance.now()
  for (let begun = 0; refused < 100 * nodes; await pause(1)) {
    const due = ((performance.now() - startAt) * perSecond) / 1000
    for (; begun < due; begun++) {
      ask(stores[begun % nodes]).then(
        ([{ allowed }]) => {
          if (!allowed) refused++
        },
        () => {},
      )
    }
  }
  await Promise.all(stores.map((store) => store.close()))
  return grants
}
