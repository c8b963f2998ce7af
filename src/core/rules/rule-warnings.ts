import { formatDuration } from '../duration.ts'
import { chanceOf, LEAST_SAMPLED } from '../sampled-rate.ts'
import { nodesBelow } from './nodes-below.ts'
import type { Rule, RuleNode, RuleSet } from './rule-set.ts'

/** Returns a line for each rule that is allowed and not advisable. */
export function ruleWarnings(rules: RuleSet): string[] {
  const lines: string[] = []
  for (const { name, root } of rules.domains.values()) {
    for (const rule of rulesBelow(root)) {
      const warning = warningOf(rule)
      if (warning !== undefined) lines.push(`domain ${name}, ${rule.id}: ${warning}`)
    }
  }
  return lines
}

function* rulesBelow(node: RuleNode): Generator<Rule> {
  yield* node.rules
  for (const tier of node.tiers?.values() ?? []) yield* rulesBelow(tier)
  for (const next of nodesBelow(node)) yield* rulesBelow(next)
}

function warningOf({ consistency, limit }: Rule): string | undefined {
  if (consistency !== 'sampled' || limit.max >= LEAST_SAMPLED) return undefined
  const chance = `${Number((100 * chanceOf(limit)).toPrecision(2))} %`
  return (
    `sampled misses ${limit.max} per ${formatDuration(limit.windowMs)} by ±${chance} by chance alone. ` +
    `Use it for ${LEAST_SAMPLED} per window and more, and leased below`
  )
}
