import { describeRule } from 'sluice/internal/core/rules/describe'
import type { Domain, Rule, RuleNode } from 'sluice/internal/core/rules/rule-set'
import type { Simulation } from '../simulation.ts'
import type { CallerCounts, CallerTotals, Undercount } from '../tally/caller-table.ts'
import type { Counts } from '../tally/counts.ts'
import type { RuleCounts } from '../tally/rule-table.ts'
import type { TimeCounts } from '../tally/time-series.ts'
import type { MetCondition } from './conditions.ts'

/** A rule with what it did. */
export interface RuleResult {
  readonly domain: string
  readonly id: string
  readonly name: string
  readonly limit: string
  readonly isShadow: boolean
  readonly asked: number
  readonly refused: number
  readonly shadow: number
  readonly lost: number
  readonly gained: number
  readonly first: string | undefined
  readonly last: string | undefined
}

/** What a simulation comes to. The same traffic and rules give the same result: nothing in it is of this run. */
export interface SimulationResult {
  readonly rulesVersion: string
  /** The version of the rules that the result is compared with. */
  readonly againstVersion: string | undefined
  readonly traffic: {
    readonly names: readonly string[]
    readonly formats: readonly string[]
    readonly lines: number
    readonly unread: number
    readonly undescribed: number
    readonly late: number
    readonly latestMs: number
    readonly astray: number
    readonly moved: number
    /** Lines that the log says were answered 429. */
    readonly refusedThen: number
    readonly from: string
    readonly to: string
    readonly isWholeSeconds: boolean
  }
  readonly totals: Counts
  readonly callers: CallerTotals & {
    readonly keys: readonly string[]
    readonly undercount: Undercount
    readonly top: readonly CallerCounts[]
  }
  readonly rules: readonly RuleResult[]
  readonly time: { readonly widthMs: number; readonly spans: readonly TimeCounts[] }
  /** Rules that a replay cannot judge. */
  readonly notReplayed: readonly string[]
  /** Rules that no request came to. */
  readonly notAsked: readonly string[]
  readonly counters: { readonly kept: number; readonly evicted: number; readonly shared: number }
  readonly conditions: readonly MetCondition[]
}

/** What the report adds to a simulation. */
export interface ResultOptions {
  readonly names: readonly string[]
  readonly domains: readonly Domain[]
  /** How many callers are listed. */
  readonly top: number
  readonly conditions: readonly MetCondition[]
}

export function resultOf(simulation: Simulation, { names, domains, top, conditions }: ResultOptions): SimulationResult {
  const { read, order, totals, callers, series } = simulation
  const { keys, evicted, shared } = simulation.now.store
  const counted = simulation.rules.list
  const rules = domains.flatMap(rulesOf)
  const asked = new Set(counted.filter((each) => each.asked > 0).map(({ rule }) => rule))
  const held = rules.filter(isHeld)
  return {
    rulesVersion: simulation.now.rules.version,
    againstVersion: simulation.before?.rules.version,
    traffic: {
      names,
      formats: [...simulation.formats],
      ...read,
      late: order.late,
      latestMs: order.latestMs,
      astray: order.astray,
      moved: order.moved,
      from: new Date(simulation.firstMs).toISOString(),
      to: new Date(simulation.lastMs).toISOString(),
      isWholeSeconds: simulation.isWholeSeconds,
    },
    totals,
    callers: {
      ...callers.totals,
      keys: simulation.callerKeys,
      undercount: callers.undercount,
      top: callers.top(top),
    },
    rules: counted.filter(({ rule }) => !isHeld(rule)).map(ruleResult),
    time: { widthMs: series.widthMs, spans: series.spans },
    notReplayed: held.map(({ id, name }) => nameOf(id, name)),
    notAsked: rules.filter((rule) => !isHeld(rule) && !asked.has(rule)).map(({ id, name }) => nameOf(id, name)),
    counters: { kept: keys, evicted, shared },
    conditions,
  }
}

function ruleResult({ domain, rule, asked, refused, shadow, lost, gained, firstMs, lastMs }: RuleCounts): RuleResult {
  const timeOf = (ms: number): string | undefined => (Number.isFinite(ms) ? new Date(ms).toISOString() : undefined)
  const { id, name, shadow: isShadow } = rule
  const [first, last] = [timeOf(firstMs), timeOf(lastMs)]
  return { domain, id, name, limit: describeRule(rule), isShadow, asked, refused, shadow, lost, gained, first, last }
}

/** Formats a rule by its name, and its place where that is another text. */
export function nameOf(id: string, name: string): string {
  return name === id ? id : `${name} (${id})`
}

/** Places are held while requests run, and a log does not say for how long all of them did. */
function isHeld({ limit }: Rule): boolean {
  return limit.algorithmRecord.holdsPermits
}

/** Returns all rules of a domain, each once. */
function rulesOf({ root }: Domain): readonly Rule[] {
  const found = new Set<Rule>()
  collect(root, found)
  return [...found]
}

function collect(node: RuleNode, found: Set<Rule>): void {
  for (const rule of node.rules) found.add(rule)
  for (const set of node.tiers?.values() ?? []) collect(set, found)
  for (const { exact, blocks, wildcards, any } of node.branches.values()) {
    const below = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
    if (any !== undefined) below.push(any)
    for (const next of below) collect(next, found)
  }
}
