/** How callers come: a function that draws one of `count`, the same in every process. */
export const CALLERS = {
  uniform: (count, random) => () => Math.floor(random() * count),
  // The nth comes 1/n as often as the first.
  Zipf: (count, random) => {
    const most = Math.log(count + 1)
    return () => Math.floor(Math.exp(random() * most)) - 1
  },
}

/** Returns an order of callers. */
export function draw(kind, count, length) {
  const next = CALLERS[kind](count, xorshift(0x1ea5e))
  return Int32Array.from({ length }, next)
}

function xorshift(seed) {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 4294967296
  }
}
