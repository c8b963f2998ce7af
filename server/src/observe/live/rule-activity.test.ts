import { describe, expect, it } from 'vitest'
import { MAX_ACTIVE_RULES, mergeActivity, RecentActivity } from './rule-activity.ts'

const MINUTE = 60_000
const START = 1_000_000 * MINUTE
const rule = (id: string, allowed: number, refused = 0, shadowRefused = 0) => ({
  domain: 'd',
  id,
  allowed,
  refused,
  shadowRefused,
})

describe('what rules did lately', () => {
  it('is that of the last minute and of the last hour, the busiest first', () => {
    const activity = new RecentActivity()
    activity.add(rule('a', 100, 1, 2), START)
    activity.add(rule('b', 5), START)
    activity.add(rule('b', 7, 3), START + 30 * MINUTE)
    expect(activity.report(START + 30 * MINUTE).rules).toEqual([
      ['d', 'a', [0, 0, 0], [100, 1, 2]],
      ['d', 'b', [7, 3, 0], [12, 3, 0]],
    ])
    expect(activity.report(START + 66 * MINUTE).rules).toEqual([['d', 'b', [0, 0, 0], [7, 3, 0]]])
    expect(activity.report(START + 96 * MINUTE)).toEqual({ rules: [], left: 0 })
  })

  it('looks back from 60 to 70 seconds, and from 60 to 65 minutes', () => {
    const activity = new RecentActivity()
    let nowMs = START
    for (; nowMs < START + 200 * MINUTE; nowMs += 1_000) {
      activity.add(rule('a', 1), nowMs)
      if (nowMs < START + 70 * MINUTE || nowMs % 7_000 !== 0) continue
      const [[, , [minute], [hour]]] = activity.report(nowMs).rules
      expect(minute).toBeGreaterThanOrEqual(60)
      expect(minute).toBeLessThanOrEqual(70)
      expect(hour).toBeGreaterThanOrEqual(3_600)
      expect(hour).toBeLessThanOrEqual(3_900)
    }
  })

  it('survives a clock that goes back', () => {
    const activity = new RecentActivity()
    activity.add(rule('a', 1), START)
    activity.add(rule('a', 1), START - 10 * MINUTE)
    expect(activity.report(START).rules).toEqual([['d', 'a', [expect.any(Number), 0, 0], [2, 0, 0]]])
  })

  it('is known of a bounded number of rules, and says how many are left out', () => {
    const activity = new RecentActivity()
    for (let i = 0; i < MAX_ACTIVE_RULES + 3; i++) activity.add(rule(`r${i}`, 1), START)
    const { rules, left } = activity.report(START)
    expect([rules.length, left]).toEqual([MAX_ACTIVE_RULES, 3])
    // Those that are quiet make room.
    activity.add(rule('late', 1), START + 70 * MINUTE)
    expect(activity.report(START + 70 * MINUTE)).toMatchObject({
      rules: [['d', 'late', expect.anything(), [1, 0, 0]]],
      left: 0,
    })
  })

  it('is added up over processes and nodes', () => {
    const [a, b] = [new RecentActivity(), new RecentActivity()]
    a.add(rule('x', 1, 2, 3), START)
    b.add(rule('x', 10, 20, 30), START)
    b.add(rule('y', 1), START)
    const merged = mergeActivity([{ ...a.report(START), left: 2 }, b.report(START)])
    expect(merged).toEqual({
      rules: [
        ['d', 'x', [11, 22, 33], [11, 22, 33]],
        ['d', 'y', [1, 0, 0], [1, 0, 0]],
      ],
      left: 2,
    })
  })
})
