import { describe, expect, it } from 'vitest'
import { ADAPTIVE, AdaptiveConcurrency } from './adaptive-concurrency.ts'
import type { Priority } from './priority.ts'

describe('adaptive concurrency', () => {
  it('takes as many as its limit, and one more when one has ended', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 2, min: 1 })
    expect([adaptive.begin(), adaptive.begin(), adaptive.begin()]).toEqual([true, true, false])
    adaptive.end(0, undefined)
    expect([adaptive.inFlight, adaptive.begin()]).toEqual([1, true])
  })

  it('learns once a second, from at least ten requests', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 20 })
    const round = (nowMs: number, times: number): number => {
      for (let i = 0; i < times; i++) adaptive.begin()
      for (let i = 0; i < times; i++) adaptive.end(nowMs, 10)
      return adaptive.limit
    }
    expect([round(0, 20), round(900, 20), round(1_000, 20), round(1_500, 20)]).toEqual([20, 20, 20, 20])
    for (let second = 2; second < 20; second++) round(second * 1_000, 20)
    expect(adaptive.limit).toBeGreaterThan(25)
  })

  it('is not fooled by more ends than beginnings', () => {
    const adaptive = new AdaptiveConcurrency()
    adaptive.end(0, 1)
    expect(adaptive.inFlight).toBe(0)
  })

  it('is full for what matters less sooner', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 20, min: 1 })
    const fill = (priority: Priority): number => {
      while (adaptive.begin(priority));
      return adaptive.inFlight
    }
    expect([fill(3), fill(2), fill(1), fill(0)]).toEqual([12, 13, 15, 20])
  })

  it('has at least one slot for everyone,', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 1, min: 1 })
    expect([3, 2, 1, 0].map((priority) => adaptive.hasRoom(priority as Priority))).toEqual([true, true, true, true])
  })
})

/** Returns numbers from 0 up to 1, always the same. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const WORKERS = 20

interface Phase {
  readonly seconds: number
  /** Of the capacity that the upstream has with its first time. */
  readonly load: number
  readonly serviceMs: number
}

/**
 * An upstream of twenty workers behind a limit: for each phase, what was shed of each priority, and how long the rest
 * took.
 */
function simulate(phases: readonly Phase[]) {
  const adaptive = new AdaptiveConcurrency({ ...ADAPTIVE, max: 256 })
  const random = seeded(7)
  const freeAt = new Float64Array(WORKERS)
  const capacity = WORKERS / (phases[0] as Phase).serviceMs
  let ends: { atMs: number; tookMs: number }[] = []
  let nowMs = 0
  let endMs = 0
  return phases.map(({ seconds, load, serviceMs }) => {
    const times: number[][] = [[], [], [], []]
    const shed = [0, 0, 0, 0]
    endMs += seconds * 1_000
    for (; nowMs < endMs; nowMs += -Math.log(1 - random()) / (load * capacity)) {
      const due = ends.filter(({ atMs }) => atMs <= nowMs).sort((one, other) => one.atMs - other.atMs)
      if (due.length > 0) ends = ends.filter(({ atMs }) => atMs > nowMs)
      for (const { atMs, tookMs } of due) adaptive.end(atMs, tookMs)
      const dice = random()
      const priority = (dice < 0.1 ? 0 : dice < 0.3 ? 1 : dice < 0.6 ? 2 : 3) as Priority
      if (!adaptive.begin(priority)) {
        shed[priority]++
        continue
      }
      const worker = freeAt.indexOf(Math.min(...freeAt))
      const doneMs = Math.max(freeAt[worker], nowMs) + serviceMs
      freeAt[worker] = doneMs
      times[priority].push(doneMs - nowMs)
      ends.push({ atMs: doneMs, tookMs: doneMs - nowMs })
    }
    const share = shed.map((count, priority) => count / (count + times[priority].length))
    const p99 = times.map((list) => list.sort((one, other) => one - other)[Math.floor(0.99 * list.length)])
    const perSecond = times.flat().length / seconds
    return { share, p99, perSecond, limit: adaptive.limit, usualMs: adaptive.usualMs }
  })
}

describe('an upstream of a known capacity behind adaptive concurrency', () => {
  const [calm, overload, after] = simulate([
    { seconds: 20, load: 0.5, serviceMs: 50 },
    { seconds: 600, load: 4, serviceMs: 50 },
    { seconds: 20, load: 0.5, serviceMs: 50 },
  ])

  it('serves everything at half of it, but for a burst at the start', () => {
    expect(calm.share.slice(0, 3)).toEqual([0, 0, 0])
    expect(calm.share[3]).toBeLessThan(0.005)
  })

  it('serves what is critical at four times of it, as fast as before', () => {
    expect(overload.share[0]).toBeLessThan(0.01)
    expect(overload.p99[0]).toBeLessThan(1.9 * calm.p99[0])
  })

  it('sheds what matters least first, and stays busy', () => {
    const [, write, read, test] = overload.share
    expect(test).toBeGreaterThan(0.98)
    expect([read > 0.8, read < test, write < 0.5]).toEqual([true, true, true])
    expect(overload.perSecond).toBeGreaterThan(0.95 * 400)
  })

  it('knows after ten minutes of it what is usual, and sheds next to nothing once it is over', () => {
    expect(overload.usualMs).toBeLessThan(60)
    expect(Math.max(...after.share)).toBeLessThan(0.005)
  })

  it('finds out that it has become slower without load, and serves all it can', () => {
    const [, slower, later] = simulate([
      { seconds: 20, load: 0.5, serviceMs: 50 },
      { seconds: 30, load: 0.3, serviceMs: 150 },
      { seconds: 30, load: 0.3, serviceMs: 150 },
    ])
    expect(slower.usualMs).toBeGreaterThan(140)
    expect(Math.max(...later.share)).toBeLessThan(0.01)
  })
})
