import { expect, test } from 'vitest'
import { formatRate, formatShare } from './rate.ts'

test.each([
  [0, '0'],
  [0.02, '<0.1'],
  [0.4, '0.4'],
  [9.99, '9.9'],
  [10.9, '10'],
  [1_250, '1.2k'],
])('%d a second reads as %s', (rate, expected) => {
  expect(formatRate(rate)).toBe(expected)
})

test.each([
  [0, '0 %'],
  [0.0004, '<0.1 %'],
  [0.032, '3.2 %'],
  [0.5, '50 %'],
  [0.9999, '99 %'],
  [1, '100 %'],
  [1.2, '100 %'],
])('a share of %d reads as %s', (share, expected) => {
  expect(formatShare(share)).toBe(expected)
})
