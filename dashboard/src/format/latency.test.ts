import { expect, test } from 'vitest'
import { latencyText } from './latency.ts'

test.each([
  [0, '0'],
  [0.0002, '1 µs'],
  [0.04, '40 µs'],
  [0.9996, '1 ms'],
  [1.24, '1.2 ms'],
  [35.4, '35 ms'],
  [999.9, '1 s'],
  [1_250, '1.3 s'],
])('a decision of %d ms took %s', (ms, expected) => {
  expect(latencyText(ms)).toBe(expected)
})
