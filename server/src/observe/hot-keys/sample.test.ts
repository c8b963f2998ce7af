import { describe, expect, it } from 'vitest'
import { ALL_COUNTED, SAMPLED, Sample } from './sample.ts'

const weights = (sample: Sample, count: number) => Array.from({ length: count }, () => sample.weight())
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

describe('Sample', () => {
  it('counts all of a quiet slice', () => {
    expect(new Set(weights(new Sample(), ALL_COUNTED))).toEqual(new Set([1]))
  })

  it('counts one of eight of what follows, with the weight of eight', () => {
    const sample = new Sample()
    weights(sample, ALL_COUNTED)
    for (let round = 0; round < 100; round++) {
      const block = weights(sample, SAMPLED)
      expect(sum(block)).toBe(SAMPLED)
      expect(block.filter((weight) => weight > 0)).toHaveLength(1)
    }
  })

  it('counts all again in the next slice', () => {
    const sample = new Sample()
    weights(sample, 2 * ALL_COUNTED)
    sample.turn()
    expect(weights(sample, 3)).toEqual([1, 1, 1])
  })
})
