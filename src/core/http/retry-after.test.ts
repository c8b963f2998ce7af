import { describe, expect, it } from 'vitest'
import { combine, UNLIMITED } from '../combine.ts'
import { allowed, impossible, refused, verdictBy } from '../verdicts.suite.ts'
import { retryAfterSeconds } from './retry-after.ts'

describe('retryAfterSeconds', () => {
  it.each([
    [0, 1],
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [59_999, 60],
    [86_400_000, 86_400],
  ])('says of a refusal for %i ms: %i s', (retryAfterMs, seconds) => {
    expect(retryAfterSeconds(combine([verdictBy('a', refused(retryAfterMs))]))).toBe(seconds)
  })

  it('says nothing of a request that passes', () => {
    expect(retryAfterSeconds(combine([verdictBy('a', allowed(0))]))).toBeUndefined()
    expect(retryAfterSeconds(UNLIMITED)).toBeUndefined()
  })

  it('says nothing where waiting never helps', () => {
    expect(retryAfterSeconds(combine([verdictBy('a', refused(500)), verdictBy('b', impossible())]))).toBeUndefined()
  })
})
