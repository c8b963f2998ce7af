import { describe, expect, it } from 'vitest'
import { type HotKey, HotKeyAlarm } from './hot-key-alarm.ts'
import { type HotKeysReport, mapTallies } from './hot-keys-report.ts'
import type { Counted, TallyList } from './key-tally.ts'

const LIMITS = { share: 0.5, minRequests: 100, minOthers: 3 }

/** That of a rule with these requests of a key in the last minute, and others of four keys. */
function reportOf(requests: number, others = 4, exhausted = 0): HotKeysReport {
  const rest = Array.from({ length: others }, (_, i): Counted => [`user=${i}`, 25])
  const keys: Counted[] = [['user=hot', requests], ...rest]
  const total = keys.reduce((sum, [, count]) => sum + count, 0)
  const list: TallyList = { total, missed: 0, tracked: keys.length, keys }
  return {
    rules: [{ domain: 'd', rule: 'user', isShadow: false, exhausted, windows: mapTallies(() => list) }],
    rulesLeftOut: 0,
  }
}

function alarm(limits = LIMITS) {
  const received: HotKey[] = []
  return { received, alarm: new HotKeyAlarm(limits, (hot) => received.push(hot)) }
}

describe('HotKeyAlarm', () => {
  it('reports a key with more than its share', () => {
    const { received, alarm: watching } = alarm()
    watching.look(reportOf(100))
    expect(received).toEqual([])
    watching.look(reportOf(300))
    expect(received).toEqual([{ domain: 'd', rule: 'user', key: 'user=hot', requests: 300, share: 0.75 }])
  })

  it.each([
    ['has few requests', reportOf(99, 3)],
    ['has few other keys', reportOf(300, 2)],
  ])('says nothing of one that %s', (_, report) => {
    const { received, alarm: watching } = alarm()
    watching.look(report)
    expect(received).toEqual([])
  })

  it('reports it once, until the key has fallen to half of the bound', () => {
    const { received, alarm: watching } = alarm()
    for (const requests of [300, 90, 120, 90, 300]) watching.look(reportOf(requests))
    expect(received).toHaveLength(1)
    for (const requests of [30, 300]) watching.look(reportOf(requests))
    expect(received).toHaveLength(2)
    watching.look({ rules: [], rulesLeftOut: 0 })
    watching.look(reportOf(300))
    expect(received).toHaveLength(3)
  })

  it('never reports where the share is all', () => {
    const { received, alarm: watching } = alarm({ ...LIMITS, share: 1 })
    watching.look(reportOf(1_000))
    expect(received).toEqual([])
  })

  it('has figures for each rule: detections for good, keys at 0 as they are', () => {
    const { alarm: watching } = alarm()
    expect(watching.figures(reportOf(300, 4, 2))).toEqual([{ domain: 'd', rule: 'user', detected: 0, exhausted: 2 }])
    watching.look(reportOf(300, 4, 2))
    expect(watching.figures(reportOf(300, 4, 2))).toEqual([{ domain: 'd', rule: 'user', detected: 1, exhausted: 2 }])
    const gone = { rules: [], rulesLeftOut: 0 }
    watching.look(gone)
    expect(watching.figures(gone)).toEqual([{ domain: 'd', rule: 'user', detected: 1, exhausted: 0 }])
  })
})
