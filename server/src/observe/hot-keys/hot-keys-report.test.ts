import { describe, expect, it } from 'vitest'
import { type HotKeysReport, mapTallies, mergeReports, NO_HOT_KEYS, readReport, shorten } from './hot-keys-report.ts'
import type { Counted } from './key-tally.ts'

function reportOf(rule: string, exhausted: number, ...keys: Counted[]): HotKeysReport {
  const total = keys.reduce((sum, [, count]) => sum + count, 0)
  const list = { total, missed: 0, tracked: keys.length, keys }
  return {
    rules: [{ domain: 'd', rule, isShadow: false, exhausted, windows: mapTallies(() => list) }],
    rulesLeftOut: 0,
  }
}

describe('mergeReports', () => {
  it('adds keys up, rule by rule', () => {
    const merged = mergeReports(
      [reportOf('a', 1, ['x', 2], ['y', 1]), reportOf('a', 2, ['y', 3]), reportOf('b', 0, ['x', 9])],
      200,
    )
    expect(merged.rules.map(({ rule, exhausted }) => [rule, exhausted])).toEqual([
      ['a', 2],
      ['b', 0],
    ])
    expect(merged.rules[0].windows[5].refused).toEqual({
      total: 6,
      missed: 0,
      tracked: 2,
      keys: [
        ['y', 4],
        ['x', 2],
      ],
    })
  })

  it('is empty without reports', () => {
    expect(mergeReports([], 200)).toEqual(NO_HOT_KEYS)
  })
})

describe('shorten', () => {
  it('says what a key that is not listed may have', () => {
    const short = shorten(reportOf('a', 0, ['x', 3], ['y', 2], ['z', 1]), 1)
    expect(short.rules[0].windows[1].active).toEqual({ total: 6, missed: 2, tracked: 3, keys: [['x', 3]] })
  })
})

describe('readReport', () => {
  it('takes what a node wrote', () => {
    const report = reportOf('a', 1, ['x', 2])
    expect(readReport(JSON.parse(JSON.stringify(report)))).toEqual(report)
  })

  it('takes what a node of the version before wrote, which knew no day', () => {
    const report = reportOf('a', 1, ['x', 2])
    const [{ windows, ...rest }] = report.rules
    const { 1_440: _day, ...known } = windows
    const [read] = readReport({ ...report, rules: [{ ...rest, windows: known }] })?.rules ?? []
    expect([read.windows[60], read.windows[1_440].active.total]).toEqual([windows[60], 0])
  })

  const [rule] = reportOf('a', 1, ['x', 2]).rules
  const list = rule.windows[1].active
  const withList = (other: unknown) => ({ ...rule, windows: { ...rule.windows, 5: { active: list, refused: other } } })
  it.each([
    null,
    'text',
    {},
    { rules: 1, rulesLeftOut: 0 },
    ...[
      null,
      { ...rule, domain: 1 },
      { ...rule, isShadow: 'yes' },
      { ...rule, exhausted: -1 },
      { ...rule, windows: { 1: rule.windows[1] } },
      withList(undefined),
      withList({ ...list, total: Number.NaN }),
      withList({ ...list, keys: {} }),
      withList({ ...list, keys: [['x']] }),
      withList({ ...list, keys: [[1, 1]] }),
      withList({ ...list, keys: [['x', '1']] }),
    ].map((bad) => ({ rules: [bad], rulesLeftOut: 0 })),
  ])('takes nothing else: %j', (value) => {
    expect(readReport(value)).toBeUndefined()
  })
})
