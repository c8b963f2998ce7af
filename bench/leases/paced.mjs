import { setTimeout as pause } from 'node:timers/promises'

/**
 * Begins `total` decisions at `perSecond`, every millisecond the ones that are due, and returns how long each one took
 * after it was due, in ms. It sleeps in between: a loop that looks all the time would be a good part of the CPU that is
 * measured.
 */
export async function paced(decide, { total, perSecond, mostInFlight, reached, at }) {
  const times = new Float64Array(total)
  const failures = {}
  const startAt = performance.now()
  let begun = 0
  let waiting = 0
  const ended = (n) => {
    times[n] = performance.now() - startAt - (n * 1000) / perSecond
  }
  const wait = async (n, answer) => {
    waiting++
    try {
      await answer
    } catch (fault) {
      const reason = fault.reason ?? fault.message
      failures[reason] = (failures[reason] ?? 0) + 1
    }
    waiting--
    ended(n)
  }
  while (begun < total || waiting > 0) {
    const due = Math.min(total, Math.floor(((performance.now() - startAt) * perSecond) / 1000))
    for (; begun < due && waiting < mostInFlight; begun++) {
      if (begun === at) reached()
      const answer = decide(begun)
      if (answer instanceof Promise) void wait(begun, answer)
      else ended(begun)
    }
    await pause(1)
  }
  return { times, failures }
}
