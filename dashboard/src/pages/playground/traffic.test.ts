import { describe, expect, it } from 'vitest'
import {
  BIN_MS,
  BINS,
  drawTo,
  formatBins,
  MOST,
  PATTERN_NAMES,
  PATTERNS,
  readBins,
  requestsOf,
  SPAN_MS,
} from './traffic.ts'

describe('a pattern', () => {
  it.each(PATTERN_NAMES)('%s is a whole minute of whole requests within bounds', (name) => {
    for (const counts of PATTERNS[name].traffic) {
      expect(counts).toHaveLength(BINS)
      expect(counts.every((count) => Number.isInteger(count) && count >= 0 && count <= MOST)).toBe(true)
      expect(counts.some((count) => count > 0)).toBe(true)
    }
  })

  it('has a name for each caller', () => {
    expect(PATTERNS.greedy.traffic).toHaveLength(PATTERNS.greedy.callers.length)
  })
})

describe('requests', () => {
  it('come in the bin that they are counted in, in order, and at the same moments each time', () => {
    const first = [2, 0, 1, ...Array<number>(BINS - 3).fill(0)]
    const second = [1, ...Array<number>(BINS - 1).fill(0)]
    const requests = requestsOf([first, second])
    expect(requests).toEqual(requestsOf([first, second]))
    expect(requests.map(({ atMs }) => atMs)).toEqual(requests.map(({ atMs }) => atMs).sort((a, b) => a - b))
    expect(requests.map(({ atMs }) => Math.floor(atMs / BIN_MS))).toEqual([0, 0, 0, 2])
    expect(requests.filter(({ caller }) => caller === 1)).toHaveLength(1)
  })

  it('all come within the minute', () => {
    const times = requestsOf([Array<number>(BINS).fill(MOST)]).map(({ atMs }) => atMs)
    expect([times.length, times[0] >= 0, times[times.length - 1] < SPAN_MS]).toEqual([BINS * MOST, true, true])
  })
})

describe('bins in an address', () => {
  it.each(PATTERN_NAMES)('of %s are read as they were written', (name) => {
    const [counts] = PATTERNS[name].traffic
    expect(readBins(formatBins(counts))).toEqual(counts)
  })

  it('are short where they repeat', () => {
    expect(formatBins(Array<number>(BINS).fill(MOST))).toBe('k*120.')
  })

  it('above the most are the most', () => {
    expect(readBins('z*120.')).toEqual(Array<number>(BINS).fill(MOST))
  })

  it.each(['', '1', '1*119.', '1*121.', '1*999.1*999.', '<img>*120.', '0'.repeat(1000)])(
    'are not read from %j',
    (text) => {
      expect(readBins(text)).toBeUndefined()
    },
  )
})

describe('a stroke', () => {
  it('leaves no gap where the pointer was fast', () => {
    const drawn = drawTo(Array<number>(BINS).fill(0), { bin: 2, count: 10 }, { bin: 6, count: 2 })
    expect(drawn.slice(0, 9)).toEqual([0, 0, 10, 8, 6, 4, 2, 0, 0])
  })

  it('stays within the minute', () => {
    const drawn = drawTo(Array<number>(BINS).fill(1), { bin: BINS - 1, count: 50 }, { bin: BINS + 5, count: 50 })
    expect([drawn.length, drawn[BINS - 1]]).toEqual([BINS, MOST])
  })
})
