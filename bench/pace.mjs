import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * How long a client sleeps at most before it looks at its sockets again. The system adds about 50 µs to a sleep. A loop
 * that does not sleep would take a whole core from the servers that it measures.
 */
export const LONGEST_SLEEP_MS = 0.05

const cell = new Int32Array(new SharedArrayBuffer(4))
/** Blocks the process, and returns for how long. */
function sleep(ms) {
  const startAt = performance.now()
  Atomics.wait(cell, 0, 0, ms)
  return performance.now() - startAt
}

/**
 * Begins `total` operations on a fixed schedule, whether or not earlier ones have ended. `begin(n, dueAt)` returns
 * false when there is no room: the operation waits, and that counts. `flush` follows what was begun together; `slept`
 * is called after every sleep. It resolves with how late each one was begun, in ms and sorted: that much of a measured
 * time is the client's own. A client that has a core to itself need not sleep.
 */
export async function paced(perSecond, total, { begin, flush = () => {}, slept = () => {}, isSleeping = true }) {
  const late = new Float64Array(total)
  const startAt = performance.now()
  const dueAtOf = (n) => startAt + (n * 1000) / perSecond
  let begun = 0
  while (begun < total) {
    const now = performance.now()
    for (let dueAt = dueAtOf(begun); begun < total && dueAt <= now; dueAt = dueAtOf(begun)) {
      if (!begin(begun, dueAt)) break
      late[begun++] = now - dueAt
    }
    flush()
    await nextTurn()
    const leftMs = isSleeping ? dueAtOf(begun) - performance.now() : 0
    if (leftMs > 0) slept(sleep(Math.min(leftMs, LONGEST_SLEEP_MS)))
  }
  return late.sort()
}

/** Returns the value below which that share of sorted values lies. */
export const quantile = (sorted, share) =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
