import { describe, expect, it } from 'vitest'
import { type Algorithm, compileLimit } from '../limit.ts'
import { admit } from './oracle.suite.ts'

const WINDOWED = ['sliding_window', 'token_bucket', 'gcra', 'leaky_bucket', 'fixed_window', 'sliding_log'] as const
const STARTS = ['2026-01-01', '2038-01-19', '2099-12-31'] as const
const LENGTHS = ['1s', '25d', '30d', '365d', '3650d'] as const

const cases = WINDOWED.flatMap((algorithm) => LENGTHS.map((window): [Algorithm, string] => [algorithm, window]))

describe('a window of any length', () => {
  it.each(cases)('%s admits exactly 2 of 10 in %s', (algorithm, window) => {
    const limit = compileLimit({ algorithm, limit: 2, window })
    for (const start of STARTS) {
      const aligned = Math.ceil(Date.parse(start) / limit.windowMs) * limit.windowMs
      const tenWithin = Array.from({ length: 10 }, (_, index) => aligned + index)
      expect(admit(limit, tenWithin)).toHaveLength(2)
    }
  })

  it.each(WINDOWED)('%s admits 2 in each window of 1 ms', (algorithm) => {
    const limit = compileLimit({ algorithm, limit: 2, window: 1 })
    const threeEach = Array.from({ length: 300 }, (_, index) => 4_102_444_700_000 + 2 * Math.floor(index / 3))
    expect(admit(limit, threeEach)).toHaveLength(200)
  })
})
