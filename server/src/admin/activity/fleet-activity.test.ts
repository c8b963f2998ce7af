import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { RecentActivity } from '../../observe/live/rule-activity.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import { bookOf, ruleSwitch } from '../../quotas/book/records.suite.ts'
import { FleetQuestions } from '../fleet/fleet-questions.ts'
import { FleetActivity } from './fleet-activity.ts'

const limit = { unit: 'day', requests_per_unit: 2 }
const RULES = compileObjects([
  {
    domain: 'api',
    descriptors: [
      { key: 'a', rate_limit: limit },
      { key: 'b', rate_limit: limit, shadow_mode: true },
      { key: 'c', rate_limit: limit },
      { key: 'd', rate_limit: limit, shadow_mode: true },
    ],
  },
])

function scene(isShadow = false) {
  const switches = [ruleSwitch({ domain: 'api', id: 'c' }, 'shadow'), ruleSwitch({ domain: 'api', id: 'd' }, 'enforce')]
  const { book } = bookOf({ switches })
  const process = new RecentActivity()
  for (const [i, id] of ['a', 'b', 'c', 'd', 'gone'].entries())
    process.add({ domain: 'api', id, allowed: 9 - i, refused: 0, shadowRefused: 0 }, 0)
  const asked: string[] = []
  const ask = (async (name: string) => {
    asked.push(name)
    return [process.report(0), process.report(0)]
  }) as unknown as AskProcesses
  const others = () => ({ ids: [], away: 1 })
  const questions = new FleetQuestions({ node: '1', redis: undefined, others })
  const activity = new FleetActivity({ ask, questions, rules: () => RULES, book: () => book, isShadow })
  return { activity, asked }
}

describe('what the rules of a fleet did', () => {
  it('is added up over processes, and says which rules only report now', async () => {
    const { activity } = scene()
    const found = await activity.list('fleet')
    expect(found).toMatchObject({ nodes: 1, nodesLeftOut: 1, rulesLeftOut: 0 })
    expect(found.items.map(({ id, isShadow, lastHour }) => [id, isShadow, lastHour.allowed])).toEqual([
      ['a', false, 18],
      ['b', true, 16],
      ['c', true, 14],
      ['d', false, 12],
      ['gone', false, 10],
    ])
    expect((await activity.list('node')).nodesLeftOut).toBe(0)
  })

  it('only reports, all of it, in shadow mode', async () => {
    const { items } = await scene(true).activity.list('node')
    expect(items.every(({ isShadow }) => isShadow)).toBe(true)
  })

  it('is asked for once, however many look at the same time', async () => {
    const { activity, asked } = scene()
    await Promise.all(Array.from({ length: 100 }, () => activity.list('fleet')))
    expect(asked).toEqual(['activity'])
  })
})
