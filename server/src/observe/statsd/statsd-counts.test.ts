import { describe, expect, it } from 'vitest'
import { linesOf, StatsdCounts } from './statsd-counts.ts'
import { datagramsOf } from './statsd-sender.ts'

const PLAIN = { isDog: false, tags: {} }

describe('StatsdCounts', () => {
  it('reports how much counts have grown, over all processes', () => {
    const counts = new StatsdCounts()
    const grown = (...all: [process: string, a: number][]) =>
      Object.fromEntries(counts.grown(all.map(([process, a]) => ({ process, counts: { a } }))))
    expect(grown(['1', 3], ['2', 4])).toEqual({ a: 7 })
    expect(grown(['1', 5], ['2', 4])).toEqual({ a: 2 })
    expect(grown(['1', 5], ['2', 4])).toEqual({})
    // One that did not answer in time, and one in the place of another.
    expect(grown(['1', 6])).toEqual({ a: 1 })
    expect(grown(['3', 2], ['2', 5])).toEqual({ a: 3 })
  })
})

describe('linesOf', () => {
  it('formats counts as StatsD reads them', () => {
    expect(linesOf([['ratelimit.a', 3]], PLAIN)).toEqual(['ratelimit.a:3|c\n'])
  })

  it('has tags in the name, in the order of their keys, as the client of envoyproxy/ratelimit does', () => {
    expect(linesOf([['a', 1]], { isDog: false, tags: { region: 'eu', cluster: 'x' } })).toEqual([
      'a.__cluster=x.__region=eu:1|c\n',
    ])
  })

  it('has tags behind the value for DogStatsD', () => {
    expect(linesOf([['a', 1]], { isDog: true, tags: { region: 'eu', cluster: 'x' } })).toEqual([
      'a:1|c|#cluster:x,region:eu\n',
    ])
  })

  it('lets no name end a line, or begin another', () => {
    expect(linesOf([['a\nb:1|c c', 1]], PLAIN)).toEqual(['a_b_1_c_c:1|c\n'])
  })
})

describe('datagramsOf', () => {
  it('joins lines as far as a datagram takes them', () => {
    const line = `${'x'.repeat(499)}\n`
    expect(datagramsOf([line, line, line, line, line]).map(({ length }) => length)).toEqual([1_000, 1_000, 500])
    expect(datagramsOf([])).toEqual([])
    expect(datagramsOf([line.repeat(4), line]).map(({ length }) => length)).toEqual([2_000, 500])
  })
})
