import { compileLimit, type Limit, type LimitOptions } from 'sluice/internal/core/limit'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { type HourCounts, refusedAfter } from './refused-after.ts'

const HOUR = 3_600_000
/** A whole hour, which no day begins with. */
const FROM_MS = 500_003 * HOUR

const fixed = (limit: number, window: LimitOptions['window'] = '1h'): Limit =>
  compileLimit({ limit, window, algorithm: 'fixed_window' })
const CHANGE = { isOneCounter: true, hasOthers: false, fromMs: FROM_MS, toMs: FROM_MS + HOUR }
const counts = (allowed: number, refused: number, cost = allowed): HourCounts => ({ allowed, refused, cost })
const range = (of: HourCounts, before: Limit | undefined, after: Limit | undefined, more = {}) => {
  const { atLeast, atMost } = refusedAfter(of, { ...CHANGE, before, after, ...more })
  return [atLeast, atMost]
}

describe('what would have been refused', () => {
  it.each<[claim: string, of: HourCounts, before: Limit | undefined, after: Limit | undefined, bounds: number[]]>([
    ['a raise of an hourly limit', counts(100, 50), fixed(100), fixed(120), [30, 30]],
    ['a raise beyond all that came', counts(100, 50), fixed(100), fixed(1_000), [0, 0]],
    ['a raise of a daily limit', counts(40, 50), fixed(100, '1d'), fixed(120, '1d'), [30, 30]],
    ['a raise by the minute', counts(600, 500), fixed(10, '1m'), fixed(11, '1m'), [440, 499]],
    ['a lower hourly limit', counts(80, 0), fixed(100), fixed(60), [20, 20]],
    ['a lower daily limit that was full', counts(40, 5), fixed(100, '1d'), fixed(90, '1d'), [15, 15]],
    ['a lower daily limit that had room', counts(40, 0), fixed(100, '1d'), fixed(90, '1d'), [0, 10]],
    ['no limit any more', counts(100, 50), fixed(100), undefined, [0, 0]],
    ['another unit, with room for all', counts(100, 50), fixed(100), fixed(200, '1d'), [0, 0]],
    ['another unit, by the minute', counts(100, 50), fixed(100), fixed(1, '1m'), [90, 149]],
    ['no request', counts(0, 0), fixed(100), fixed(1), [0, 0]],
    ['a limit of 0', counts(100, 50), fixed(100), fixed(0), [150, 150]],
  ])('is bounded by sums of an hour: %s', (_, of, before, after, bounds) => {
    expect(range(of, before, after)).toEqual(bounds)
  })

  it('is not computed from sums of several counters, of costs, or together with other limits', () => {
    const raise = [counts(100, 50), fixed(100), fixed(120)] as const
    expect(range(...raise, { isOneCounter: false })).toEqual([0, 30])
    expect(range(...raise, { hasOthers: true })).toEqual([30, 50])
    expect(range(counts(100, 50, 170), fixed(100), fixed(120))).toEqual([0, 50])
    expect(range(counts(100, 50), fixed(100), fixed(60), { isOneCounter: false })).toEqual([50, 150])
  })

  it('says why it is not one number', () => {
    const why = (of: HourCounts, before: Limit, after: Limit, more = {}) =>
      refusedAfter(of, { ...CHANGE, before, after, ...more }).why
    const minutes = [counts(600, 500), fixed(10, '1m'), fixed(11, '1m')] as const
    expect(why(...minutes)).toBe(
      'Use is known by the hour, and this limit counts per 1m: it depends on how the requests were spread.',
    )
    expect(why(...minutes, { isOneCounter: false })).toMatch(/^It has a counter for each value/)
    expect(why(...minutes, { hasOthers: true })).toBe('Other limits may refuse the same requests.')
    expect(why(counts(1, 5, 9), fixed(10), fixed(11))).toMatch(/^Requests cost different amounts/)
    expect(why(counts(100, 50), fixed(100), fixed(120))).toBeUndefined()
  })
})

