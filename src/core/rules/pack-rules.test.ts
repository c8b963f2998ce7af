import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileObjects } from './compile.ts'
import { describeRules } from './describe.ts'
import { explain } from './explain.ts'
import { loadRules } from './load.ts'
import { match } from './match.ts'
import { packRules } from './pack-rules.ts'
import type { RulePart } from './packed-rules.ts'
import type { Domain, RuleNode, RuleSet } from './rule-set.ts'
import { RuleUnpacker } from './rule-unpacker.ts'
import type { DescriptorRule, RuleFile } from './schema.ts'

/** Packs rules, clones each part as a thread or a process would, and unpacks them. */
function sent(rules: RuleSet): { rules: RuleSet; parts: RulePart[] } {
  const unpacker = new RuleUnpacker()
  const parts = [...packRules(rules)]
  const results = parts.map((part) => unpacker.add(structuredClone(part)))
  expect(results.slice(0, -1).every((result) => result === undefined)).toBe(true)
  return { rules: results[results.length - 1] as RuleSet, parts }
}

/** Lists every node of a tree, in order. */
function nodesBelow(node: RuleNode): RuleNode[] {
  const below = [...node.branches.values()].flatMap(({ exact, blocks, wildcards, any }) => [
    ...exact.values(),
    ...(blocks?.targets ?? []),
    ...(wildcards?.targets ?? []),
    ...(any === undefined ? [] : [any]),
  ])
  return [node, ...[...below, ...(node.tiers?.values() ?? [])].flatMap(nodesBelow)]
}

function expectSame(actual: RuleSet, expected: RuleSet): void {
  expect(actual.ruleCount).toBe(expected.ruleCount)
  expect([...actual.domains.keys()]).toEqual([...expected.domains.keys()])
  expect(describeRules(actual)).toEqual(describeRules(expected))
  for (const [name, domain] of expected.domains) {
    const other = actual.domains.get(name) as Domain
    const { root: _, ...rest } = domain
    const { root: __, ...otherRest } = other
    expect(otherRest).toEqual(rest)
    const [nodes, otherNodes] = [nodesBelow(domain.root), nodesBelow(other.root)]
    expect(otherNodes.map(({ id, path, rules }) => ({ id, path, rules }))).toEqual(
      nodes.map(({ id, path, rules }) => ({ id, path, rules })),
    )
    expect(otherNodes.map(({ tiers }) => tiers && [...tiers.keys()])).toEqual(
      nodes.map(({ tiers }) => tiers && [...tiers.keys()]),
    )
  }
}

const EXAMPLES = new URL('../../../server/examples/', import.meta.url)

