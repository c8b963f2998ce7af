import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Priority } from './priority.ts'
import { utilisationOf } from './utilisation.ts'
import { WorkerLaw, type WorkerLawOptions } from './worker-law.ts'

const STEP_MS = 500
const PRIORITIES: readonly Priority[] = [0, 1, 2, 3]

/** held is a law after utilisation was one value for so long. */
function hold(law: WorkerLaw, utilisation: number, ms: number): WorkerLaw {
  for (let at = 0; at < ms; at += STEP_MS) law.sample(utilisation, STEP_MS)
  return law
}

const shares = (law: WorkerLaw): number[] => PRIORITIES.map((priority) => law.share(priority))

describe('utilisation', () => {
  it.each([
    [{ delayMs: 0, inFlight: 0, latencyMs: 0 }, 0],
    [{ delayMs: 25, inFlight: 0, latencyMs: 0 }, 0.5],
    [{ delayMs: 25, inFlight: 80, latencyMs: 0 }, 0.8],
    [{ delayMs: 25, inFlight: 80, latencyMs: 900 }, 0.9],
    [{ delayMs: 200, inFlight: 80, latencyMs: 900 }, 4],
    [{ delayMs: Number.NaN, inFlight: 10, latencyMs: -5 }, 0.1],
  ])('of %j is %d: the sign that is closest to its bound decides', (sample, expected) => {
    expect(utilisationOf(sample, { delayMs: 50, inFlight: 100, latencyMs: 1_000 })).toBeCloseTo(expected)
  })

  it('is not made of signs without a bound', () => {
    expect(utilisationOf({ delayMs: 5, inFlight: 1e9, latencyMs: 1e9 }, { delayMs: 50 })).toBeCloseTo(0.1)
  })
})

describe('a worker', () => {
  it.each<[number, number[]]>([
    [0, [0, 0, 0, 0]],
    [0.69, [0, 0, 0, 0]],
    [0.7, [0, 0, 0, 1]],
    [0.79, [0, 0, 0, 1]],
    [0.8, [0, 0, 1, 1]],
    [0.89, [0, 0, 1, 1]],
    [0.9, [0, 1, 1, 1]],
    [5, [0, 1, 1, 1]],
  ])('that is used to %d for long sheds the shares %j', (utilisation, expected) => {
    expect(shares(hold(new WorkerLaw(), utilisation, 60_000))).toEqual(expected)
  })

  it('sheds nothing before it is sure, and then a growing share', () => {
    const law = new WorkerLaw({ afterMs: 1_000, overMs: 5_000 })
    const seen = Array.from({ length: 8 }, () => hold(law, 0.75, STEP_MS).share(3))
    expect(seen.map((share) => Math.round(share * 100))).toEqual([0, 0, 10, 20, 30, 40, 50, 60])
  })

  it('takes 28 and 120 seconds where it is configured to, in fractions', () => {
    const law = new WorkerLaw({ afterMs: 28_000, overMs: 120_000 })
    expect(hold(law, 0.75, 28_000).share(3)).toBe(0)
    expect(hold(law, 0.75, 60_000).share(3)).toBeCloseTo(0.5)
    expect(hold(law, 0.75, 60_000).share(3)).toBe(1)
  })

  it('is faster the more it is overloaded, up to twenty times, and begins sooner', () => {
    const levelAfter = (utilisation: number): number => {
      const law = new WorkerLaw()
      for (let i = 0; i < 3; i++) law.sample(utilisation, 100)
      return law.level
    }
    expect([0.9, 2, 4, 10, 20, 400].map(levelAfter)).toEqual([0, 0, 0.08, 0.2, 0.4, 0.4])
  })

  it('takes one stall for a stall, which two samples are about', () => {
    const law = new WorkerLaw({ afterMs: 0 })
    for (let i = 0; i < 100; i++) {
      law.sample(100, 5_000)
      law.sample(100, 100)
      law.sample(0, 100)
      expect(law.level).toBe(0)
    }
  })

  it('stays as it is in the gap, and lets requests in again below it, the most important first', () => {
    const law = hold(new WorkerLaw(), 0.95, 60_000)
    expect(hold(law, 0.85, 60_000).level).toBe(3)
    expect(hold(law, 0.75, 60_000).level).toBe(2)
    expect(hold(law, 0.65, 60_000).level).toBe(1)
    expect(hold(law, 0.59, 60_000).level).toBe(0)
  })

  it('recovers from everything within seconds once nothing is asked of it', () => {
    const law = hold(new WorkerLaw(), 4, 60_000)
    expect(law.level).toBe(3)
    expect(hold(law, 0, 16_000).level).toBe(0)
  })

  it('takes a long stop of its process for a short one', () => {
    const law = hold(new WorkerLaw({ afterMs: 0 }), 1, 1_500)
    expect(law.level).toBeCloseTo(0.1)
    law.sample(1, 3_600_000)
    expect(law.level).toBeCloseTo(0.3)
    law.sample(1, -5)
    expect(law.level).toBeCloseTo(0.3)
  })

  it('sheds by dice: the share of them, and no more', () => {
    const law = new WorkerLaw({ afterMs: 0, overMs: 4_000 })
    for (const stepMs of [0, 0, 1_000]) law.sample(0.7, stepMs)
    const dice = Array.from({ length: 100 }, (_, i) => i / 100)
    expect(dice.filter((each) => law.sheds(3, each))).toHaveLength(25)
    expect(dice.some((each) => law.sheds(2, each) || law.sheds(0, each))).toBe(false)
  })
})

