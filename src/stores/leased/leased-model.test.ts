import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../../core/limit.ts'
import { inOneWindow, overAdmitted, playSchedule, type Weather } from './leased-model.suite.ts'

const LIMITS: readonly LimitOptions[] = [
  { algorithm: 'sliding_log', limit: 12, window: 300 },
  { algorithm: 'sliding_window', limit: 15, window: 400 },
  { algorithm: 'sliding_window', limit: 16, window: 400, subWindows: 4 },
  { algorithm: 'fixed_window', limit: 25, window: 400 },
  { algorithm: 'token_bucket', limit: 30, window: 600, burst: 12 },
  { algorithm: 'gcra', limit: 50, window: 500, burst: 20 },
]

const CALM: Weather = { isLossy: false, crashes: false, clocksJump: false, isLayered: false }
const WEATHERS: Readonly<Record<string, Weather>> = {
  'in calm': CALM,
  'with lost, late and doubled messages': { ...CALM, isLossy: true },
  'with crashes': { ...CALM, crashes: true, isLossy: true },
  'with clocks that jump': { ...CALM, clocksJump: true, isLossy: true },
  'with everything together': { ...CALM, isLossy: true, crashes: true, clocksJump: true },
  'as leases of a lease': { ...CALM, isLayered: true, isLossy: true, crashes: true },
}

/** More of them find rarer faults: SLUICE_SCHEDULES=20000 is a quarter of an hour. */
const SCHEDULES = Number(process.env.SLUICE_SCHEDULES ?? 100)
const STEPS = 50

describe.each(Object.entries(WEATHERS))('leased, %s', (_, weather) => {
  it.each(LIMITS)('admits no more than exact counting: $algorithm of $limit', async (options) => {
    const limit = compileLimit(options)
    let admittedInAll = 0
    let refusedInAll = 0
    let decidedInAll = 0
    let lentInAll = 0
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const played = await playSchedule(seed, options, weather, STEPS)
      const extra = weather.clocksJump && limit.algorithm === 'fixed_window' ? limit.max : 0
      const complaint = played.complaint ?? overAdmitted(limit, played.admitted, extra)
      if (complaint !== undefined) expect.fail(`seed ${seed}: ${complaint}`)
      if (limit.algorithm === 'fixed_window' && !weather.clocksJump) {
        const most = inOneWindow(limit, played.admitted)
        if (most > limit.max) expect.fail(`seed ${seed}: ${most} in one window`)
      }
      if (played.leftAtEnd !== limit.capacity)
        expect.fail(`seed ${seed}: ${played.leftAtEnd} left of ${limit.capacity}`)
      admittedInAll += played.admitted.length
      refusedInAll += played.refused
      decidedInAll += played.decided
      lentInAll += played.lent
    }
    // Schedules that never meet the limit prove nothing.
    expect(admittedInAll).toBeGreaterThan(SCHEDULES)
    expect(refusedInAll).toBeGreaterThan(SCHEDULES / 10)
    // Nor do those in which nobody begins without a slice, beside others who have one.
    expect(decidedInAll).toBeGreaterThan(SCHEDULES)
    // A node of the middle mostly lends on what it holds, or asks the lender itself.
    if (!weather.isLayered) expect(lentInAll).toBeGreaterThan(SCHEDULES / 100)
  })
})
