import { expect, test } from 'vitest'
import { localInput, untilTime } from './until.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')

test('without end is null', () => {
  expect(untilTime('never', '', NOW)).toBeNull()
})

test('a span is counted from now on', () => {
  expect(untilTime('hour', '', NOW)).toBe('2026-11-16T13:00:00.000Z')
  expect(untilTime('week', 'ignored', NOW)).toBe('2026-11-23T12:00:00.000Z')
})

test('a time that was typed is of the zone of the viewer', () => {
  const typed = localInput(NOW + 60_000)
  expect(untilTime('time', typed, NOW)).toBe('2026-11-16T12:01:00.000Z')
})

test.each(['', 'soon', localInput(NOW - 60_000)])('%j is no end', (typed) => {
  expect(untilTime('time', typed, NOW)).toBeUndefined()
})