const loads = fc.array(fc.double({ min: 0, max: 6, noNaN: true }), { minLength: 1, maxLength: 120 })
const options: fc.Arbitrary<WorkerLawOptions> = fc.record({
  afterMs: fc.integer({ min: 0, max: 30_000 }),
  overMs: fc.integer({ min: 100, max: 120_000 }),
})

describe('whatever the load', () => {
  it('critical requests are never shed, and none is while a less important one is admitted', () => {
    fc.assert(
      fc.property(loads, options, (load, given) => {
        const law = new WorkerLaw(given)
        for (const each of load) {
          law.sample(each, STEP_MS)
          const [critical, write, read, test] = shares(law)
          if (critical !== 0 || law.sheds(0, 0)) return false
          if (write > 0 && read < 1) return false
          if (read > 0 && test < 1) return false
          if (law.level < 0 || law.level > 3) return false
        }
        return true
      }),
    )
  })

  it('a higher one never sheds less', () => {
    fc.assert(
      fc.property(loads, loads, options, (load, more, given) => {
        const low = new WorkerLaw(given)
        const high = new WorkerLaw(given)
        return load.every((each, i) => {
          low.sample(each, STEP_MS)
          high.sample(each + (more[i] ?? 0), STEP_MS)
          return high.level >= low.level
        })
      }),
    )
  })

  it('all are admitted again after it', () => {
    fc.assert(
      fc.property(loads, (load) => {
        const law = new WorkerLaw()
        for (const each of load) law.sample(each, STEP_MS)
        return hold(law, 0.5, 40_000).level === 0
      }),
    )
  })
})

describe('a load that swings', () => {
  it.each([500, 1_000])('every %d ms does not begin to shed: it is never above for long enough', (halfMs) => {
    const law = new WorkerLaw({ afterMs: 1_000 })
    for (let i = 0; i < 100; i++) {
      hold(law, 0.95, halfMs)
      hold(law, 0.3, halfMs)
      expect(law.level).toBe(0)
    }
  })

  it.each([500, 1_000, 2_000])('every %d ms around a bound changes direction no more than once', (halfMs) => {
    const law = hold(new WorkerLaw(), 0.85, 60_000)
    const levels: number[] = []
    for (let i = 0; i < 50; i++) levels.push(hold(law, 0.92, halfMs).level, hold(law, 0.83, halfMs).level)
    expect(turns(levels)).toBeLessThanOrEqual(1)
  })
})

/** Counts how often a sequence changes its direction. */
function turns(levels: readonly number[]): number {
  const moves = levels.slice(1).flatMap((level, i) => (level === levels[i] ? [] : [Math.sign(level - levels[i])]))
  return moves.slice(1).filter((move, i) => move !== moves[i]).length
}
