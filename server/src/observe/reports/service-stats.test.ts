import { describe, expect, it } from 'vitest'
import { sumStats } from './service-stats.ts'

describe('sumStats', () => {
  it('adds up what several processes counted, name by name', () => {
    expect(sumStats([{ a: 1, b: 2 }, { b: 3, c: 4 }, {}])).toEqual({ a: 1, b: 5, c: 4 })
  })

  it('takes names as they come', () => {
    expect(sumStats([JSON.parse('{"__proto__":1}'), { constructor: 2 }, { constructor: 3 }])).toEqual(
      Object.fromEntries([
        ['__proto__', 1],
        ['constructor', 5],
      ]),
    )
  })
})
