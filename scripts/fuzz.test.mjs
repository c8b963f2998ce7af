import { expect, it } from 'vitest'
import { durationMs } from './fuzz.mjs'

it.each([
  ['90s', 90_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
])('%s is a duration', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})

it.each(['', '10', '0m', '-1m', '1 m', '1d', 'm', '1.5h'])('%j is none', (text) => {
  expect(() => durationMs(text)).toThrow(/is no duration; try 90s, 10m or 2h/)
})
