import { expect, it } from 'vitest'
import { parseGrpcTimeout } from './grpc-timeout.ts'

it.each([
  ['1H', 3_600_000],
  ['2M', 120_000],
  ['3S', 3_000],
  ['20m', 20],
  ['1500u', 1.5],
  ['5n', 0.000_005],
  ['99999999S', 99_999_999_000],
  ['0m', 0],
])('"%s" is %d ms', (text, ms) => {
  expect(parseGrpcTimeout(text)).toBeCloseTo(ms, 9)
})

it.each(['', 'S', '1', '1s', '1h', '-1S', '+1S', '1.5S', '123456789S', ' 1S', '1S ', '1SS', '0x1S'])(
  '"%s" is no timeout',
  (text) => {
    expect(parseGrpcTimeout(text)).toBeNaN()
  },
)
