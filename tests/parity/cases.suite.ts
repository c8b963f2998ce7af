import type { Kind } from '../../src/core/algorithms/arbitraries.suite.ts'
import type { Schedule } from '../../src/core/algorithms/schedule.suite.ts'
import type { LimitOptions } from '../../src/core/limit.ts'

/** Those in which the script once differed from the algorithms; every run repeats them. */
export const CASES: Readonly<Partial<Record<Kind, readonly (readonly [LimitOptions, Schedule])[]>>> = {
  // An impossible cost at the very moment of expiry left a key that was worth nothing, and that a clock which was then
  // set back found again.
  gcra: [
    [
      { algorithm: 'gcra', limit: 4, window: 4 },
      {
        startMs: 402_570_992_747,
        moves: [
          [
            ['ms', 0],
            ['hits', 1],
          ],
          [
            ['ms', 1],
            ['hits', 5],
          ],
          [
            ['back', 10],
            ['hits', 0],
          ],
        ],
      },
    ],
  ],
  // A window that a clock which was set back moved off the calendar ended with the month after, which was shorter.
  'fixed_window on a calendar': [
    [
      { algorithm: 'fixed_window', limit: 3, calendar: { unit: 'month', timeZone: 'Asia/Kathmandu' } },
      {
        startMs: 2_658_600_000,
        moves: [
          [
            ['ms', 0],
            ['hits', 2],
          ],
          [
            ['ms', -1],
            ['hits', 1],
          ],
          [
            ['ms', 2_419_200_002],
            ['hits', 0],
          ],
        ],
      },
    ],
  ],
}