const SHAPES: readonly Omit<LimitOptions, 'limit'>[] = [
  ...(['1m', '10m', '1h', '1d'] as const).flatMap((window) => [
    { algorithm: 'fixed_window' as const, window },
    { algorithm: 'fixed_window' as const, window, anchor: 'first_hit' as const },
    { algorithm: 'sliding_window' as const, window },
    { algorithm: 'sliding_window' as const, window, subWindows: 6 },
    { algorithm: 'sliding_log' as const, window },
    { algorithm: 'token_bucket' as const, window },
    { algorithm: 'gcra' as const, window },
    { algorithm: 'leaky_bucket' as const, window },
  ]),
  { algorithm: 'fixed_window', calendar: { unit: 'day', timeZone: 'Asia/Kolkata' } },
]

/** mulberry32: numbers of [0, 1) from a seed. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** timesOf draws requests of the hour before and of the hour itself: bursts, and single ones. */
function timesOf(random: () => number): readonly number[] {
  const times: number[] = []
  for (let burst = 0; burst < 8; burst++) {
    const atMs = FROM_MS - HOUR + Math.floor(random() * 2 * HOUR)
    const size = Math.floor(random() ** 2 * 12)
    for (let i = 0; i < size; i++) times.push(atMs + Math.floor(i * random() * 20_000))
  }
  return times.filter((ms) => ms < FROM_MS + HOUR).sort((a, b) => a - b)
}

/** Makes requests; `during` decides those of the hour itself. It returns what became of these. */
function play(times: readonly number[], earlier: Limit, during: Limit): HourCounts {
  let nowMs = 0
  const store = new MemoryStore({ clock: { nowMs: () => nowMs } })
  let [allowed, refused] = [0, 0]
  for (const ms of times) {
    nowMs = ms
    const limit = ms < FROM_MS ? earlier : during
    const [verdict] = store.decide([{ key: 'k', limit, cost: 1, enforce: true }])
    if (ms < FROM_MS) continue
    if (verdict.allowed) allowed++
    else refused++
  }
  return { allowed, refused, cost: allowed }
}

describe('bounds of what would have been refused', () => {
  const ROUNDS = 60
  it.each(SHAPES.map((shape) => [JSON.stringify(shape), shape] as const))(
    'hold for requests at any time: %s',
    (_, shape) => {
      for (let seed = 1; seed <= ROUNDS; seed++) {
        const random = numbersFrom(seed)
        const times = timesOf(random)
        const [was, will] = [1 + Math.floor(random() * 20), 1 + Math.floor(random() * 20)]
        const [before, after] = [compileLimit({ ...shape, limit: was }), compileLimit({ ...shape, limit: will })]
        const known = play(times, before, before)
        const { refused } = play(times, before, after)
        const { atLeast, atMost } = refusedAfter(known, { ...CHANGE, before, after })
        const story = `seed ${seed}: ${was} → ${will}, ${JSON.stringify(known)}: ${refused} refused, of ${atLeast} to ${atMost}`
        expect(refused >= atLeast && refused <= atMost, story).toBe(true)
      }
    },
  )

  it('hold for a change to another algorithm or window, which counts from nothing', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = numbersFrom(seed)
      const times = timesOf(random)
      const pick = () =>
        compileLimit({ ...SHAPES[Math.floor(random() * SHAPES.length)], limit: 1 + Math.floor(random() * 20) })
      const [before, after] = [pick(), pick()]
      if (before.shape === after.shape) continue
      const known = play(times, before, before)
      const { refused } = play(times, before, after)
      const { atLeast, atMost } = refusedAfter(known, { ...CHANGE, before, after })
      const story = `seed ${seed}: ${before.shape} ${before.max} → ${after.shape} ${after.max}, ${JSON.stringify(known)}`
      expect(refused >= atLeast && refused <= atMost, `${story}: ${refused} refused, of ${atLeast} to ${atMost}`).toBe(
        true,
      )
    }
  })
})
