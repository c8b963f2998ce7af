import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileLimit, type Limit } from '../limit.ts'
import { type CounterState, step } from '../step.ts'

/**
 * A Caller sends `cost` every `gap` and starts `phase` into a window, both in parts of which there are `parts` in a
 * millisecond: its hits are evenly spaced to the last bit, and each comes in the millisecond that it falls into.
 */
interface Caller {
  readonly limit: Limit
  readonly cost: number
  readonly gap: number
  readonly phase: number
  readonly parts: number
}

const START_MS = 1_780_000_020_000

/** Returns the number of the first hit that is refused, or undefined. */
function firstRefused({ limit, cost, gap, phase, parts }: Caller, hits: number): number | undefined {
  const base = START_MS - (START_MS % limit.windowMs)
  let state: CounterState | undefined
  for (let n = 0; n < hits; n++) {
    const next = step(state, limit, base + Math.floor((phase + n * gap) / parts), cost)
    if (!next.verdict.allowed) return n
    state = next.state
  }
  return undefined
}

const limits = fc.integer({ min: 1, max: 1000 })
const windows = fc.oneof(
  fc.integer({ min: 1, max: 5000 }),
  fc.constantFrom(1000, 10_000, 60_000, 3_600_000, 86_400_000),
)
const shares = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }))
/** How much slower than the rate, in thousandths of it: not at all, a little, a lot. */
const slowness = fc.oneof(fc.constant(1000), fc.integer({ min: 1000, max: 1010 }), fc.integer({ min: 1000, max: 3000 }))

describe('a caller that keeps to the rate of a sliding window', () => {
  it('gets 60 of 60 for 1 a minute, asked every 61 s', () => {
    const limit = compileLimit({ limit: 1, window: '1m' })
    expect(firstRefused({ limit, cost: 1, gap: 61_000, phase: 0, parts: 1 }, 60)).toBeUndefined()
  })

  it.each([1, 2, 3, 7, 10, 60, 97, 100, 500, 997, 1000])(
    'is never refused at exactly %d in a window, from any millisecond on',
    (max) => {
      const limit = compileLimit({ limit: max, window: 1000 })
      for (let phaseMs = 0; phaseMs < 1000; phaseMs += 37) {
        expect(firstRefused({ limit, cost: 1, gap: 1000, phase: phaseMs * max, parts: max }, 3 * max)).toBeUndefined()
      }
    },
  )

  it('is never refused, for limits from 1 to 1,000, at any even spacing and any phase', () => {
    const claim = (max: number, windowMs: number, share: number, slow: number): void => {
      const limit = compileLimit({ limit: max, window: windowMs })
      const parts = 1000 * max
      const phase = Math.floor(share * windowMs * parts)
      expect(firstRefused({ limit, cost: 1, gap: windowMs * slow, phase, parts }, 3 * max + 3)).toBeUndefined()
    }
    fc.assert(fc.property(limits, windows, shares, slowness, claim), { numRuns: 1500 })
  })

  /* A cost comes at once, but the estimate spreads the window before evenly: only at a rate of L − c + 1 that never hurts. */
  it('is never refused with a cost of c every c × W / (L − c + 1)', () => {
    const claim = (max: number, size: number, windowMs: number, share: number, slow: number): void => {
      const limit = compileLimit({ limit: max, window: windowMs })
      const cost = Math.max(1, Math.round(max * size))
      const parts = 1000 * (max - cost + 1)
      const caller = { limit, cost, gap: cost * windowMs * slow, phase: Math.floor(share * windowMs * parts), parts }
      expect(firstRefused(caller, 3 * Math.ceil(max / cost) + 3)).toBeUndefined()
    }
    fc.assert(fc.property(limits, shares, windows, shares, slowness, claim), { numRuns: 1500 })
  })
})
