import type { LimitOptions } from '../limit.ts'
import type { Schedule } from './schedule.suite.ts'

/** The shrunk cases with which properties failed once. Every property of a kind runs them first. */
export const REGRESSIONS: Readonly<Record<string, [LimitOptions, Schedule][]>> = {
  // A counter emptied by a refund after the clock went back kept its window off the grid.
  fixed_window: [
    [
      { algorithm: 'fixed_window', limit: 1, window: 2 },
      {
        startMs: 2,
        moves: [
          [
            ['ms', 0],
            ['hits', 1],
          ],
          [
            ['back', 0],
            ['hits', -1],
          ],
          [
            ['ms', 0],
            ['hits', 0],
          ],
        ],
      },
    ],
  ],
  'fixed_window on a calendar': [
    [
      { algorithm: 'fixed_window', limit: 1, calendar: { unit: 'day', timeZone: 'UTC' } },
      {
        startMs: 23_400_000_001,
        moves: [
          [
            ['ms', 0],
            ['hits', 1],
          ],
          [
            ['back', 10],
            ['hits', 0],
          ],
          [
            ['ms', 0],
            ['hits', -1],
          ],
        ],
      },
    ],
  ],
  // The same, and: products above 2^53 made `remaining` one too small, or a wait one millisecond too long.
  sliding_window: [
    [
      { limit: 1, window: 2 },
      {
        startMs: 0,
        moves: [
          [
            ['ms', 0],
            ['hits', 1],
          ],
          [
            ['edge', 0],
            ['hits', 0],
          ],
          [
            ['back', 0],
            ['hits', 1],
          ],
          [
            ['part', -1],
            ['hits', 0],
          ],
        ],
      },
    ],
    [
      { limit: 65_017, window: 211_731_726_557 },
      {
        startMs: 0,
        moves: [
          [
            ['ms', 0],
            ['hits', 1],
          ],
          [
            ['edge', 0],
            ['left', -1],
          ],
          [
            ['edge', 0],
            ['hits', 0],
          ],
          [
            ['edge', -1],
            ['hits', 1],
          ],
        ],
      },
    ],
  ],
  // In the year 2100 the arrival time of a bucket that takes decades to fill was above 2^53 units.
  gcra: [
    [
      { algorithm: 'gcra', limit: 284_957, window: 315_360_000_000, burst: 592_440 },
      {
        startMs: 4_102_444_800_000,
        moves: [
          [
            ['ms', 0],
            ['left', -1],
          ],
          [
            ['back', 0],
            ['hits', 0],
          ],
        ],
      },
    ],
  ],
  leaky_bucket: [
    [
      { algorithm: 'leaky_bucket', limit: 2053, window: 2_592_000_000, burst: 974_840 },
      {
        startMs: 4_102_444_800_000,
        moves: [
          [
            ['ms', 0],
            ['left', -1],
          ],
        ],
      },
    ],
  ],
}