describe('packed rules', () => {
  it.each(readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter((name) => /\.ya?ml$/.test(name)))(
    'are the same when they are unpacked: the example %s',
    (name) => {
      const rules = loadRules([{ file: name, text: readFileSync(new URL(name, EXAMPLES), 'utf8') }])
      expectSame(sent(rules).rules, rules)
    },
  )

  const limit = { unit: 'minute', requests_per_unit: 5 } as const
  const FILE: RuleFile = {
    domain: 'all',
    version: '7',
    evaluate: 'path',
    tiers: { free: { rate_limit: limit }, pro: { descriptors: [{ key: 'a', rate_limit: { unlimited: true } }] } },
    descriptors: [
      { key: 'key', secret: true, tiered: true, rate_limit: { ...limit, name: 'named' } },
      { key: 'ip', cidr: ['10.0.0.0/8', '2001:db8::/32'], rate_limit: limit },
      { key: 'ip', cidr: '10.1.0.0/16', shadow_mode: true, rate_limit: limit },
      { key: 'path', value: '/a/*', share_threshold: true, metadata: { team: [1, { b: null }] }, rate_limit: limit },
      { key: 'path', value: '*.png', rate_limits: [limit, { ...limit, unit: 'hour' }] },
      { key: 'path', value: '*/b/*', rate_limit: { requests_per_unit: 1, algorithm: 'concurrency', lease_ttl: '5s' } },
      { key: 'path', value: '*' },
      { key: 'path', value: '/x', rate_limit: { ...limit, cost: { by: 'op', weights: { read: 1, __proto: 5 } } } },
      {
        key: 'path',
        value: '/y',
        rate_limit: {
          requests_per_unit: 9,
          algorithm: 'fixed_window',
          calendar: { unit: 'month', time_zone: 'Europe/Berlin' },
          response: { status: 503, headers: { 'x-a': 'b' } },
          replaces: [{ name: 'named' }],
        },
      },
      {
        key: 'path',
        value: '/z',
        rate_limit: {
          requests_per_unit: 9,
          algorithm: 'fixed_window',
          calendar: { unit: 'day', time_zone: 'customer' },
        },
      },
      { key: '__proto__', value: 'constructor', descriptors: [{ key: 'b', quota_mode: true, rate_limit: limit }] },
    ],
  }
  const rules = compileObjects([FILE, { domain: 'none' }])

  it('are the same with everything that the language has', () => {
    const { rules: unpacked } = sent(rules)
    expectSame(unpacked, rules)
    expect(unpacked.domains.get('none')?.root.branches.size).toBe(0)
  })

  it('are frozen as the first ones are, and share what those share', () => {
    const { rules: unpacked } = sent(rules)
    const nodes = [...unpacked.domains.values()].flatMap(({ root }) => nodesBelow(root))
    for (const node of nodes) {
      for (const part of [node, node.rules, node.path, ...node.path, ...node.rules])
        expect(part).toSatisfy(Object.isFrozen)
    }
    const domain = unpacked.domains.get('all') as Domain
    const blocks = domain.root.branches.get('ip')?.blocks
    const [first, second] = ['10.1.2.3', '10.2.2.3'].map((ip) => blocks?.find(ip)?.rules ?? [])
    expect(first[0].limit).toBe(second[0].limit)
  })

  it('send one node for the blocks of one list', () => {
    const [ten, v6] = ['10.2.2.3', '2001:db8::1'].map((ip) =>
      sent(rules).rules.domains.get('all')?.root.branches.get('ip')?.blocks?.find(ip),
    )
    expect(ten).toEqual(v6)
    const nodeCount = sent(rules)
      .parts.flat()
      .filter(([kind]) => kind === 'node').length
    const all = [...rules.domains.values()].flatMap(({ root }) => nodesBelow(root))
    expect(nodeCount).toBe(new Set(all).size)
  })

  it('come in parts, none of which holds more than about a thousand rules, however wide or many the levels are', () => {
    const wide = Array.from({ length: 2_000 }, (_, i) => ({ key: 'user', value: `u${i}`, rate_limit: limit }))
    const patterns = Array.from({ length: 2_000 }, (_, i) => ({ key: 'path', value: `/${i}*`, rate_limit: limit }))
    const deep = Array.from({ length: 2_000 }, (_, i) => ({ key: `k${i}`, rate_limit: limit }))
    const { parts, rules: unpacked } = sent(
      compileObjects([{ domain: 'd', descriptors: [...wide, ...patterns, ...deep] }]),
    )
    expect(unpacked.ruleCount).toBe(6_000)
    for (const part of parts) {
      expect(part.filter(([kind]) => kind === 'node').length).toBeLessThan(1_100)
      expect(part.filter(([kind]) => kind === 'branch').length).toBeLessThan(1_100)
      expect(part.filter(([kind]) => kind === 'wildcard').length).toBeLessThan(1_100)
    }
  })

  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 5 }),
    fc.constantFrom('10.0.0.1', '10.1.0.1', '2001:db8::1'),
  )
  const block = fc.constantFrom('10.0.0.0/8', '10.1.0.0/16', '0.0.0.0/0', '::/0', '2001:db8::/32')
  const key = fc.constantFrom('x', 'y')
  const { descriptors } = fc.letrec<{ descriptors: DescriptorRule[] }>((tie) => ({
    descriptors: fc.uniqueArray(
      fc.oneof(
        { depthSize: 'small' },
        fc.record({ key, rate_limit: fc.constant(limit) }),
        fc.record({ key, value, rate_limit: fc.constant(limit) }),
        fc.record({ key, cidr: block, rate_limit: fc.constant(limit) }),
        fc.record({ key, value, descriptors: tie('descriptors') }),
      ),
      {
        maxLength: 8,
        selector: ({ key, ...rest }) => `${key} ${'cidr' in rest ? rest.cidr : 'value' in rest ? rest.value : ''}`,
      },
    ),
  }))
  const entries = fc.array(fc.record({ key, value: value.map((text) => text.replaceAll('*', 'c')) }), { maxLength: 4 })

  it('match what the first ones match', () => {
    fc.assert(
      fc.property(
        descriptors,
        fc.array(entries, { minLength: 1, maxLength: 10 }),
        fc.boolean(),
        (tree, asked, isPath) => {
          const first = compileObjects([{ domain: 'd', evaluate: isPath ? 'path' : 'leaf', descriptors: tree }])
          const before = first.domains.get('d') as Domain
          const after = sent(first).rules.domains.get('d') as Domain
          for (const each of asked) {
            expect(match(after, each)).toEqual(match(before, each))
            expect(explain(after, each)).toEqual(explain(before, each))
          }
        },
      ),
    )
  })
})
