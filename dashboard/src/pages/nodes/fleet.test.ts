import { describe, expect, it } from 'vitest'
import type { Node } from '../../api/operations.ts'
import { frameAt } from '../now/frame.suite.ts'
import { bytesText, fleetCount, fleetText, hasOtherRules, lagOf, nodeHref, ruleVersionOf, troublesOf } from './fleet.ts'

const node = (id: string, said: Partial<Node> = {}): Node => ({
  ...{
    id,
    name: id,
    host: id,
    listed_until: null,
    is_here: false,
    is_away: false,
    started_at: '',
    seen_at: '',
    version: '1',
    rule_version: 'a',
  },
  ...{ revision: 5, store: 'up', circuit: 'closed', decisions_per_second: 1, memory_bytes: 1, event_loop_delay_ms: 1 },
  ...{ admin_address: null, workers: [] },
  ...said,
})
const idsOf = (troubles: ReturnType<typeof troublesOf>) => troubles.map(({ id }) => id)

describe('what is wrong', () => {
  it('is nothing when all is well, and before anything is known', () => {
    expect(troublesOf(frameAt(1), [node('a'), node('b')])).toEqual([])
    expect(troublesOf(undefined, [])).toEqual([])
  })

  it('is a store that is away: budgets are per node', () => {
    const [{ tone, title, text, href }] = troublesOf(frameAt(1, { store: 'away' }), [])
    expect([tone, title, href]).toEqual(['bad', 'Redis cannot be reached', '/nodes'])
    expect(text).toContain('budgets are per node')
  })

  it('names the one node whose circuit is open', () => {
    const [{ title, href }] = troublesOf(frameAt(1, { store: 'up' }), [node('a'), node('b', { circuit: 'open' })])
    expect([title, href]).toEqual(['Redis cannot be reached from b', nodeHref('b')])
  })

  it('names nodes that are away, and not what they last said of the store', () => {
    const troubles = troublesOf(frameAt(1), [node('a'), node('b', { is_away: true, store: 'away', rule_version: 'z' })])
    expect(idsOf(troubles)).toEqual(['away'])
    expect(troubles[0].title).toBe('b is away')
  })

  it('has one count for the tile and the banner, whatever the figures said a moment ago', () => {
    const frame = frameAt(1, { nodes: 6, nodes_away: 4 })
    const nodes = [node('a'), node('b'), node('c', { is_away: true })]
    expect(fleetText(fleetCount(frame, nodes))).toBe('2 of 3, 1 away')
    expect(troublesOf(frame, nodes).map(({ title }) => title)).toEqual(['c is away'])
    expect(fleetText(fleetCount(frame, []))).toBe('2 of 6, 4 away')
    expect(troublesOf(frame, [])[0].title).toBe('4 nodes are away')
    expect(fleetText(fleetCount(frame, nodes.slice(0, 2)))).toBe('2')
  })

  it('is a name that several nodes have', () => {
    const [{ title, text }] = troublesOf(frameAt(1), [node('a', { name: 'web' }), node('b', { name: 'web' })])
    expect(title).toBe('Several nodes are called web')
    expect(text).toContain('--node-name')
    const restarted = [node('a', { name: 'web' }), node('b', { name: 'web', is_away: true })]
    expect(idsOf(troublesOf(frameAt(1), restarted))).toEqual(['away'])
  })

  it('counts nodes that are away before they are listed', () => {
    expect(troublesOf(frameAt(1, { nodes_away: 2 }), [])[0].title).toBe('2 nodes are away')
  })

  it('does not call others away while Redis, which tells of them, is away', () => {
    const nodes = [node('a', { store: 'away' }), node('b', { is_away: true })]
    const [, { title, text }] = troublesOf(frameAt(1, { store: 'away' }), nodes)
    expect(title).toBe('1 other node cannot be heard')
    expect(text).toContain('may be running')
  })

  it('is a database that is away, but not one that was never there', () => {
    expect(idsOf(troublesOf(frameAt(1, { database: 'away' }), []))).toEqual(['database'])
    expect(idsOf(troublesOf(frameAt(1, { database: 'none' }), []))).toEqual([])
  })

  it('is a node with other rules', () => {
    const troubles = troublesOf(frameAt(1), [node('a'), node('b'), node('c', { rule_version: 'old' })])
    expect(troubles[0]).toMatchObject({ id: 'rules', title: 'c decides by other rules', href: nodeHref('c') })
  })

  it('comes with the worst first', () => {
    const nodes = [node('a', { store: 'away' }), node('b', { is_away: true })]
    expect(idsOf(troublesOf(frameAt(1, { store: 'away', database: 'away' }), nodes))).toEqual([
      'store',
      'away',
      'database',
    ])
  })
})

describe('rules of a fleet', () => {
  it('are those of most nodes that are there', () => {
    const nodes = [
      node('a'),
      node('b', { rule_version: 'b' }),
      node('c', { rule_version: 'b' }),
      node('d', { is_away: true }),
    ]
    expect(ruleVersionOf(nodes)).toBe('b')
    expect(nodes.map((each) => hasOtherRules(each, 'b'))).toEqual([true, false, false, false])
  })

  it('are nobody’s where as many decide by one as by the other', () => {
    expect(ruleVersionOf([node('a'), node('b', { rule_version: 'b' })])).toBeUndefined()
  })
})

describe('a node', () => {
  it('lags behind the newest revision of those that are there', () => {
    const nodes = [node('a', { revision: 3 }), node('b', { revision: 7 }), node('c', { revision: 9, is_away: true })]
    expect(nodes.map((each) => lagOf(each, nodes))).toEqual([4, 0, 0])
  })

  it('has memory in words', () => {
    expect([bytesText(2_048), bytesText(120 * 2 ** 20), bytesText(1.5 * 2 ** 30)]).toEqual([
      '2 KiB',
      '120 MiB',
      '1.5 GiB',
    ])
  })
})
