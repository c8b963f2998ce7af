import { expect, it } from 'vitest'
import { durationMs, readTarget } from './fuzz.mjs'

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

it.each([
  [[], 'grpc/frame-fuzz', 60_000],
  [['10m'], 'grpc/frame-fuzz', 600_000],
  [['grpc', '5s'], 'grpc/frame-fuzz', 5_000],
  [['gateway'], 'fuzz/gateway-fuzz', 60_000],
  [['gateway', '2h'], 'fuzz/gateway-fuzz', 7_200_000],
])('%j fuzzes %s for %i ms', (args, test, forMs) => {
  expect(readTarget(args)).toMatchObject({ test: `tests/${test}`, forMs })
})

it('another target is no duration', () => {
  expect(() => readTarget(['gate'])).toThrow(/"gate" is no duration/)
})
