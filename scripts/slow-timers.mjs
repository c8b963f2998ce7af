import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'

// Loaded before everything else (--import) in a round of `npm run flakes` with slow timers, also in the services that
// tests start: timers are late and the event loop stalls, as on a machine that is busy.
//
// Only what Node.js does not promise changes. A timer never comes early, and all timers of a process are late by the
// same amount, so that they come in the order in which they would: others are late by another amount, and input and
// output are in time. A stall stops the process without using its core, as a scheduler does; what has arrived meanwhile
// is read after it, and after the timers.
const LATE_MS = { least: 5, most: 50 }
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const STALL_MS = { least: 100, most: 300 }
const BETWEEN_STALLS_MS = { least: 200, most: 4_000 }

/** Returns a source of numbers from 0 to 1, the same ones for the same text. */
export function randomOf(text) {
  let state = 2_166_136_261
  for (const character of text) state = Math.imul(state ^ character.codePointAt(0), 16_777_619)
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const between = (random, { least, most }) => least + Math.floor(random() * (most - least + 1))

/** Returns a function that makes a time longer. What Node.js takes for 1, or does not take, it takes so afterwards. */
export function lateTimes(random) {
  const lateMs = between(random, LATE_MS)
  return (ms) => {
    if (!(ms >= 1)) return 1 + lateMs
    return ms > MAX_TIMEOUT_MS - lateMs ? ms : ms + lateMs
  }
}

/** Replaces the timers of this process. */
export function slowTimers(late) {
  const { setTimeout: timeout, setInterval: interval } = globalThis
  const { setTimeout: pause, setInterval: ticks } = timersPromises
  const slow = {
    setTimeout: (callback, ms, ...args) => timeout(callback, late(ms), ...args),
    setInterval: (callback, ms, ...args) => interval(callback, late(ms), ...args),
  }
  const slowPause = (ms, ...args) => pause(late(ms), ...args)
  Object.defineProperty(slow.setTimeout, promisify.custom, { enumerable: true, get: () => slowPause })
  Object.assign(globalThis, slow)
  Object.assign(timers, slow)
  Object.assign(timersPromises, { setTimeout: slowPause, setInterval: (ms, ...args) => ticks(late(ms), ...args) })
  syncBuiltinESMExports()
}

/** Stops this process now and then. It does not keep it from ending. */
function stall(random, after = globalThis.setTimeout) {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const next = () => {
    after(
      () => {
        Atomics.wait(cell, 0, 0, between(random, STALL_MS))
        next()
      },
      between(random, BETWEEN_STALLS_MS),
    ).unref()
  }
  next()
}

const seed = process.env.SLOW_TIMERS_SEED
if (seed !== undefined) {
  // Each program is late by another amount.
  const program = process.argv[1] ?? ''
  stall(randomOf(`stalls ${seed} ${program}`))
  slowTimers(lateTimes(randomOf(`${seed} ${program}`)))
}
