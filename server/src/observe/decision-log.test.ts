import { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { TOO_MUCH } from 'sluice/internal/core/limit'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { FailurePolicy } from 'sluice/internal/engine/failure-policy'
import { Limiter } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { DecisionLog, type DecisionLogOptions } from './decision-log.ts'
import type { DECISION_REASONS } from './decision-reason.ts'
import { observerOf } from './door-observer.ts'

const limited = (requests_per_unit: number, more: object = {}) => ({
  rate_limit: { unit: 'hour' as const, requests_per_unit, ...more },
})
const RULES: RuleFile = {
  domain: 'd',
  descriptors: [
    {
      key: 'user',
      ...limited(1),
      descriptors: [
        { key: 'path', ...limited(1) },
        { key: 'api_key', ...limited(0) },
      ],
    },
    { key: 'api_key', secret: true, ...limited(0) },
    { key: 'shadow', shadow_mode: true, ...limited(0) },
    { key: 'free', rate_limit: { unlimited: true } },
    { key: 'open', ...limited(5, { on_store_failure: 'open' }) },
    { key: 'closed', ...limited(5, { on_store_failure: 'closed' }) },
    { key: 'local', ...limited(5, { on_store_failure: 'local' }) },
  ],
}
const AWAY = {
  decide: () => Promise.reject(new Error('away')),
} as unknown as Store

/** Has a limiter whose decisions are logged, and reads the log. */
function logging(options: Partial<DecisionLogOptions> = {}, store: Store = new MemoryStore(), room = Infinity) {
  const rules = compileObjects([RULES])
  const lines: string[] = []
  const write = (line: string): boolean => lines.length < room && lines.push(line) > 0
  const keys = new KeyEncoder(new KeyedHash(1, 2))
  const log = new DecisionLog(
    { refusalsPerSecond: 100, share: 1, now: () => 1_794_736_800_123, ...options },
    { rules: () => rules, keys, write },
  )
  const limiter = new Limiter(() => rules, store, { observer: observerOf('http', [log]) })
  const ask = async (pairs: Record<string, string>, more: Partial<CheckRequest> = {}) => {
    const entries = Object.entries(pairs).map(([key, value]) => ({ key, value }))
    return limiter.check({ domain: 'd', descriptors: [{ entries }], ...more })
  }
  const records = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { ask, lines, records, rules, log, makeRoom: () => lines.splice(0) }
}

describe('DecisionLog', () => {
  it('reports everything that is known of a decision', async () => {
    const context: RequestContext = { traceId: 'a'.repeat(32) }
    const { ask, records, rules } = logging({ region: 'eu-1' })
    await ask({ user: 'alice', path: '/v1' }, { context, cost: 1 })
    expect(records()).toEqual([
      {
        time: '2026-11-15T10:00:00.123Z',
        door: 'http',
        domain: 'd',
        rule: 'user/path',
        key_kind: 'user/path',
        key: 'user=alice|path=/v1',
        cost: 1,
        outcome: 'allowed',
        reason: 'within_limit',
        region: 'eu-1',
        latency_us: expect.any(Number),
        rules: rules.version,
        trace_id: 'a'.repeat(32),
      },
    ])
  })

  it.each<[reason: (typeof DECISION_REASONS)[number], outcome: string, pairs: Record<string, string>, more?: object]>([
    ['within_limit', 'allowed', { user: 'a' }],
    ['over_limit', 'refused', { api_key: 'k' }],
    ['cost_above_limit', 'refused', { user: 'a' }, { cost: 2 }],
    ['cost_above_limit', 'refused', { user: 'a' }, { cost: TOO_MUCH }],
    ['shadow_over_limit', 'allowed', { shadow: 'a' }],
    ['no_limit', 'allowed', { free: 'a' }],
    ['no_rule', 'allowed', { stranger: 'a' }],
    ['unknown_domain', 'allowed', { user: 'a' }, { domain: 'elsewhere' }],
  ])('says %s, %s, for %j', async (reason, outcome, pairs, more) => {
    const { ask, records } = logging()
    await ask(pairs, more)
    expect(records()).toMatchObject([{ reason, outcome }])
    if (more !== undefined && 'cost' in more) expect(records()[0].cost).toBeGreaterThan(1)
  })

  it.each([
    ['open', 'store_unavailable_open', 'allowed'],
    ['closed', 'store_unavailable_closed', 'refused'],
    ['local', 'store_unavailable_local', 'allowed'],
  ])('says what a rule does without its store: %s', async (mode, reason, outcome) => {
    const { ask, records } = logging({}, new FailurePolicy(AWAY, new MemoryStore()))
    await ask({ [mode]: 'a' })
    expect(records()).toMatchObject([{ reason, outcome, fallback: mode, rule: mode }])
  })

  it('says that a refusal passed, where all of them do', async () => {
    const { ask, records } = logging({ shadowMode: true })
    await ask({ api_key: 'k' })
    expect(records()).toMatchObject([{ reason: 'shadow_over_limit', outcome: 'allowed' }])
  })

  it('formats secrets as keys of counters do, also where only another rule says that they are', async () => {
    const { ask, records, lines } = logging()
    await ask({ api_key: 'sk_live_0123456789' })
    await ask({ user: 'a', api_key: 'sk_live_0123456789' })
    await ask({ stranger: 'sk_live_0123456789' })
    expect(records().map(({ key }) => key)).toEqual([
      expect.stringMatching(/^api_key=sk_l~[0-9a-f]{16}$/),
      expect.stringMatching(/^user=a\|api_key=sk_l~[0-9a-f]{16}$/),
      undefined,
    ])
    expect(lines.join('')).not.toContain('0123456789')
  })

  it('is bounded, whatever a request says', async () => {
    const { ask, lines } = logging()
    await ask({ user: 'x'.repeat(60_000), path: '\u0000'.repeat(60_000) })
    const entries = Array.from({ length: 32 }, (_, i) => [`${i}${'k'.repeat(9_000)}`, '\u0001'.repeat(200)])
    const limit = { requestsPerUnit: 1, unit: 'hour' } as const
    const pairs = entries.map(([key, value]) => ({ key, value }))
    await ask(Object.fromEntries(entries))
    await ask({}, { descriptors: [{ entries: pairs, limit }] })
    await ask({ user: 'a' }, { domain: '\u0002'.repeat(60_000) })
    expect(lines).toHaveLength(4)
    expect(lines.map(({ length }) => length).filter((length) => length > 8_192)).toEqual([])
  })

  it('has one line for each decision, whatever a value contains', async () => {
    const { ask, lines, records } = logging()
    const value = 'a\n{"forged":1}\u001b[2J\u009b31m\u2028\u202eb\u007f'
    await ask({ user: value })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(lines[0]).toMatch(/^[^\x00-\x1f\x7f-\x9f\u2028\u202e]+\n$/)
    expect(records()[0].key).toBe(`user=${value}`)
  })

  it('reports refusals up to a rate, and in the next line how many more there were', async () => {
    let now = 1_000
    const { ask, records } = logging({ refusalsPerSecond: 2, share: 0, now: () => now })
    for (let i = 0; i < 7; i++) await ask({ api_key: 'k' })
    expect(records().map(({ dropped }) => dropped)).toEqual([undefined, undefined])
    now = 2_000
    await ask({ shadow: 'a' })
    await ask({ api_key: 'k' })
    expect(records().map(({ dropped }) => dropped)).toEqual([undefined, undefined, 5, undefined])
  })

  it('reports in a separate line what no other line reports, once a second and at the end', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { ask, records, log } = logging({ refusalsPerSecond: 1, share: 0, region: 'eu-1' })
    for (let i = 0; i < 5; i++) await ask({ api_key: 'k' })
    vi.advanceTimersByTime(1_000)
    expect(records().slice(1)).toEqual([{ time: '2026-11-15T10:00:00.123Z', region: 'eu-1', dropped: 4 }])
    vi.advanceTimersByTime(60_000)
    expect(records()).toHaveLength(2)
    await ask({ api_key: 'k' })
    log.close()
    log.close()
    expect(records().slice(2)).toMatchObject([{ dropped: 1 }])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('reports no refusal, and counts none, where the rate is 0', async () => {
    const { ask, records, log } = logging({ refusalsPerSecond: 0, share: 0 })
    for (let i = 0; i < 5; i++) await ask({ api_key: 'k' })
    log.close()
    expect(records()).toEqual([])
  })

  it('counts lines that there was no room for', async () => {
    const { ask, records, makeRoom } = logging({}, new MemoryStore(), 1)
    for (let i = 0; i < 4; i++) await ask({ api_key: 'k' })
    makeRoom()
    await ask({ api_key: 'k' })
    expect(records()).toMatchObject([{ dropped: 3 }])
  })

  it('reports a share of the others, and does nothing for those it does not report', async () => {
    const draws = [0.5, 0.009, 0.01]
    const { ask, records } = logging({ share: 0.01, random: () => draws.shift() ?? 1 })
    const encoded = vi.spyOn(JSON, 'stringify')
    await ask({ user: 'a' })
    expect(encoded).not.toHaveBeenCalled()
    encoded.mockRestore()
    await ask({ user: 'b' })
    await ask({ user: 'c' })
    expect(records()).toMatchObject([{ key: 'user=b' }])
  })
})
