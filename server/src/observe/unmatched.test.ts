import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Unmatched, type UnmatchedReport } from './unmatched.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const entries = (...keys: string[]) => keys.map((key) => ({ key, value: 'hunter2' }))

function listening() {
  const received: UnmatchedReport[] = []
  return { received, unmatched: new Unmatched((each) => received.push(each)) }
}

describe('Unmatched', () => {
  it('counts requests of unknown domains apart from descriptors without a rule', () => {
    const { unmatched } = listening()
    expect([...unmatched.list()]).toEqual([
      ['sluice.unmatched.unknown_domain', 0],
      ['sluice.unmatched.no_rule', 0],
    ])
    unmatched.unmatched('wbe', entries('user'), false)
    for (let i = 0; i < 3; i++) unmatched.unmatched('web', entries('usr'), true)
    expect([...unmatched.list()]).toEqual([
      ['sluice.unmatched.unknown_domain', 1],
      ['sluice.unmatched.no_rule', 3],
    ])
  })

  it('reports the first immediately, with its keys and without values', () => {
    const { received, unmatched } = listening()
    unmatched.unmatched('web', entries('user', 'path'), true)
    expect(received).toEqual([{ kind: 'no_rule', domain: 'web', keys: ['user', 'path'], count: 1 }])
    expect(JSON.stringify(received)).not.toContain('hunter2')
  })

  it('reports all others once a minute, with their number and the keys of the first of them', () => {
    const { received, unmatched } = listening()
    unmatched.unmatched('web', entries('user'), true)
    vi.advanceTimersByTime(1_000)
    unmatched.unmatched('web', entries('path'), true)
    for (let i = 0; i < 99; i++) unmatched.unmatched('api', entries('other'), true)
    vi.advanceTimersByTime(58_999)
    expect(received).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(received[1]).toEqual({ kind: 'no_rule', domain: 'web', keys: ['path'], count: 100 })
    vi.advanceTimersByTime(600_000)
    expect(received).toHaveLength(2)
    unmatched.unmatched('web', entries('late'), true)
    expect(received[2]).toEqual({ kind: 'no_rule', domain: 'web', keys: ['late'], count: 1 })
  })

  it('keeps what callers choose short', () => {
    const { received, unmatched } = listening()
    unmatched.unmatched('d'.repeat(1_000), entries(...Array.from({ length: 32 }, () => 'k'.repeat(1_000))), false)
    expect(JSON.stringify(received).length).toBeLessThan(800)
  })
})
