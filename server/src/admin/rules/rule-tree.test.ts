import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'
import { ruleTree, type TreeNode, type TreeQuery } from './rule-tree.ts'

const rate = (requests_per_unit: number) => ({ unit: 'day', requests_per_unit }) as const
const domainOf = (domain: string, count: number) => ({
  domain,
  descriptors: Array.from({ length: count }, (_, i) => ({
    key: 'user',
    value: `${domain}-${i}`,
    rate_limit: rate(i + 1),
  })),
})
/** Two domains with 10,000 rules together. */
const MANY = compileObjects([domainOf('alpha', 6_000), domainOf('beta', 4_000)])

interface Listed {
  readonly limits: number
  readonly found: number
  readonly omitted: number
  readonly domains: readonly {
    readonly name: string
    readonly limits: number
    readonly patterns: readonly TreeNode[]
  }[]
}

async function list(query: Partial<TreeQuery> = {}, rules = MANY): Promise<Listed> {
  const whole = { domain: undefined, text: '', skip: 0, limit: 1_000, ...query }
  return (await ruleTree(rules, whole)) as unknown as Listed
}

const idsIn = (nodes: readonly TreeNode[]): string[] => nodes.flatMap(({ id, below }) => [id, ...idsIn(below)])
const ids = ({ domains }: Listed): string[] => domains.flatMap(({ patterns }) => idsIn(patterns))

describe('10,000 rules', () => {
  it('are counted in every domain, listed or not', async () => {
    const { limits, found, omitted, domains } = await list()
    expect([limits, found, omitted]).toEqual([10_000, 10_000, 9_000])
    expect(domains.map(({ name, limits: own, patterns }) => [name, own, patterns.length])).toEqual([
      ['alpha', 6_000, 1_000],
      ['beta', 4_000, 0],
    ])
  })

  it('are all reached, page by page, each once', async () => {
    const seen: string[] = []
    for (let skip = 0, omitted = 1; omitted > 0; skip += 1_700) {
      const page = await list({ skip, limit: 1_700 })
      seen.push(...ids(page))
      omitted = page.omitted
    }
    expect([seen.length, new Set(seen).size]).toEqual([10_000, 10_000])
    expect(ids(await list({ skip: 10_000 }))).toEqual([])
  })

  it('are found by words, also of a domain whose turn would come late', async () => {
    const found = await list({ text: 'BETA-3999  4000' })
    expect([found.found, ids(found), found.domains.map(({ limits }) => limits)]).toEqual([
      1,
      ['user=beta-3999'],
      [6_000, 4_000],
    ])
    expect((await list({ text: 'beta', domain: 'alpha' })).found).toBe(0)
    expect((await list({ domain: 'beta', skip: 3_999 })).domains).toMatchObject([{ name: 'beta', limits: 4_000 }])
  })
})

describe('a tree of rules', () => {
  const NESTED = compileObjects([
    {
      domain: 'shop',
      tiers: { pro: { rate_limit: rate(7), descriptors: [{ key: 'path', value: '/pro', rate_limit: rate(8) }] } },
      descriptors: [
        { key: 'api_key', tiered: true, rate_limit: { ...rate(1), name: 'calls' } },
        { key: 'user', descriptors: [{ key: 'path', value: '/a', rate_limit: rate(2) }] },
      ],
    },
  ])

  it('has what stands above a pattern that is found, and counts only what is found', async () => {
    const { domains, found } = await list({ text: 'path=/a' }, NESTED)
    expect([found, domains[0].patterns]).toMatchObject([
      1,
      [{ id: 'user', limits: [], below: [{ id: 'user/path=/a', limits: [{ limit: 2 }] }] }],
    ])
    const tier = await list({ text: 'pro' }, NESTED)
    expect(ids(tier)).toEqual(['api_key', 'api_key', 'api_key/path=/pro'])
    expect(ids(await list({ text: 'calls' }, NESTED))).toEqual(['api_key'])
  })

  it('is the same whatever the size of its pages', async () => {
    const whole = ids(await list({}, NESTED))
    expect(whole).toEqual(['api_key', 'api_key', 'api_key/path=/pro', 'user', 'user/path=/a'])
    const { domains } = await list({ skip: 4, limit: 1 }, NESTED)
    expect(domains[0].patterns).toMatchObject([{ id: 'user', below: [{ id: 'user/path=/a' }] }])
  })
})

describe('rules of a state', () => {
  const idsOf = (json: unknown): string[] => ids(json as Listed)

  it('are the rules that only report: by the switch of the rule, then of all, then by the file', async () => {
    const { ask } = await startAdmin()
    const inShadow = async () => idsOf((await ask('GET', 'rules?only=shadow', { as: 'viewer' })).json)
    const put = (rule: object | null, mode: string) => ask('PUT', 'rules/switches', { body: { rule, mode } })
    expect(await inShadow()).toEqual(['api_key', 'api_key/endpoint=POST /orders'])
    await put({ domain: 'shop', id: 'user' }, 'shadow')
    expect(await inShadow()).toEqual(['user', 'api_key', 'api_key/endpoint=POST /orders'])
    await put(null, 'enforce')
    expect(await inShadow()).toEqual(['user'])
  })

  it('are the rules that refused lately', async () => {
    const { ask } = await startAdmin()
    for (const span of ['minute', 'hour']) {
      expect(idsOf((await ask('GET', `rules?only=refusing&span=${span}`)).json)).toEqual(['user'])
    }
  })
})
