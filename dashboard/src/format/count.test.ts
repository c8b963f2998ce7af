import { expect, test } from 'vitest'
import { formatCount } from './count.ts'

test.each([
  [0, '0'],
  [7, '7'],
  [999, '999'],
  [1000, '1k'],
  [1250, '1.2k'],
  [999_999, '999.9k'],
  [1_000_000, '1M'],
  [34_567_890, '34.5M'],
  [999_999_999_999, '999.9G'],
])('%d reads as %s', (count, expected) => {
  expect(formatCount(count)).toBe(expected)
})

test('a count below a thousand has no unit and no fraction', () => {
  expect(formatCount(12.9)).toBe('12')
})
