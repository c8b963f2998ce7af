import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RuleFile } from '../../src/core/rules/schema.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { asks, expectedCounters, ruleFiles } from './door-arbitraries.suite.ts'
import { type Ask, DOORS, type Door, type Received } from './doors.suite.ts'

const ASK: Ask = {
  ip: '203.0.113.7',
  apiKey: undefined,
  user: undefined,
  tenant: undefined,
  tier: undefined,
  method: 'GET',
  path: '/login',
  afterMs: 0,
}

const limit = (name: string, count: number) => ({ name, unit: 'hour', requests_per_unit: count }) as const

const ON_THE_WAY: RuleFile = {
  domain: 'shop',
  evaluate: 'path',
  descriptors: [
    {
      key: 'ip',
      rate_limit: limit('by-ip', 100),
      descriptors: [{ key: 'path', value: '/login', rate_limit: limit('by-path', 2) }],
    },
  ],
}

const WITHOUT_TIERS: RuleFile = { domain: 'shop', descriptors: [{ key: 'ip', rate_limit: limit('by-ip', 2) }] }

const WITH_TIERS: RuleFile = {
  domain: 'shop',
  tiers: { pro: { rate_limit: limit('pro', 3) } },
  descriptors: [{ key: 'user', tiered: true, rate_limit: limit('free', 1) }],
}

async function toldBy(start: (rules: RuleFile) => Promise<Door>, rules: RuleFile, list: readonly Ask[]) {
  const door = await start(rules)
  try {
    const told: Received[] = []
    for (const ask of list) told.push(await door.ask(ask))
    return told
  } finally {
    await door.close()
  }
}

describe.each(DOORS)('$name', ({ start }) => {
  it('charges a rule on the way down once for each request, and the rule below it as well', async () => {
    const told = await toldBy(start, ON_THE_WAY, [ASK, ASK, ASK])
    const charges = ['1 of by-ip for ip=203.0.113.7', '1 of by-path for ip=203.0.113.7/path=/login']
    expect(told.map((each) => each.charges)).toEqual([charges, charges, charges])
    expect(told.map(({ status }) => status)).toEqual([200, 200, 429])
  })

  it('limits a caller who has a tier by rules that have none', async () => {
    const told = await toldBy(start, WITHOUT_TIERS, Array(3).fill({ ...ASK, tier: 'pro' }))
    expect(told.map(({ status }) => status)).toEqual([200, 200, 429])
  })

  it('limits a caller by the rules of its tier', async () => {
    const told = await toldBy(start, WITH_TIERS, Array(4).fill({ ...ASK, user: 'u1', tier: 'pro' }))
    expect(told.map(({ charges }) => charges)).toEqual(Array(4).fill(['1 of pro for user=u1']))
    expect(told.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  })
})

/** Seeds that failed once belong here. */
const SEEDS = [1, 2, 3, ...NEW_SEEDS]
const RUNS = 6

describe('all doors', () => {
  it.each(SEEDS)('charge the same counters, and give the same verdicts, seed %i', async (seed) => {
    const samples = fc.sample(fc.tuple(ruleFiles, fc.array(asks, { minLength: 6, maxLength: 10 })), {
      seed,
      numRuns: RUNS,
    })
    for (const [rules, list] of samples) {
      const all = await Promise.all(DOORS.map(({ start }) => toldBy(start, rules, list)))
      const counters = list.map((ask) => expectedCounters(rules, ask))
      DOORS.forEach(({ name }, i) => {
        const story = `seed ${seed}, ${name}: ${JSON.stringify({ rules, list }, null, 1)}`
        expect(
          all[i]?.map(({ charges }) => charges),
          story,
        ).toEqual(counters)
        expect(all[i], story).toEqual(all[DOORS.length - 1])
      })
    }
  })
})
