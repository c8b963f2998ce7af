import { describe, expect, it } from 'vitest'
import type { Priority } from './priority.ts'
import { utilisationOf } from './utilisation.ts'
import { WorkerLaw, type WorkerLawOptions } from './worker-law.ts'

const SAMPLE_MS = 100
/** Requests a second that the worker can serve. */
const CAPACITY = 1_000
/** Of what is offered: critical, writes, reads, tests. */
const MIX: readonly number[] = [0.15, 0.25, 0.3, 0.3]
/** Who waits for longer has no answer. */
const PATIENCE_MS = 5_000

interface Second {
  readonly offered: number[]
  readonly served: number[]
  readonly level: number
}

/** Returns numbers from 0 up to 1, always the same. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/**
 * A worker with one queue, whose requests arrive and take as long as chance has it. What it sees of itself is how long
 * those that it began had waited, as an event loop does.
 */
function simulate(load: (second: number) => number, seconds: number, options: WorkerLawOptions = {}): Second[] {
  const law = new WorkerLaw(options)
  const random = seeded(7)
  const pause = (ratePerMs: number): number => -Math.log(1 - random()) / ratePerMs
  const result: Second[] = []
  let freeAtMs = 0
  let nextMs = 0
  for (let second = 0; second < seconds; second++) {
    const offered = [0, 0, 0, 0]
    const served = [0, 0, 0, 0]
    const rate = (load(second) * CAPACITY) / 1_000
    for (let endMs = second * 1_000 + SAMPLE_MS; endMs <= (second + 1) * 1_000; endMs += SAMPLE_MS) {
      for (; nextMs < endMs; nextMs += pause(rate)) {
        const priority = classOf(random())
        offered[priority]++
        if (law.sheds(priority, random())) continue
        const waitMs = Math.max(0, freeAtMs - nextMs)
        freeAtMs = Math.max(freeAtMs, nextMs) + pause(CAPACITY / 1_000)
        if (waitMs < PATIENCE_MS) served[priority]++
      }
      const delayMs = Math.max(0, freeAtMs - endMs)
      law.sample(utilisationOf({ delayMs, inFlight: 0, latencyMs: 0 }, { delayMs: 50 }), SAMPLE_MS)
    }
    result.push({ offered, served, level: law.level })
  }
  return result
}

function classOf(dice: number): Priority {
  let rest = dice
  for (let priority = 0; priority < 3; priority++) {
    if (rest < MIX[priority]) return priority as Priority
    rest -= MIX[priority]
  }
  return 3
}

function servedShare(seconds: readonly Second[], priority: Priority): number {
  const sum = (of: 'served' | 'offered'): number => seconds.reduce((all, second) => all + second[of][priority], 0)
  return sum('served') / sum('offered')
}

describe('a worker that is offered four times what it can serve', () => {
  const OVERLOAD_FROM = 10
  const OVERLOAD_TO = 70
  const run = simulate((second) => (second >= OVERLOAD_FROM && second < OVERLOAD_TO ? 4 : 0.5), 100)
  const overload = run.slice(OVERLOAD_FROM, OVERLOAD_TO)
  const settled = overload.slice(5)

  it('sheds nothing before', () => {
    expect(run.slice(0, OVERLOAD_FROM).every(({ level }) => level === 0)).toBe(true)
  })

  it('serves 99 % of what is critical, from the first second on', () => {
    expect(servedShare(overload, 0)).toBeGreaterThanOrEqual(0.99)
  })

  it('sheds all test traffic and reads, and of writes only what it cannot serve', () => {
    expect(servedShare(settled, 3)).toBe(0)
    expect(servedShare(settled, 2)).toBeLessThan(0.05)
    const writes = servedShare(settled, 1)
    expect(writes).toBeGreaterThan(0.25)
    expect(writes).toBeLessThan(0.45)
  })

  it('stays busy: what is shed leaves no capacity unused', () => {
    const served = settled.reduce((all, second) => all + second.served.reduce((sum, each) => sum + each, 0), 0)
    expect(served / settled.length).toBeGreaterThan(0.9 * CAPACITY)
  })

  it('does not flap: the level stays near where it came to rest', () => {
    const levels = settled.map(({ level }) => level)
    const mean = levels.reduce((all, level) => all + level, 0) / levels.length
    for (const level of levels) expect(Math.abs(level - mean)).toBeLessThan(0.4)
  })

  it('recovers within seconds, the important ones first', () => {
    const secondsLater = (seconds: number): Second => run[OVERLOAD_TO + seconds]
    expect(secondsLater(7).served[1] / secondsLater(7).offered[1]).toBeGreaterThan(0.99)
    expect(secondsLater(20).level).toBe(0)
    expect(secondsLater(20).served).toEqual(secondsLater(20).offered)
  })
})

describe('a worker that is offered slightly more than it can serve', () => {
  it('sheds some test traffic and nothing else', () => {
    const run = simulate(() => 1.1, 90).slice(30)
    expect(servedShare(run, 0)).toBe(1)
    expect(servedShare(run, 1)).toBe(1)
    expect(servedShare(run, 2)).toBeGreaterThan(0.97)
    expect(servedShare(run, 3)).toBeGreaterThan(0.3)
    expect(servedShare(run, 3)).toBeLessThan(0.9)
  })
})

describe('a worker whose load swings between four times its capacity and a fifth of it', () => {
  it.each([2, 5, 15])('every %d s serves what is critical all the time', (half) => {
    const run = simulate((second) => (second % (2 * half) < half ? 4 : 0.2), 60)
    expect(servedShare(run, 0)).toBeGreaterThanOrEqual(0.99)
  })
})
