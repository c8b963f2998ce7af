import { got, SluiceError } from 'sluice/internal/core/errors'
import { didYouMean } from 'sluice/internal/core/nearest'
import type { Simulation } from '../simulation.ts'
import type { CallerTable } from '../tally/caller-table.ts'

const METRICS = ['refused', 'shadow', 'lost', 'gained', 'unread'] as const

/** A condition that fails a run: `refused(customer) > 0.1 %`. */
export interface Condition {
  readonly text: string
  readonly metric: (typeof METRICS)[number]
  /** Whose different values are counted, in place of requests. */
  readonly group: string | undefined
  readonly isOrMore: boolean
  readonly bound: number
  readonly isShare: boolean
}

/** A condition with what it came to. */
export interface MetCondition {
  readonly condition: string
  /** In percent where the condition is. */
  readonly value: number
  readonly isMet: boolean
}

const FORM = /^\s*([a-z]{1,20})\s*(?:\(\s*([\w.:-]{1,64})\s*\))?\s*(>=|>)\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(%?)\s*$/

/** Reads `METRIC[(KEY)] > NUMBER[%]`. */
export function parseCondition(text: string): Condition {
  const [, metric = '', group, operator, bound, percent] = FORM.exec(text) ?? []
  const known = METRICS.find((each) => each === metric)
  if (known === undefined || (known === 'unread' && group !== undefined)) {
    throw new SluiceError('FAIL_IF_INVALID', '--fail-if', `${got(text)}${didYouMean(metric, METRICS)}`)
  }
  return {
    text: text.trim(),
    metric: known,
    group,
    isOrMore: operator === '>=',
    bound: Number(bound),
    isShare: percent === '%',
  }
}

/** The group of the callers that the report lists. */
export const CALLER_GROUP = 'caller'

/** Evaluates a condition at the end of a simulation. */
export function evaluate(condition: Condition, simulation: Simulation): MetCondition {
  const { text, isOrMore, bound, isShare } = condition
  const [count, all] = countOf(condition, simulation)
  const value = isShare ? (all === 0 ? 0 : (100 * count) / all) : count
  return { condition: text, value, isMet: isOrMore ? value >= bound : value > bound }
}

function countOf({ metric, group }: Condition, simulation: Simulation): readonly [count: number, all: number] {
  const { totals, read } = simulation
  if (metric === 'unread') return [read.unread + simulation.order.late + simulation.order.astray, read.lines]
  if (group === undefined) return [totals[metric], totals.requests]
  const table = group === CALLER_GROUP ? simulation.callers : (simulation.groups.get(group) as CallerTable)
  return [table.totals[metric], table.totals.seen]
}
