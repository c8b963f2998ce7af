import { MemoryStore } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { rateLimit } from '../../dist/index.js'

/**
 * Each contestant is used as its documentation says, in separate loops, so that none pays for another's calling
 * convention. The last answer is kept, as a server keeps it to write its headers: no compiler may leave it out.
 *
 *   run(keys)       makes one decision for each key, and returns how many were refused
 *   runTimed(keys)  makes one decision for each key, and returns how long each took, in ms
 *   drain(key)      spends the whole budget of a key
 *   reset(key)      gives it back
 */
export const contestants = {
  sluice,
  'sluice, awaited': sluiceAwaited,
  'rate-limiter-flexible': flexible,
  'express-rate-limit': express,
}

/** Holds the last answer. */
export const kept = { answer: undefined }

function sluice({ limit, windowMs, ...options }) {
  const limiter = rateLimit({ limit, window: `${windowMs}ms`, ...options })
  return {
    run(keys) {
      let refused = 0
      for (let i = 0; i < keys.length; i++) {
        const verdict = limiter.check(keys[i])
        if (!verdict.allowed) refused++
        kept.answer = verdict
      }
      return refused
    },
    runTimed(keys) {
      const times = new Float64Array(keys.length)
      for (let i = 0; i < keys.length; i++) {
        const start = performance.now()
        kept.answer = limiter.check(keys[i])
        times[i] = performance.now() - start
      }
      return times
    },
    drain: (key) => limiter.check(key, limit),
    reset: (key) => limiter.reset(key),
  }
}

/** Shows what a promise alone would cost: a check need not be awaited. */
function sluiceAwaited({ limit, windowMs }) {
  const limiter = rateLimit({ limit, window: `${windowMs}ms` })
  return {
    async run(keys) {
      let refused = 0
      for (let i = 0; i < keys.length; i++) {
        const verdict = await limiter.check(keys[i])
        if (!verdict.allowed) refused++
        kept.answer = verdict
      }
      return refused
    },
    drain: (key) => limiter.check(key, limit),
  }
}

function flexible({ limit, windowMs }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
  return {
    async run(keys) {
      let refused = 0
      for (let i = 0; i < keys.length; i++) {
        try {
          kept.answer = await limiter.consume(keys[i])
        } catch (refusal) {
          refused++
          kept.answer = refusal
        }
      }
      return refused
    },
    async runTimed(keys) {
      const times = new Float64Array(keys.length)
      for (let i = 0; i < keys.length; i++) {
        const start = performance.now()
        kept.answer = await limiter.consume(keys[i])
        times[i] = performance.now() - start
      }
      return times
    },
    drain: (key) => limiter.consume(key, limit),
    reset: (key) => limiter.delete(key),
  }
}

/** The store alone, which only counts: the middleware around it compares the count with the limit. */
function express({ windowMs }) {
  const store = new MemoryStore()
  store.init({ windowMs })
  return {
    async run(keys) {
      for (let i = 0; i < keys.length; i++) kept.answer = await store.increment(keys[i])
      return 0
    },
    async runTimed(keys) {
      const times = new Float64Array(keys.length)
      for (let i = 0; i < keys.length; i++) {
        const start = performance.now()
        kept.answer = await store.increment(keys[i])
        times[i] = performance.now() - start
      }
      return times
    },
    reset: (key) => store.resetKey(key),
  }
}
