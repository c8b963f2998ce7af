import { expect, it } from 'vitest'
import { durationText } from './duration-text.ts'

it.each([
  [0, '0 ms'],
  [0.0002, '1 µs'],
  [0.04, '40 µs'],
  [0.9996, '1 ms'],
  [1.24, '1.2 ms'],
  [9.96, '10 ms'],
  [35.4, '35 ms'],
  [317, '317 ms'],
  [999.9, '1 s'],
  [1_250, '1.3 s'],
  [42_300, '42.3 s'],
  [59_990, '1 min'],
  [90_000, '1.5 min'],
  [3_600_000, '1 h'],
  [86_400_000, '1 d'],
  [31_536_000_000, '365 d'],
])('%d ms is written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

it.each([
  [1.1, '1.1 ms'],
  [316.2, '317 ms'],
  [42_301, '42.4 s'],
  [59_999, '1 min'],
  [3_600_001, '1.1 h'],
])('a wait of %d ms is rounded up to %s', (ms, text) => {
  expect(durationText(ms, Math.ceil)).toBe(text)
})
