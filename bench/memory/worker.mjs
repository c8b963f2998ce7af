import { contestants, kept } from './contestants.mjs'
import { batches, keyOf, keysOf, randomOrder } from './keys.mjs'

// node --expose-gc worker.mjs '{"task": …, "contestant": …}' prints one JSON object. One process measures one thing.

const DAY_MS = 86_400_000
const WARM_KEYS = 10_000
/** No key that has budget left when a measurement begins comes near this within one process. */
const LIMIT = 1_000

const tasks = { decisions, bytes, pauses }

const { task, contestant, ...options } = JSON.parse(process.argv[2])
const make = contestants[contestant]
process.stdout.write(JSON.stringify(await tasks[task](options)), () => {
  // rate-limiter-flexible has a timer for each key: a million of them take long to tear down.
  process.exit(0)
})

/**
 * Measures decisions per second, round by round. "half" means that half of the decisions are refused: every other key
 * has spent its budget before the first round. A single key gets, for each round, a budget of half a round.
 */
async function decisions({ keys, perRound, rounds, workload, held, limit, algorithm, windowMs = DAY_MS }) {
  const isSingle = keys === 1
  limit ??= !isSingle ? LIMIT : workload === 'half' ? perRound / 2 : 1e9
  const settings = { limit, windowMs, ...(algorithm && { algorithm }) }
  await warmUp(settings)

  const order = randomOrder(keys, perRound * rounds)
  const everyKey = randomOrder(keys, keys)
  const heldKeys = held && keysOf(keys)
  const limiter = make(settings)
  if (workload === 'half' && !isSingle) await drainHalf(limiter, keys)
  const cold = await timeOf(limiter, everyKey, heldKeys)
  if (keys < perRound) await timeOf(limiter, order.subarray(0, perRound), heldKeys)
  gc()

  const perSecond = []
  let refused = 0
  for (let round = 0; round < rounds; round++) {
    if (isSingle) await limiter.reset(keyOf(0))
    const measured = await timeOf(limiter, order.subarray(round * perRound, (round + 1) * perRound), heldKeys)
    refused += measured.refused
    perSecond.push(perRound / measured.seconds)
  }
  return { perSecond, coldPerSecond: keys / cold.seconds, refusedShare: refused / (perRound * rounds) }
}

/** Has both answers compiled before anything is measured, on a separate limiter. */
async function warmUp(settings) {
  const limiter = make(settings)
  if (limiter.drain) await drainHalf(limiter, WARM_KEYS)
  await timeOf(limiter, randomOrder(WARM_KEYS, 20 * WARM_KEYS))
}

async function drainHalf(limiter, keys) {
  for (let n = 1; n < keys; n += 2) await limiter.drain(keyOf(n))
}

/** Makes the decisions of an order. The keys of each batch are made while the watch stands still. */
async function timeOf(limiter, order, heldKeys) {
  let ms = 0
  let refused = 0
  for (const batch of batches(order, heldKeys)) {
    const start = performance.now()
    refused += await limiter.run(batch)
    ms += performance.now() - start
  }
  return { seconds: ms / 1000, refused }
}

/**
 * Measures what a key keeps alive: once with strings that are held elsewhere anyway, and once with strings that live
 * only as long as the limiter holds on to them.
 */
async function bytes({ keys }) {
  const settings = { limit: LIMIT, windowMs: DAY_MS, maxKeys: keys }
  await warmUp(settings)
  const order = randomOrder(keys, keys)
  const heldKeys = keysOf(keys)
  const limiters = [make(settings), make(settings)]
  const withoutStrings = await grown(() => timeOf(limiters[0], order, heldKeys))
  const withStrings = await grown(() => timeOf(limiters[1], order))
  // Still in use here: nothing that was measured could have been collected.
  kept.answer = [limiters, heldKeys, order]
  return { withoutStrings: withoutStrings / keys, withStrings: withStrings / keys }
}

async function grown(fill) {
  const before = usedBytes()
  await fill()
  return usedBytes() - before
}

/** What is alive on the heap and outside of it. `external` includes the array buffers. */
function usedBytes() {
  kept.answer = undefined
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** pauses times every single decision while the limiter grows to `keys` keys, and then while new keys keep coming. */
async function pauses({ keys, flood }) {
  const settings = { limit: LIMIT, windowMs: DAY_MS, maxKeys: keys }
  await warmUp(settings)
  await make(settings).runTimed(keysOf(WARM_KEYS))
  const limiter = make(settings)
  const [first, more] = [keysOf(keys), keysOf(flood, keys)]
  gc()
  return { growing: tailOf(await limiter.runTimed(first)), flooded: tailOf(await limiter.runTimed(more)) }
}

/** Returns the longest time and the 99.99th percentile, in µs. */
function tailOf(timesMs) {
  timesMs.sort()
  const at = (share) => 1000 * timesMs[Math.ceil(share * timesMs.length) - 1]
  return { maxUs: at(1), p9999Us: at(0.9999) }
}
