import type { Decision } from 'sluice/internal/core/combine'
import { allowedVerdict, refusedVerdict, type Verdict } from 'sluice/internal/core/decision'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { RuleStats } from './rule-stats.ts'

const RULES: RuleFile = {
  domain: 'd',
  descriptors: [
    { key: 'user', rate_limit: { unit: 'minute', requests_per_unit: 10 } },
    { key: 'shadow', shadow_mode: true, rate_limit: { unit: 'minute', requests_per_unit: 10 } },
  ],
}

/** Has stats, and tells them of verdicts on a rule. */
function bench() {
  const stats = new RuleStats()
  const tell = (key: string, cost: number, verdict: Verdict, rules = compileObjects([RULES])) => {
    const planner = new Limiter(() => rules, new MemoryStore())
    const charges: readonly PlannedCharge[] = planner.plan({
      domain: 'd',
      descriptors: [{ entries: [{ key, value: 'a' }] }],
      cost,
    })
    stats.decided('rls', charges, { verdicts: [{ verdict }] } as unknown as Decision)
  }
  const counts = (key: string) => {
    const prefix = `ratelimit.service.rate_limit.d.${key}.`
    const own = [...stats.list()].filter(([name, value]) => name.startsWith(prefix) && value !== 0)
    return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]))
  }
  return { tell, counts }
}

const left = (remaining: number) => allowedVerdict(10, remaining, 0)
const REFUSED = refusedVerdict(10, 0, 60_000, 60_000)

describe('RuleStats', () => {
  it('counts hits by what they weigh', () => {
    const { tell, counts } = bench()
    tell('user', 3, left(7))
    tell('user', 8, REFUSED)
    expect(counts('user')).toEqual({ total_hits: 11, within_limit: 3, over_limit: 8 })
  })

  it('counts what is given back as negative hits, and as nothing else', () => {
    const { tell, counts } = bench()
    tell('user', -3, left(10))
    tell('user', 0, left(10))
    expect(counts('user')).toEqual({ total_negative_hits: 3 })
  })

  it.each([
    [2, {}],
    [1, { near_limit: 1 }],
  ])('counts hits as near the limit while less than a fifth is left (%d of 10)', (remaining, near) => {
    const { tell, counts } = bench()
    tell('user', 1, left(remaining))
    expect(counts('user')).toEqual({ total_hits: 1, within_limit: 1, ...near })
  })

  it('counts what a rule in shadow mode let pass', () => {
    const { tell, counts } = bench()
    tell('shadow', 1, REFUSED)
    expect(counts('shadow')).toEqual({ total_hits: 1, over_limit: 1, shadow_mode: 1 })
  })

  it('counts nothing for a rule that was not asked', () => {
    const { tell, counts } = bench()
    tell('user', 1, { ...left(9), unasked: true })
    expect(counts('user')).toEqual({})
  })

  it('keeps counting when the rules are loaded again', () => {
    const { tell, counts } = bench()
    tell('user', 1, left(9))
    tell('user', 1, left(8), compileObjects([RULES]))
    expect(counts('user')).toEqual({ total_hits: 2, within_limit: 2 })
  })
})
