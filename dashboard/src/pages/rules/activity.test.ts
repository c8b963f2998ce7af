import { expect, test } from 'vitest'
import type { LiveFrame } from '../../api/operations.ts'
import { activityOf } from './activity.ts'

function frame(atMs: number, rules: LiveFrame['rules']): LiveFrame {
  return {
    at: new Date(atMs).toISOString(),
    at_ms: atMs,
    allowed: 0,
    refused: 0,
    shadow_refused: 0,
    p50_ms: 0,
    p99_ms: 0,
    nodes: 1,
    nodes_away: 0,
    store: 'memory',
    database: 'up',
    rule_version: 'a',
    rules,
  }
}
const user = (allowed: number, refused: number, shadow_refused = 0) => ({
  domain: 'api',
  id: 'user',
  allowed,
  refused,
  shadow_refused,
})

test('without frames, nothing is known', () => {
  expect(activityOf([]).size).toBe(0)
})

test('refusals are summed, and the rate is the mean of the last ten seconds', () => {
  const frames = Array.from({ length: 20 }, (_, i) => frame((i + 1) * 1_000, [user(8, 2, 1)]))
  expect(activityOf(frames).get('api/user')).toEqual({ perSecond: 10, refused: 40, shadowRefused: 20 })
})

test('a rule that is not among the busiest of a second adds nothing in it', () => {
  const frames = [frame(1_000, [user(10, 0)]), frame(2_000, [])]
  expect(activityOf(frames).get('api/user')?.perSecond).toBe(5)
})

test('what is older than five minutes is left out', () => {
  const frames = [frame(1_000, [user(0, 50)]), frame(400_000, [user(0, 3)])]
  expect(activityOf(frames).get('api/user')?.refused).toBe(3)
})
