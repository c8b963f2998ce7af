const BATCH = 1_000

/** The name of a caller, as a server builds it from a request. */
export const keyOf = (n) => `user:${n}`

/** Returns the keys of all callers. */
export const keysOf = (count, from = 0) => Array.from({ length: count }, (_, n) => keyOf(from + n))

/**
 * Hands out the keys of an order, a thousand at a time. Each is a new string, made just before it is used: so it is on
 * a server, where a key comes out of a request. With `held`, keys are strings that have been lying around since the
 * start, and a part of what is then measured is the time it takes to fetch them from memory.
 */
export function* batches(order, held) {
  const batch = new Array(Math.min(BATCH, order.length)).fill('')
  for (let at = 0; at < order.length; at += batch.length) {
    for (let i = 0; i < batch.length; i++) batch[i] = held ? held[order[at + i]] : keyOf(order[at + i])
    yield batch
  }
}

/** Returns `length` callers of `count`: shuffled passes over all of them, the same in every process. */
export function randomOrder(count, length) {
  const random = mulberry32(0x51_01_ce)
  const pass = Int32Array.from({ length: count }, (_, n) => n)
  const order = new Int32Array(length)
  for (let at = 0; at < length; at += count) {
    shuffle(pass, random)
    order.set(pass.subarray(0, Math.min(count, length - at)), at)
  }
  return order
}

function shuffle(values, random) {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const value = values[i]
    values[i] = values[j]
    values[j] = value
  }
}

/** Returns a small generator of numbers in [0, 1). */
function mulberry32(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
