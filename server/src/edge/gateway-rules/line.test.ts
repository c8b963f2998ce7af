import { combine } from 'sluice/internal/core/combine'
import { allowedVerdict } from 'sluice/internal/core/decision'
import { compileLimit } from 'sluice/internal/core/limit'
import { DEFAULTS } from 'sluice/internal/core/rules/rule-defaults'
import { chargeOf } from 'sluice/internal/engine/charge'
import { describe, expect, it } from 'vitest'
import { lineUp } from './line.ts'
import { Turns } from './turns.ts'

const leaky = compileLimit({ algorithm: 'leaky_bucket', limit: 1, window: '1s', burst: 9 })
const ruleOf = (limit = leaky, shadow = false) => ({ ...DEFAULTS, id: 'r', name: 'r', limit, shadow, path: [] })
const charge = (cost: number, rule = ruleOf()) =>
  chargeOf(rule, 'key', cost, { domain: 'd', entries: [], descriptor: 0 })

/** Asks about a charge, and has it wait for a second. */
function join(turns: Turns, asked: ReturnType<typeof charge>) {
  const line = lineUp(turns, [asked])
  const costs = line?.charges.map(({ cost }) => cost)
  const verdict = { ...allowedVerdict(9, 1, 1_000), delayMs: costs?.[0] === 0 ? 0 : 1_000 }
  return { costs, tickets: line?.join(combine([{ rule: asked.rule, descriptor: 0, verdict }])) }
}

describe('a line', () => {
  it('has a request take a turn that was given up, and no other of the store', () => {
    const turns = new Turns(() => () => {})
    const first = join(turns, charge(1))
    expect([first.costs, first.tickets?.length]).toEqual([[1], 1])
    first.tickets?.[0]?.leave()
    const second = join(turns, charge(1))
    expect([second.costs, second.tickets?.length]).toEqual([[0], 1])
  })

  it('leaves the turn of a request to requests of the same cost', () => {
    const turns = new Turns(() => () => {})
    join(turns, charge(1)).tickets?.[0]?.leave()
    expect(join(turns, charge(2)).costs).toEqual([2])
  })

  it('is for queues that enforce', () => {
    const turns = new Turns(() => () => {})
    expect(lineUp(turns, [charge(1, ruleOf(compileLimit({ limit: 1, window: '1s' })))])).toBeUndefined()
    expect(lineUp(turns, [charge(1, ruleOf(leaky, true))])).toBeUndefined()
  })
})
