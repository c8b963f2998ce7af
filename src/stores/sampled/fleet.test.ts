import { describe, expect, it } from 'vitest'
import { LEAST_SAMPLED } from '../../core/sampled-rate.ts'
import { Fleet, limitOf, sampled } from './fleet.suite.ts'

const LIMIT = limitOf({ limit: LEAST_SAMPLED })
const CHARGE = sampled(LIMIT)
const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)
const SEEDS = [1, 2, 3]

describe('nodes that get three times the limit', () => {
  it.each(SEEDS)(
    'admit it within two intervals, and then in each window by at most 5 % more or less (seed %i)',
    (seed) => {
      const fleet = new Fleet(5, seed)
      const rates = Array(5).fill(6_000)
      fleet.run(1_000, Array(5).fill(500), CHARGE)
      fleet.run(200, rates, CHARGE)
      const first = sum(fleet.run(100, rates, CHARGE))
      expect(first).toBeLessThan(1.2 * 1_000)
      fleet.run(1_000, rates, CHARGE)
      for (let window = 0; window < 5; window++) {
        const admitted = sum(fleet.run(1_000, rates, CHARGE))
        expect(admitted).toBeGreaterThan(0.95 * LIMIT.max)
        expect(admitted).toBeLessThan(1.05 * LIMIT.max)
      }
    },
  )

  it.each(SEEDS)('over long windows keep to the limit as well (seed %i)', (seed) => {
    const limit = limitOf({ window: '10s' })
    const fleet = new Fleet(4, seed)
    const rates = [100, 500, 900, 1_500]
    fleet.run(2_000, rates, sampled(limit))
    const admitted = sum(fleet.run(10_000, rates, sampled(limit)))
    expect(admitted).toBeGreaterThan(0.95 * limit.max)
    expect(admitted).toBeLessThan(1.05 * limit.max)
  })

  it('keep the same share, whether they get much or little', () => {
    const fleet = new Fleet(3)
    const rates = [2_000, 8_000, 20_000]
    fleet.run(1_000, rates, CHARGE)
    const admitted = fleet.run(4_000, rates, CHARGE)
    admitted.forEach((count, node) => {
      expect(count / (4 * rates[node])).toBeCloseTo(1 / 3, 1)
    })
  })

  it('keep the same share of every caller, also of two that take turns', () => {
    const fleet = new Fleet(1)
    const admitted = [0, 0]
    for (let ms = 0; ms < 4_000; ms += 10) {
      for (let i = 0; i < 300; i++) if (fleet.isAdmitted(0, CHARGE)) admitted[i % 2]++
      fleet.pass(10)
    }
    expect(admitted[0] / admitted[1]).toBeCloseTo(1, 1)
  })

  it('admit the limit also when every refused hit comes again immediately', () => {
    const fleet = new Fleet(2)
    let admitted = 0
    for (let ms = 0; ms < 5_000; ms += 10) {
      if (ms === 1_000) admitted = 0
      for (let i = 0; i < 200; i++) {
        for (let attempt = 0; attempt < 5; attempt++) {
          if (!fleet.isAdmitted(i % 2, CHARGE)) continue
          admitted++
          break
        }
      }
      fleet.pass(10)
    }
    expect(admitted).toBeGreaterThan(0.9 * 4 * LIMIT.max)
    expect(admitted).toBeLessThan(1.05 * 4 * LIMIT.max)
  })
})

it('nodes that get less than the limit refuse nothing', () => {
  const fleet = new Fleet(4)
  const charge = sampled(LIMIT)
  let refused = 0
  for (let ms = 0; ms < 5_000; ms += 10) {
    for (let i = 0; i < 90; i++) if (!fleet.isAdmitted(i % 4, charge)) refused++
    fleet.pass(10)
  }
  expect(refused).toBe(0)
})

it('the share that is kept rises again when half of the nodes are killed, and when less is offered', () => {
  const fleet = new Fleet(4)
  const rates = Array(4).fill(5_000)
  fleet.run(1_000, rates, CHARGE)
  for (const node of [0, 1]) fleet.nodes[node].isUp = false
  fleet.run(500, rates, CHARGE)
  expect(sum(fleet.run(1_000, rates, CHARGE))).toBeGreaterThan(0.95 * LIMIT.max)
  fleet.run(400, Array(4).fill(1_000), CHARGE)
  expect(fleet.nodes[3].store.stats.sampledDropping).toBe(0)
})

it('a node alone never admits more than the limit and its burst, however suddenly it comes', () => {
  const fleet = new Fleet(1)
  let admitted = 0
  for (let i = 0; i < 50_000; i++) if (fleet.isAdmitted(0, CHARGE)) admitted++
  expect(admitted).toBe(LIMIT.max / 20)
  expect(sum(fleet.run(1_000, [100_000], CHARGE))).toBeLessThanOrEqual(LIMIT.max)
})

it('nodes that are replaced one by one admit no more than the limit, and a burst for each', () => {
  const fleet = new Fleet(4)
  const rates = Array(4).fill(5_000)
  fleet.run(2_000, rates, CHARGE)
  let admitted = 0
  for (let i = 0; i < 4; i++) {
    fleet.nodes[i].isUp = false
    fleet.add()
    const all = fleet.nodes.map(({ isUp }) => (isUp ? 5_000 : 0))
    admitted += sum(fleet.run(1_000, all, CHARGE))
  }
  expect(admitted).toBeLessThan(4 * LIMIT.max + 4 * (LIMIT.max / 20 + LIMIT.max / 10))
})
