import { expect, test } from 'vitest'
import type { RuleLimit, RuleNode, RuleTree } from '../../api/operations.ts'
import { NO_SWITCHES, switchesOf } from './switch-state.ts'
import { allKeys, firstOpen, MOST_ROWS, type Shown, STEP_ROWS, type TreeRow, treeRows, WHOLE } from './tree-rows.ts'

const limit = (id: string, name = id): RuleLimit => ({
  id,
  name,
  described: '5 per 1m, sliding_window',
  limit: 5,
  algorithm: 'sliding_window',
  is_shadow: false,
  is_quota: false,
})
const node = (id: string, below: RuleNode[] = [], limits = [limit(id)], tier: string | null = null): RuleNode => ({
  id,
  tier,
  limits,
  below,
})
const treeOf = (...patterns: RuleNode[]): RuleTree => ({
  limits: patterns.length,
  found: patterns.length,
  omitted: 0,
  domains: [{ name: 'api', version: null, evaluates_path: false, limits: 5, patterns }],
})
const SHOP = treeOf(
  node('user', [node('user', [], [limit('user')], 'pro'), node('user/endpoint=POST /orders')]),
  node('ip', [], [limit('ip'), limit('ip#2', 'daily')]),
)
const shown = (changes: Partial<Shown> = {}): Shown => ({
  open: new Set(),
  lengths: new Map(),
  text: '',
  only: 'all',
  switches: NO_SWITCHES,
  activities: new Map(),
  ...changes,
})
const shortened = (rows: readonly TreeRow[]): string[] =>
  rows.map((row) => {
    const text = row.kind === 'domain' ? row.name : row.kind === 'more' ? `${row.left} more` : row.step
    return `${'  '.repeat(row.depth)}${text}`
  })

test('what is closed shows nothing below it', () => {
  expect(shortened(treeRows(SHOP, shown()))).toEqual(['api'])
  expect(shortened(treeRows(SHOP, shown({ open: new Set(['api']) })))).toEqual(['api', '  user', '  ip', '  ip'])
})

test('an open tree names each pattern by what it adds, and a further limit in another row', () => {
  const rows = treeRows(SHOP, shown({ open: new Set(allKeys(SHOP)) }))
  expect(shortened(rows)).toEqual(['api', '  user', '    user', '    endpoint=POST /orders', '  ip', '  ip'])
  expect(rows.map((row) => row.kind === 'pattern' && row.isFurther)).toEqual([false, false, false, false, false, true])
})

test('a domain counts all of its limits, and says when none of them is on this page', () => {
  const [other, ...rest] = treeRows({ ...SHOP, domains: [{ ...SHOP.domains[0], patterns: [] }] }, shown())
  expect([other, rest]).toMatchObject([{ kind: 'domain', limits: 5, isElsewhere: true }, []])
  expect(treeRows(SHOP, shown())[0]).toMatchObject({ limits: 5, isElsewhere: false })
})

test("a tier's limit repeats the rule that it stands in for", () => {
  const rows = treeRows(SHOP, shown({ open: new Set(allKeys(SHOP)) }))
  const repeated = rows.filter((row) => row.kind === 'pattern' && row.isRepeated)
  expect(repeated.map((row) => row.kind === 'pattern' && row.tier)).toEqual(['pro'])
})

test('what stands below a tier belongs to it', () => {
  const tree = treeOf(node('user', [node('user', [node('user/tokens')], [limit('user')], 'pro'), node('user/tokens')]))
  const rows = treeRows(tree, shown({ open: new Set(allKeys(tree)) }))
  expect(rows.map((row) => row.kind === 'pattern' && [row.id, row.within])).toEqual([
    false,
    ['user', null],
    ['user', 'pro'],
    ['user/tokens', 'pro'],
    ['user/tokens', null],
  ])
  const repeated = rows.filter((row) => row.kind === 'pattern' && row.isRepeated)
  expect(repeated.map((row) => row.kind === 'pattern' && row.within)).toEqual(['pro', 'pro'])
})

test('all keys of rows differ', () => {
  const rows = treeRows(SHOP, shown({ open: new Set(allKeys(SHOP)) }))
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length)
})

test('a text finds patterns by all of its words, and opens the way to them', () => {
  expect(shortened(treeRows(SHOP, shown({ text: 'ORDERS api' })))).toEqual([
    'api',
    '  user',
    '    endpoint=POST /orders',
  ])
  expect(treeRows(SHOP, shown({ text: 'nothing' }))).toEqual([])
})

test('a limit is found by its name', () => {
  expect(shortened(treeRows(SHOP, shown({ text: 'daily' })))).toEqual(['api', '  ip', '  ip'])
})

test('only shadow: rules that a switch has put there, too', () => {
  const rule = { domain: 'api', id: 'ip' }
  const switches = switchesOf([{ rule, mode: 'shadow', reason: null, version: 1, updated_at: '' }])
  expect(shortened(treeRows(SHOP, shown({ only: 'shadow', switches })))).toEqual(['api', '  ip', '  ip'])
  expect(treeRows(SHOP, shown({ only: 'shadow' }))).toEqual([])
})

test('only refusing: rules that refuse, or would', () => {
  const activities = new Map([['api/user', { perSecond: 1, refused: 0, shadowRefused: 2 }]])
  expect(shortened(treeRows(SHOP, shown({ only: 'refusing', activities })))[1]).toBe('  user')
})

test('of thousands of patterns, the first ones are shown, and more when they are asked for', () => {
  const large = treeOf(...Array.from({ length: 5_000 }, (_, i) => node(`user=${i}`)))
  expect(firstOpen({ ...large, limits: 5_000 }).size).toBe(0)
  const open = new Set(['api'])
  const rows = treeRows(large, shown({ open }))
  expect(rows).toHaveLength(STEP_ROWS + 2)
  expect(shortened(rows).at(-1)).toBe(`  ${5_000 - STEP_ROWS} more`)
  expect(treeRows(large, shown({ open, lengths: new Map([['api', 300]]) }))).toHaveLength(302)
})

test('however much is open, the rows are bounded', () => {
  const wide = Array.from({ length: 50 }, (_, i) =>
    node(
      `a=${i}`,
      Array.from({ length: 100 }, (__, j) => node(`a=${i}/b=${j}`)),
    ),
  )
  const open = new Set(allKeys(treeOf(...wide)))
  const rows = treeRows(treeOf(...wide), shown({ open }))
  expect(rows).toHaveLength(MOST_ROWS + 1)
  expect(rows.at(-1)).toMatchObject({ kind: 'more', parent: WHOLE, left: 5_051 - MOST_ROWS })
  expect(treeRows(treeOf(...wide), shown({ open, lengths: new Map([[WHOLE, 6_000]]) }))).toHaveLength(5_051)
})

test('a small tree is open at first', () => {
  expect([...firstOpen(SHOP)]).toEqual(allKeys(SHOP))
})
