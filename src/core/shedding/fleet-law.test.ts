import { expect, it } from 'vitest'
import { fleetAllotment } from './fleet-law.ts'

it.each([
  [{ capacity: 1_000 }, 800],
  [{ capacity: 1_000, reserved: 0.2 }, 800],
  [{ capacity: 30, reserved: 0.9 }, 3],
  [{ capacity: 10, reserved: 0 }, 10],
  [{ capacity: 1, reserved: 0.99 }, 1],
])('a fleet with %j admits %d requests a second that are not critical', (options, expected) => {
  expect(fleetAllotment(options)).toBe(expected)
})
