import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { Limiter, type LimiterParts } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { observerOf } from '../door-observer.ts'
import { DEFAULT_BOUNDS, HotKeys } from './hot-keys.ts'
import type { RuleReport } from './hot-keys-report.ts'
import type { HotKeysBounds } from './rule-keys.ts'
import { KEYS_A_TURN } from './steps.ts'

const perMinute = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit })
const RULES: RuleFile = {
  domain: 'd',
  descriptors: [
    { key: 'user', rate_limit: perMinute(2) },
    { key: 'api_key', secret: true, rate_limit: perMinute(2) },
    { key: 'shadow', shadow_mode: true, rate_limit: perMinute(1) },
    { key: 'none', rate_limit: perMinute(0) },
    ...Array.from({ length: 40 }, (_, i) => ({ key: `rule${i}`, rate_limit: perMinute(9) })),
    ...Array.from({ length: 32 }, (_, i) => ({ key: `once${i}`, rate_limit: perMinute(1) })),
  ],
}
const SECOND = 1_000

/** A limiter whose keys are followed, on a clock of its own. */
function watched(bounds: Partial<HotKeysBounds> = {}, parts: Partial<LimiterParts> = {}) {
  let nowMs = 0
  let rules = compileObjects([RULES])
  const hotKeys = new HotKeys(0, bounds)
  const limiter = new Limiter(() => rules, new MemoryStore({ clock: { nowMs: () => nowMs } }), {
    ...parts,
    observer: observerOf('http', [hotKeys]),
  })
  const ask = (key: string, value: string, times = 1, cost = 1): void => {
    const request = { domain: 'd', descriptors: [{ entries: [{ key, value }] }], cost }
    for (let i = 0; i < times; i++) void limiter.check(request)
  }
  const wait = (ms: number): void => {
    for (const endMs = nowMs + ms; nowMs < endMs; hotKeys.turn(nowMs)) nowMs += 250
  }
  const turn = (atMs: number): number => {
    nowMs = atMs
    return hotKeys.turn(atMs)
  }
  const ruleOf = (id: string): RuleReport | undefined => hotKeys.report().rules.find(({ rule }) => rule === id)
  const reload = (): void => {
    rules = compileObjects([RULES])
  }
  return { hotKeys, ask, turn, wait, ruleOf, reload }
}

