import { loadRules, type RuleObject } from 'sluice/internal/core/rules/load'
import { packRules } from 'sluice/internal/core/rules/pack-rules'
import type { RulePart } from 'sluice/internal/core/rules/packed-rules'
import { describe, expect, it } from 'vitest'
import { WorkerRules } from './worker-rules.ts'

/** rules are so many, all with the same limit. */
function rules(limit: number, count: number): RuleObject[] {
  const descriptors = Array.from({ length: count }, (_, i) => {
    return { key: 'user', value: `u${i}`, rate_limit: { unit: 'minute', requests_per_unit: limit } }
  })
  return [{ file: 'api.yaml', value: { domain: 'api', descriptors } }]
}

const partsOf = (limit: number): RulePart[] => [...packRules(loadRules(rules(limit, 500)))]
const SEVEN = partsOf(7)

/** Returns WorkerRules with the limit in force, and what it asks for. */
function worker() {
  const questions: string[] = []
  const own = new WorkerRules((version, at) => questions.push(`${version}:${at}`))
  own.apply(rules(1, 1), {})
  const limit = (): number | undefined =>
    own.current().domains.get('api')?.root.branches.get('user')?.exact.get('u0')?.rules[0].limit.max
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return { own, questions, limit, turn }
}

describe('WorkerRules', () => {
  it('asks for part after part, a turn of the event loop apart, and puts all into force with the last', async () => {
    const { own, questions, limit, turn } = worker()
    own.announce(1)
    for (const [at, part] of SEVEN.entries()) {
      expect(questions).toHaveLength(at + 1)
      expect(questions[at]).toBe(`1:${at}`)
      expect(limit()).toBe(1)
      own.take(1, part)
      expect(questions).toHaveLength(at + 1)
      await turn()
    }
    expect(limit()).toBe(7)
    expect(questions).toHaveLength(SEVEN.length)
  })

  it('says in the same turn that a version is in force, to the last one who asked', () => {
    const { own, limit } = worker()
    const heard: string[] = []
    const hear = (who: string) => () => heard.push(`${who} ${limit()}`)
    own.whenInForce(hear('now'))
    own.announce(1, hear('announced'))
    own.whenInForce(hear('asked'))
    own.announce(2, hear('newer'))
    own.whenInForce(hear('last'))
    for (const part of SEVEN) own.take(2, part)
    expect(heard).toEqual(['now 1', 'last 7'])
  })

  it('drops a version of which it has some parts when there is a newer one', async () => {
    const { own, questions, limit, turn } = worker()
    own.announce(1)
    own.take(1, SEVEN[0])
    own.announce(2)
    await turn()
    own.take(1, SEVEN[1])
    for (const part of partsOf(8)) own.take(2, part)
    expect(limit()).toBe(8)
    expect(questions.filter((question) => question.startsWith('1:'))).toEqual(['1:0'])
  })

  it('drops it, too, when a newer one comes as a whole', async () => {
    const { own, questions, limit, turn } = worker()
    own.announce(1)
    for (const part of SEVEN.slice(0, -1)) own.take(1, part)
    own.apply(rules(9, 1), {})
    own.take(1, SEVEN[SEVEN.length - 1])
    await turn()
    expect(limit()).toBe(9)
    expect(questions).toEqual(['1:0'])
  })
})
