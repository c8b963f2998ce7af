import { expect, it } from 'vitest'
import { wholeNumber } from './whole-number.ts'

it.each([
  ['500', 500],
  [' 1,000 ', 1_000],
  ["12'000", 12_000],
  ['5k', 5_000],
  ['2M', 2_000_000],
  ['0', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['', undefined],
  ['1e9', undefined],
  ['99999999999999999999', undefined],
])('%o is %o', (typed, value) => {
  expect(wholeNumber(typed)).toBe(value)
})