describe('HotKeys', () => {
  it('ranks the keys of a rule by requests, and by requests that it refused', () => {
    const { ask, ruleOf } = watched()
    ask('user', 'a', 3)
    ask('user', 'b', 5)
    const window = ruleOf('user')?.windows[1]
    expect(window?.active).toMatchObject({
      total: 8,
      missed: 0,
      keys: [
        ['user=b', 5],
        ['user=a', 3],
      ],
    })
    expect(window?.refused).toMatchObject({
      total: 4,
      keys: [
        ['user=b', 3],
        ['user=a', 1],
      ],
    })
  })

  it('counts requests, not what they cost, and neither looks nor refunds', () => {
    const { ask, ruleOf } = watched()
    ask('user', 'a', 1, 2)
    ask('user', 'a', 1, 0)
    ask('user', 'a', 1, -1)
    expect(ruleOf('user')?.windows[60].active.total).toBe(1)
  })

  it('counts every refusal, and about every request, of a rule that is busy', () => {
    const { ask, ruleOf } = watched()
    ask('user', 'refused', 20_002)
    for (let i = 0; i < 20_000; i++) ask('rule0', `${i}`)
    expect(ruleOf('user')?.windows[1]).toMatchObject({ refused: { total: 20_000 }, active: { total: 20_002 } })
    expect(Math.abs((ruleOf('rule0')?.windows[1].active.total ?? 0) - 20_000)).toBeLessThan(8)
  })

  it('formats keys as they are shown: without the key of the store, and secrets as a hash', () => {
    const { ask, hotKeys } = watched({}, { partitions: 16, keyPrefix: 'p:' })
    ask('user', 'a|b')
    ask('api_key', 'sk_live_0123456789abcdef')
    const keys = hotKeys.report().rules.flatMap(({ windows }) => windows[1].active.keys.map(([key]) => key))
    expect(keys[0]).toBe('user=a%7cb')
    expect(keys[1]).toMatch(/^api_key=sk_l~[0-9a-f]{16}$/)
    expect(JSON.stringify(hotKeys.report())).not.toContain('0123456789abcdef')
  })

  it('says that a rule in shadow mode only reports', () => {
    const { ask, ruleOf } = watched()
    ask('shadow', 'a', 2)
    ask('user', 'a')
    expect(ruleOf('shadow')).toMatchObject({ isShadow: true, windows: { 1: { refused: { total: 1 } } } })
    expect(ruleOf('user')?.isShadow).toBe(false)
  })

  it('keeps counting when the rules are loaded again', () => {
    const { ask, ruleOf, reload } = watched()
    ask('user', 'a')
    reload()
    ask('user', 'a')
    expect(ruleOf('user')?.windows[1].active.keys).toEqual([['user=a', 2]])
  })

  it('counts keys that sit at 0 for five minutes, but not keys of a rule that admits nothing', () => {
    const { ask, wait, ruleOf } = watched()
    // After the first two, a request every five seconds is more than two a minute.
    for (let i = 0; i < 4 * 12; i++, wait(5 * SECOND)) {
      ask('user', 'a', 9)
      ask('user', 'b')
      ask('none', 'a')
    }
    expect(ruleOf('user')?.exhausted).toBe(0)
    for (let i = 0; i < 3 * 12; i++, wait(5 * SECOND)) ask('user', 'a', 9)
    expect(ruleOf('user')?.exhausted).toBe(1)
    expect(ruleOf('none')?.exhausted).toBe(0)
  })

  it('forgets a rule without requests for a day, and takes it up again', () => {
    const { ask, wait, turn, hotKeys, ruleOf } = watched()
    ask('user', 'a', 5)
    wait(80 * 60 * SECOND)
    expect(ruleOf('user')?.windows[60].active.total).toBe(0)
    expect(ruleOf('user')?.windows[1_440].active).toMatchObject({ total: 5, keys: [['user=a', 5]] })
    turn(26 * 3_600 * SECOND)
    expect(hotKeys.report()).toEqual({ rules: [], rulesLeftOut: 0 })
    expect(hotKeys.held).toBe(0)
    ask('user', 'a')
    expect(ruleOf('user')?.windows[1].active.total).toBe(1)
  })

  it('follows as many rules as it may, and says how many it leaves out', () => {
    const { ask, hotKeys } = watched({ maxRules: 10 })
    for (let i = 0; i < 12; i++) ask(`rule${i}`, 'a')
    expect(hotKeys.report().rules).toHaveLength(10)
    expect(hotKeys.report().rulesLeftOut).toBe(2)
  })

  it('has a rule without requests for an hour make room for one that has some', () => {
    const { ask, wait, hotKeys, ruleOf } = watched({ maxRules: 1 })
    ask('user', 'a')
    ask('rule1', 'a')
    expect(hotKeys.report().rulesLeftOut).toBe(1)
    wait(80 * 60 * SECOND)
    ask('rule1', 'a')
    expect([ruleOf('user'), ruleOf('rule1')?.windows[1_440].active.total]).toEqual([undefined, 1])
  })

  it('holds few keys of a day, however many there were', () => {
    const bounds = { maxKeys: 4_096, maxDayKeys: 960, maxExhausted: 0 }
    const { ask, turn, hotKeys } = watched(bounds)
    for (let at = 0; at < 27 * 3_600 * SECOND; at += 30 * SECOND) {
      for (const rule of ['once1', 'once2']) ask(rule, at % (300 * SECOND) === 0 ? 'busy' : `${at}`, 2)
      turn(at)
      turn(at)
    }
    expect(hotKeys.held).toBeLessThanOrEqual(bounds.maxKeys + bounds.maxDayKeys)
    for (const { windows } of hotKeys.report().rules) {
      const { active, refused } = windows[1_440]
      expect([active.keys[0][0], refused.keys[0][0]]).toEqual([expect.stringMatching(/=busy$/), active.keys[0][0]])
      expect(active.total).toBeGreaterThanOrEqual(2 * 24 * 120)
    }
  })

  it('divides its memory among the rules that have requests, and finds the busiest key of each', () => {
    const bounds = { maxKeys: 16_384, maxExhausted: 100 }
    const { ask, wait, hotKeys } = watched(bounds)
    for (let round = 0; round < 40; round++, wait(5 * SECOND)) {
      for (let rule = 0; rule < 40; rule++) {
        for (let i = 0; i < 30; i++) ask(`rule${rule}`, `${round} ${i}`)
        ask(`rule${rule}`, 'busy', 10)
        expect(hotKeys.held).toBeLessThanOrEqual(bounds.maxKeys + bounds.maxExhausted)
      }
    }
    for (const { windows } of hotKeys.report().rules) expect(windows[5].active.keys[0][0]).toMatch(/=busy$/)
  })

  it('touches few keys at a time, however many rules are busy', () => {
    const { ask, turn, hotKeys } = watched()
    const most = KEYS_A_TURN + 20 * DEFAULT_BOUNDS.maxSize
    for (let at = 0; at < 4 * 60 * SECOND; at += 100) {
      // More new keys than slices hold, and each is refused once.
      if (at % SECOND === 0)
        for (let rule = 0; rule < 16; rule++) for (let i = 0; i < 60; i++) ask(`once${rule}`, `${at} ${i}`, 2)
      expect(turn(at)).toBeLessThanOrEqual(most)
      expect(hotKeys.held).toBeLessThanOrEqual(DEFAULT_BOUNDS.maxKeys + DEFAULT_BOUNDS.maxExhausted)
    }
    expect(hotKeys.held).toBeGreaterThan(DEFAULT_BOUNDS.maxKeys / 3)
    for (const touched of hotKeys.reporting()) expect(touched).toBeLessThanOrEqual(most)
  })

  it('makes room for rules that all come at the same time', () => {
    const { ask, hotKeys } = watched({ maxKeys: 4_096, maxExhausted: 0 })
    for (let rule = 0; rule < 32; rule++) {
      for (let i = 0; i < 600; i++) ask(`once${rule}`, `${i}`, 2)
      expect(hotKeys.held).toBeLessThanOrEqual(4_096 / 4)
    }
  })

  it('gathers in turns what report returns in one step', async () => {
    const { ask, hotKeys } = watched()
    for (let rule = 0; rule < 40; rule++) for (let i = 0; i < 20; i++) ask(`rule${rule}`, `${i}`, 2)
    expect(await hotKeys.gather()).toEqual(hotKeys.report())
  })

  it('keeps reports short', () => {
    const { ask, hotKeys } = watched({ maxReported: 240 })
    for (let rule = 0; rule < 40; rule++) for (let i = 0; i < 20; i++) ask(`rule${rule}`, `${i}`, 2)
    for (const { windows } of hotKeys.report().rules) expect(windows[1].active.keys).toHaveLength(1)
  })

  it('follows no more of a key than 512 characters', () => {
    const { hotKeys, ask, ruleOf } = watched()
    ask('user', '|'.repeat(200))
    expect(hotKeys.held).toBe(1)
    expect(ruleOf('user')?.windows[1].active.keys[0][0]).toBe(`user=${'%7c'.repeat(200)}`.slice(0, 505).concat('…'))
  })
})
