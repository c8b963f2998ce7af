import { describe, expect, it } from 'vitest'
import type { Node } from '../../api/operations.ts'
import { frameAt } from '../now/frame.suite.ts'
import { bytesText, hasOtherRules, lagOf, nodeHref, ruleVersionOf, troublesOf } from './fleet.ts'

const node = (id: string, said: Partial<Node> = {}): Node => ({
  ...{ id, host: id, is_here: false, is_away: false, started_at: '', seen_at: '', version: '1', rule_version: 'a' },
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
    expect([title, href]).toEqual(['Redis cannot be reached from b b', nodeHref('b')])
  })

  it('names nodes that are away, and not what they last said of the store', () => {
    const troubles = troublesOf(frameAt(1), [node('a'), node('b', { is_away: true, store: 'away', rule_version: 'z' })])
    expect(idsOf(troubles)).toEqual(['away'])
    expect(troubles[0].title).toBe('b b is away')
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
    expect(troubles[0]).toMatchObject({ id: 'rules', title: 'c c decides by other rules', href: nodeHref('c') })
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
