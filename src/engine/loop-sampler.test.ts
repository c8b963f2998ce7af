import { expect, it } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import { LOOP } from './loop-sampler.ts'

it('all listeners watch the same loop, and a stall is not lost', async () => {
  const one: number[] = []
  const other: number[] = []
  const stops = [LOOP.listen((delayMs) => one.push(delayMs)), LOOP.listen((delayMs) => other.push(delayMs))]
  await until('samples', () => one.length > 2)
  const before = one.length
  const endMs = performance.now() + 150
  while (performance.now() < endMs);
  await until('more samples', () => one.length > before + 3)
  expect(Math.max(...one.slice(before))).toBeGreaterThan(1)
  expect(other).toEqual(one)
  for (const stop of stops) stop()
})

it('a listener that stops is not called any more', async () => {
  let received = 0
  const stop = LOOP.listen(() => received++)
  await until('a sample', () => received > 0)
  stop()
  const before = received
  const others: number[] = []
  const stopOther = LOOP.listen((delayMs, sinceMs) => others.push(delayMs, sinceMs))
  await until('samples for another', () => others.length > 3)
  stopOther()
  expect(received).toBe(before)
  expect(others.every((each) => each >= 0)).toBe(true)
})
