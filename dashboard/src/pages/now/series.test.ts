import { describe, expect, it } from 'vitest'
import { frameAt } from './frame.suite.ts'
import { RANGES, seriesOf } from './series.ts'

const seconds = (count: number, fromMs = 0) =>
  Array.from({ length: count }, (_, i) => frameAt(fromMs + (i + 1) * 1_000, { allowed: 10, p50_ms: 1, p99_ms: i }))

describe('what a plot shows', () => {
  it('is nothing without frames', () => {
    expect(seriesOf([], RANGES['5m']).times).toEqual([])
  })

  it('is each second of the last five minutes, and no more', () => {
    const { times, allowed } = seriesOf(seconds(3_600), RANGES['5m'])
    expect([times.length, times.at(-1), allowed.at(-1)]).toEqual([301, 3_600_000, 10])
  })

  it('is at most a few hundred points of an hour', () => {
    expect(seriesOf(seconds(3_600), RANGES['1h']).times).toHaveLength(361)
  })

  it('has the mean of rates, and the worst of times', () => {
    const frames = [
      frameAt(10_000, { allowed: 30, refused: 10, shadow_refused: 1, p50_ms: 1, p99_ms: 7 }),
      frameAt(11_000, { allowed: 10, refused: 0, shadow_refused: 0, p50_ms: 2, p99_ms: 9 }),
    ]
    const series = seriesOf(frames, RANGES['1h'])
    expect(series).toEqual({ times: [11_000], allowed: [20], refused: [5], shadow: [0.5], p50: [1.2], p99: [9] })
  })

  it('stays as it was when a second is added', () => {
    const frames = seconds(100)
    const before = seriesOf(frames.slice(0, 95), RANGES['1h'])
    const after = seriesOf(frames, RANGES['1h'])
    expect(after.allowed.slice(0, 9)).toEqual(before.allowed.slice(0, 9))
    expect(after.times.slice(0, 9)).toEqual(before.times.slice(0, 9))
  })

  it('is broken where no frames came', () => {
    const series = seriesOf([...seconds(2), ...seconds(2, 60_000)], RANGES['5m'])
    expect(series.allowed).toEqual([10, 10, null, 10, 10])
    expect(series.times).toEqual([...series.times].sort((a, b) => a - b))
  })

  it('goes on where a frame came a little late', () => {
    const frames = [frameAt(1_000), frameAt(2_300), frameAt(5_100)]
    expect(seriesOf(frames, RANGES['5m']).allowed).toEqual([0, 0, 0])
  })

  it('has no decision time for a second without requests', () => {
    expect(seriesOf([frameAt(1_000)], RANGES['5m']).p99).toEqual([undefined])
  })
})
