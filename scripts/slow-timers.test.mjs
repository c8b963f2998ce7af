import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PROPERTY_SEED } from '../tests/seeds/seeds.ts'
import { lateTimes, randomOf } from './slow-timers.mjs'

const preload = new URL('./slow-timers.mjs', import.meta.url).href
test('a timer is late by 5 to 50 ms, in an order that stays', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 100_000 }), (seed, ms) => {
      const late = lateTimes(randomOf(String(seed)))
      expect(late(ms)).toBeGreaterThanOrEqual(ms + 5)
      expect(late(ms)).toBeLessThanOrEqual(ms + 50)
      expect(late(ms + 1)).toBeGreaterThan(late(ms))
    }),
    { seed: PROPERTY_SEED },
  )
})

test('timers are late by the same amount for the same seed, and by others for others', () => {
  const lateBy = (seed) => lateTimes(randomOf(seed))(10)
  const seeds = Array.from({ length: 100 }, (_, i) => String(i))
  expect(seeds.map(lateBy)).toEqual(seeds.map(lateBy))
  expect(new Set(seeds.map(lateBy)).size).toBeGreaterThan(30)
})

test('what is no time, and what is the longest time, is what Node.js takes it for', () => {
  const late = lateTimes(randomOf('1'))
  const shortest = late(1)
  expect([undefined, Number.NaN, 0, -5].map(late)).toEqual([shortest, shortest, shortest, shortest])
  expect(late(2 ** 31 - 1)).toBe(2 ** 31 - 1)
  expect(late(2 ** 31)).toBe(2 ** 31)
})

const SEED = '9'

/** Runs code with slow timers, and returns what it prints as JSON. */
function printed(code) {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    env: { ...process.env, NODE_OPTIONS: `--import ${preload}`, SLOW_TIMERS_SEED: SEED },
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test('timers come in the order of their times, and with their arguments', () => {
  const code = `
    const came = []
    for (const ms of [60, 40, 20, 0]) setTimeout((...args) => came.push(args), ms, ms, 'a')
    setTimeout(() => console.log(JSON.stringify(came)), 100)
  `
  expect(printed(code)).toEqual([0, 20, 40, 60].map((ms) => [ms, 'a']))
})

test('every way to a timer is as late', () => {
  const code = `
    import { setTimeout as callback } from 'node:timers'
    import { setTimeout as pause, setInterval as ticks } from 'node:timers/promises'
    import { promisify } from 'node:util'
    
    const took = async (wait) => {
      const startedAt = performance.now()
      await wait()
      return performance.now() - startedAt
    }
    const ways = {
      global: () => new Promise((resolve) => setTimeout(resolve, 10)),
      module: () => new Promise((resolve) => callback(resolve, 10)),
      promise: () => pause(10),
      promisified: () => promisify(setTimeout)(10),
      interval: () => new Promise((resolve) => { const timer = setInterval(() => { clearInterval(timer); resolve() }, 10) }),
      ticks: async () => { for await (const _ of ticks(10)) break },
    }
    const all = {}
    for (const [name, way] of Object.entries(ways)) all[name] = await took(way)
    console.log(JSON.stringify(all))
  `
  const all = printed(code)
  const late = lateTimes(randomOf(`${SEED} `))(10)
  expect(late).toBeGreaterThan(30)
  // The clocks of timers and of performance.now() are rounded apart.
  for (const ms of Object.values(all)) expect(ms).toBeGreaterThan(late - 2)
})

test('a timer can be stopped, started again and left behind', () => {
  const code = `
    const came = []
    clearTimeout(setTimeout(() => came.push('cleared'), 1))
    setTimeout(() => came.push('left behind'), 1_000_000).unref()
    const again = setTimeout(() => {
      came.push('again')
      if (came.length < 2) again.refresh()
    }, 1)
    process.on('exit', () => console.log(JSON.stringify(came)))
  `
  expect(printed(code)).toEqual(['again', 'again'])
})
