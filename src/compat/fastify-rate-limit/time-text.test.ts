import { expect, it } from 'vitest'
import { formatTime, parseTime } from './time-text.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

it.each([
  ['250', 250],
  ['250ms', 250],
  ['5 msecs', 5],
  ['1s', 1_000],
  ['90 secs', 90_000],
  ['5m', 5 * MINUTE],
  ['5 MIN', 5 * MINUTE],
  ['2h', 120 * MINUTE],
  ['1.5 hrs', 90 * MINUTE],
  ['3d', 3 * DAY],
  ['2w', 14 * DAY],
  ['1 wk', 7 * DAY],
  ['1y', 365.25 * DAY],
  [' 2 years ', 730.5 * DAY],
])('a time of %s is read', (text, ms) => {
  expect(parseTime(text)).toBe(ms)
})

it.each(['', 'm', '5 moons', '5 m 3 s', 'Infinity', '1e999 ms', '5,5 m'])('a time of "%s" is none', (text) => {
  expect(parseTime(text)).toBeUndefined()
})

it.each([
  [999, '999 ms'],
  [1_000, '1 second'],
  [MINUTE - 1, '60 seconds'],
  [MINUTE, '1 minute'],
  [90 * MINUTE, '2 hours'],
  [7 * DAY, '7 days'],
  [366 * DAY, '1 year'],
])('%i ms are written as %s', (ms, text) => {
  expect(formatTime(ms)).toBe(text)
})
