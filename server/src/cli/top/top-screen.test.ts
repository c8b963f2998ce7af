import { describe, expect, it } from 'vitest'
import { widthOf } from './shown-text.ts'
import { drawScreen } from './top-screen.ts'
import type { HotKeysAnswer, TopView } from './top-view.ts'

const HOSTILE = '\u001b[2J\u001b]52;c;b3duZWQ=\u0007\r\n\u202e鍵\u05d0'.repeat(60)

function viewWith(hotKeys: Partial<HotKeysAnswer>): TopView {
  return {
    time: '2026-01-02T03:04:05.000Z',
    admin: 'http://localhost:8082',
    counted: 'decisions',
    perSecond: 12_345.6,
    refusedPerSecond: 123.4,
    p50Ms: 0.12,
    p99Ms: null,
    store: { circuit: 'closed', errorsPerSecond: 0, fallbacksPerSecond: 0, callMs: 0.4 },
    hotKeys: { by: 'refused', minutes: 5, scope: 'node', nodes: 1, rules: [], keys: [], ...hotKeys },
  }
}

const key = (name: string) => ({ domain: 'api', rule: 'user', key: name, count: 1_234, share: 0.5 })
const rule = (name: string) => ({ domain: 'api', rule: name, requests: 9_999_999_999, refused: 12, exhausted: 3 })
const drawn = (view: TopView | undefined, columns = 80, rows = 24, hasColour = false, trouble?: string) =>
  drawScreen({ admin: 'http://localhost:8082', view, trouble }, { columns, rows, hasColour })

describe('drawScreen', () => {
  it('is readable at 80 columns', () => {
    const lines = drawn(viewWith({ rules: [rule('user')], keys: [key('user=42')] })).map((line) => line.trimEnd())
    expect(lines).toEqual([
      'sluice top  http://localhost:8082  03:04:05  most refused, last 5 min',
      'decisions 12,346/s     refused 123/s (1.0 %)      p50 0.12 ms    p99 - ms',
      'store circuit closed   errors 0.0/s               call 0.40 ms   fallback 0.0/s',
      '',
      'RULE                                             REQUESTS     REFUSED  KEYS AT 0',
      'api/user                                    9,999,999,999          12          3',
      '',
      'KEY                                RULE                          REFUSED   SHARE',
      'user=42                            api/user                        1,234  50.0 %',
      '',
      'q quit   r refused   a active   1 5 6: last minute, 5 minutes, hour',
    ])
  })

  it.each([60, 80, 120, 200, 1_000])('fits %d columns, whatever keys and rules are called', (columns) => {
    const many = Array.from({ length: 50 }, () => key(HOSTILE))
    const view = viewWith({ rules: [rule(HOSTILE)], keys: many, reason: HOSTILE })
    const lines = drawn(view, columns, 30, false, HOSTILE)
    for (const line of lines) {
      expect(widthOf(line)).toBeLessThanOrEqual(columns)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u0590-\u08ff]/u)
    }
    expect(lines.length).toBeLessThanOrEqual(30)
  })

  it.each([1, 5, 10, 24, 60])('fits %d rows', (rows) => {
    const view = viewWith({
      rules: Array.from({ length: 99 }, (_, i) => rule(`r${i}`)),
      keys: Array.from({ length: 99 }, (_, i) => key(`user=${i}`)),
    })
    expect(drawn(view, 80, rows, false, 'no answer').length).toBeLessThanOrEqual(Math.max(rows, 2))
  })

  it('has colours only where it may', () => {
    const view = viewWith({ keys: [key('user=42')] })
    expect(drawn(view, 80, 24, true).join('')).toContain('\u001b[')
    expect(drawn(view, 80, 24, false).join('')).not.toContain('\u001b[')
  })

  it('says what is wrong, with what was last known', () => {
    const lines = drawn(viewWith({}), 80, 24, false, 'http://localhost:8082: no answer: ECONNREFUSED; trying again')
    expect(lines[1]).toContain('no answer: ECONNREFUSED; trying again')
    expect(lines[2]).toContain('decisions')
    expect(drawn(undefined, 80, 24, false, 'no answer')).toHaveLength(3)
  })

  it('says whose keys they are', () => {
    expect(drawn(viewWith({ scope: 'fleet', nodes: 3 }))[0]).toContain('3 nodes')
    expect(drawn(viewWith({ reason: 'Redis is away' })).join('\n')).toContain('this node only: Redis is away')
  })

  it('says that counters are in memory', () => {
    const store = { circuit: null, errorsPerSecond: null, fallbacksPerSecond: null, callMs: null }
    expect(drawn({ ...viewWith({}), store })[2]).toContain('store in memory')
  })
})
