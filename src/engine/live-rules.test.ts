import { describe, expect, it } from 'vitest'
import { NO_RULES } from '../core/rules/compile.ts'
import type { RuleText } from '../core/rules/load.ts'
import type { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { Limiter } from './limiter.ts'
import { LiveRules } from './live-rules.ts'

const limitOf = (requests: number): string => `{ unit: minute, requests_per_unit: ${requests} }`

/** Returns one file with one limit for each user. */
function rules(rateLimit: string, file = 'api.yaml', domain = 'api'): RuleText[] {
  return [{ file, text: `domain: ${domain}\ndescriptors:\n  - key: user\n    rate_limit: ${rateLimit}\n` }]
}

const GOOD = rules(limitOf(3))
const TYPO = rules('{ unit: minut, requests_per_unit: 3 }')
const OTHER_TYPO = rules('{ unit: minute, request_per_unit: 3 }')

/** Returns LiveRules, and everything it tells. */
function recorded(mergeDomains = false): { live: LiveRules; loaded: RuleSet[]; refused: RulesError[] } {
  const loaded: RuleSet[] = []
  const refused: RulesError[] = []
  const live = new LiveRules(
    { mergeDomains },
    { loaded: (set) => loaded.push(set), refused: (error) => refused.push(error) },
  )
  return { live, loaded, refused }
}

/** Returns the limit for users of each domain. */
function limitsIn(set: RuleSet): number[] {
  return [...set.domains.values()].map(({ root }) => root.branches.get('user')?.any?.rules[0].limit.max ?? -1)
}

describe('LiveRules', () => {
  it('limits nothing before there are rules', () => {
    const { live } = recorded()
    expect(live.current()).toBe(NO_RULES)
    expect(live.counts).toEqual({ loads: 0, refusals: 0 })
  })

  it('puts rules in force, and reports it', () => {
    const { live, loaded, refused } = recorded()
    expect(live.apply(GOOD)).toBe(true)
    expect(limitsIn(live.current())).toEqual([3])
    expect(loaded).toEqual([live.current()])
    expect(refused).toEqual([])
    expect(live.counts).toEqual({ loads: 1, refusals: 0 })
  })

  it('leaves everything as it is when the files are what they were', () => {
    const { live, loaded } = recorded()
    live.apply(GOOD)
    const before = live.current()
    expect(live.apply(structuredClone(GOOD))).toBe(true)
    expect(live.current()).toBe(before)
    expect(loaded).toHaveLength(1)
    expect(live.counts).toEqual({ loads: 1, refusals: 0 })
  })

  it.each<[string, RuleText[]]>([
    ['another content', rules(limitOf(4))],
    ['another name', rules(limitOf(3), 'users.yaml')],
    ['one more file', [...GOOD, ...rules(limitOf(9), 'b.yaml', 'b')]],
  ])('sees %s', (_, texts) => {
    const { live, loaded } = recorded()
    live.apply(GOOD)
    expect(live.apply(texts)).toBe(true)
    expect(loaded).toHaveLength(2)
  })

  it('drops the rules of a file that is gone', () => {
    const { live } = recorded()
    live.apply([...GOOD, ...rules(limitOf(9), 'b.yaml', 'b')])
    expect([...live.current().domains.keys()]).toEqual(['api', 'b'])
    live.apply(GOOD)
    expect([...live.current().domains.keys()]).toEqual(['api'])
  })

  it('keeps the last good rules when one file of several is wrong', () => {
    const { live, loaded } = recorded()
    live.apply(GOOD)
    const before = live.current()
    expect(live.apply([...rules(limitOf(9)), ...rules('{}', 'b.yaml', 'b')])).toBe(false)
    expect(live.current()).toBe(before)
    expect(loaded).toHaveLength(1)
    expect(live.counts).toEqual({ loads: 1, refusals: 1 })
  })

  it('reports all errors of all files together', () => {
    const { live, refused } = recorded()
    live.apply([...TYPO, ...rules('[', 'b.yaml', 'b'), ...rules(limitOf(-1), 'c.yaml', 'c')])
    expect(refused.map(({ errors }) => errors.map(({ code, where }) => `${code} ${where}`))).toEqual([
      ['RULE_INVALID api.yaml:4:25', 'RULE_SYNTAX b.yaml:5:1', 'RULE_INVALID c.yaml:4:52'],
    ])
  })

  it('reports a reason once, another reason again, and the same one again after rules that were right', () => {
    const { live, refused } = recorded()
    live.apply(GOOD)
    const received = (texts: RuleText[]): number => {
      live.apply(texts)
      return refused.length
    }
    expect([TYPO, TYPO, TYPO].map(received)).toEqual([1, 1, 1])
    expect([OTHER_TYPO, OTHER_TYPO, TYPO].map(received)).toEqual([2, 2, 3])
    expect([GOOD, TYPO, TYPO].map(received)).toEqual([3, 4, 4])
    expect(live.counts).toEqual({ loads: 2, refusals: 8 })
  })

  it('reports that the rules are in force again when a wrong file is taken back', () => {
    const { live, loaded } = recorded()
    live.apply(GOOD)
    live.apply(TYPO)
    live.apply(GOOD)
    expect(loaded).toHaveLength(2)
    expect(limitsIn(live.current())).toEqual([3])
  })

  it('takes two files of one domain for one set only where that is asked for', () => {
    const texts = [
      ...GOOD,
      { file: 'b.yaml', text: 'domain: api\ndescriptors: [{ key: ip, rate_limit: { unlimited: true } }]\n' },
    ]
    const apart = recorded()
    expect(apart.live.apply(texts)).toBe(false)
    expect(apart.refused[0].message).toBe(
      'RULE_DUPLICATE_DOMAIN: b.yaml:1:9: "api" is already defined at api.yaml:1:9. A domain must be defined only once. Rename one, or merge them.',
    )
    const joined = recorded(true)
    expect(joined.live.apply(texts)).toBe(true)
    expect(joined.live.current().ruleCount).toBe(2)
  })
})

describe('requests across a change of rules', () => {
  const request = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }

  /** Returns a limiter on live rules, and how to change them. Time stands still. */
  function limited(rateLimit: string) {
    const { live } = recorded()
    const limiter = new Limiter(live.current, new MemoryStore({ clock: { nowMs: () => 1_000_000 } }))
    const change = (next: string): void => {
      expect(live.apply(rules(next))).toBe(true)
    }
    const use = (cost: number): void => {
      limiter.check({ ...request, cost })
    }
    const left = (): number | undefined => limiter.check({ ...request, cost: 0 }).tightest?.verdict.remaining
    change(rateLimit)
    return { live, limiter, change, use, left }
  }

  it('keep the rules they started with', () => {
    const { live, change } = limited(limitOf(3))
    const taken = live.current()
    change(limitOf(5))
    expect([limitsIn(taken), limitsIn(live.current())]).toEqual([[3], [5]])
  })

  it('see one version, however often the rules change while the store is asked', () => {
    const { live } = recorded()
    live.apply(rules(limitOf(3)))
    const inner = new MemoryStore({ clock: { nowMs: () => 1_000_000 } })
    const seen: number[] = []
    const changing = Object.create(inner, {
      decide: {
        value: (charges: Parameters<MemoryStore['decide']>[0]) => {
          live.apply(rules(limitOf(50)))
          return inner.decide(charges)
        },
      },
      decideOne: {
        value: (...charge: Parameters<MemoryStore['decideOne']>) => {
          live.apply(rules(limitOf(50)))
          return inner.decideOne(...charge)
        },
      },
    }) as MemoryStore
    const limiter = new Limiter(live.current, changing)
    for (let i = 0; i < 2; i++) {
      const { tightest } = limiter.check(request)
      seen.push(tightest?.rule.limit.max ?? -1, tightest?.verdict.limit ?? -1)
    }
    expect(seen).toEqual([3, 3, 50, 50])
  })

  it.each<[string, string, number]>([
    ['a higher limit', limitOf(10), 8],
    ['a lower limit', limitOf(4), 2],
    ['a limit below what is used', limitOf(1), 0],
    ['another name', '{ name: fresh, unit: minute, requests_per_unit: 5 }', 3],
    ['another weight', '{ unit: minute, requests_per_unit: 5, cost: 7 }', 3],
    ['the same window in other words', '{ window: 60s, requests_per_unit: 5 }', 3],
    ['another algorithm', '{ unit: minute, requests_per_unit: 5, algorithm: gcra }', 5],
    ['another window', '{ unit: hour, requests_per_unit: 5 }', 5],
    ['sub-windows', '{ unit: minute, requests_per_unit: 5, sub_windows: 6 }', 5],
  ])('under %s: %s leaves %i to a caller who has used two of five', (_, next, expected) => {
    const { change, use, left } = limited(limitOf(5))
    use(2)
    expect(left()).toBe(3)
    change(next)
    expect(left()).toBe(expected)
  })

  it('keep what was used of a bucket whose burst changes', () => {
    const bucket = (burst: number): string =>
      `{ unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: ${burst} }`
    const { change, use, left } = limited(bucket(10))
    use(4)
    expect(left()).toBe(6)
    change(bucket(5))
    expect(left()).toBeLessThanOrEqual(5)
    change(bucket(10))
    expect(left()).toBe(6)
  })

  it('find their counters when a rule is switched off and on again', () => {
    const { live, limiter, change, use, left } = limited(limitOf(5))
    use(2)
    live.apply([
      {
        file: 'api.yaml',
        text: `domain: api\ndescriptors:\n  - key: user\n    enabled: false\n    rate_limit: ${limitOf(5)}\n`,
      },
    ])
    expect(limiter.check(request).verdicts).toEqual([])
    change(limitOf(5))
    expect(left()).toBe(3)
  })
})
