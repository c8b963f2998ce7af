import { KeyedHash } from 'sluice/internal/core/hash'
import { describe, expect, it } from 'vitest'
import { CallerTable } from './caller-table.ts'
import type { Outcome } from './counts.ts'
import { Distinct } from './distinct.ts'
import { TimeSeries } from './time-series.ts'

const outcome = (isRefused: boolean, wasRefused?: boolean): Outcome => ({ isRefused, isShadow: false, wasRefused })
const shown = (value: string): string => `user=${value}`
const START = Date.UTC(2026, 10, 20)

describe('CallerTable', () => {
  it('counts all callers exactly while there is room', () => {
    const table = new CallerTable(new KeyedHash(1, 2))
    for (const refused of [false, true, true]) table.add(0, 'ada', shown, outcome(refused))
    table.add(0, 'bob', shown, outcome(false))
    // The same value of another entry is another caller.
    table.add(1, 'ada', (value) => `ip=${value}`, outcome(true))
    expect(table.totals).toMatchObject({ isExact: true, seen: 3, refused: 2 })
    expect(table.top(9).map(({ caller, requests, refused }) => [caller, requests, refused])).toEqual([
      ['user=ada', 3, 2],
      ['ip=ada', 1, 1],
    ])
  })

  it('keeps those that the rules touched most, and says by how much a count may be too low', () => {
    const table = new CallerTable(new KeyedHash(1, 2), false, 100)
    for (let i = 0; i < 20_000; i++) {
      table.add(0, `once-${i}`, shown, outcome(i % 10 === 0))
      for (let heavy = 0; heavy < 5; heavy++) table.add(0, `heavy-${heavy}`, shown, outcome(true))
    }
    const { isExact, seen, refused } = table.totals
    expect(isExact).toBe(false)
    expect(Math.abs(seen - 20_005) / 20_005).toBeLessThan(0.03)
    expect(Math.abs(refused - 2_005) / 2_005).toBeLessThan(0.03)
    const top = table.top(5)
    expect(top.map(({ caller }) => caller).sort()).toEqual([0, 1, 2, 3, 4].map((heavy) => `user=heavy-${heavy}`))
    for (const { refused: known } of top) {
      expect(known).toBeLessThanOrEqual(20_000)
      expect(known + table.undercount.affected).toBeGreaterThanOrEqual(20_000)
    }
  })

  it('orders a comparison by what differs, and leaves out whom the change does not touch', () => {
    const table = new CallerTable(new KeyedHash(1, 2), true)
    for (let i = 0; i < 9; i++) table.add(0, 'always', shown, outcome(true, true))
    table.add(0, 'loser', shown, outcome(true, false))
    table.add(0, 'winner', shown, outcome(false, true))
    table.add(0, 'winner', shown, outcome(false, true))
    expect(table.top(9).map(({ caller, lost, gained }) => [caller, lost, gained])).toEqual([
      ['user=winner', 0, 2],
      ['user=loser', 1, 0],
    ])
    expect(table.totals).toMatchObject({ seen: 3, lost: 1, gained: 1 })
  })
})

describe('Distinct', () => {
  it.each([0, 1, 100, 10_000, 300_000])('estimates %i texts within 3 %', (count) => {
    const distinct = new Distinct(new KeyedHash(3, 4))
    for (let i = 0; i < count; i++)
      for (let again = 0; again < (count > 1_000 ? 1 : 3); again++) distinct.add(`caller ${i}`)
    expect(Math.abs(distinct.estimate - count)).toBeLessThanOrEqual(0.03 * count)
  })
})

describe('TimeSeries', () => {
  it('counts by second, with the seconds in between', () => {
    const series = new TimeSeries()
    for (const second of [0, 0, 3]) series.add(START + second * 1_000 + 7, outcome(second === 3))
    expect(series.widthMs).toBe(1_000)
    expect(series.spans.map(({ atMs, requests, refused }) => [(atMs - START) / 1_000, requests, refused])).toEqual([
      [0, 2, 0],
      [1, 0, 0],
      [2, 0, 0],
      [3, 1, 1],
    ])
  })

  it.each([301, 4_000, 86_400, 40 * 86_400, 3_000 * 86_400])(
    'joins spans, and loses no request, over %i seconds',
    (seconds) => {
      const series = new TimeSeries()
      for (let i = 0; i <= 1_000; i++)
        series.add(START + Math.floor((i * seconds) / 1_000) * 1_000, outcome(i % 2 === 0))
      const { spans, widthMs } = series
      expect(spans.length).toBeLessThanOrEqual(300)
      expect(spans.reduce((sum, { requests }) => sum + requests, 0)).toBe(1_001)
      expect(spans.reduce((sum, { refused }) => sum + refused, 0)).toBe(501)
      for (const { atMs } of spans) expect(atMs % widthMs).toBe(0)
    },
  )
})
