import { formatDuration } from '../duration.ts'
import { holdsPermits, type Limit } from '../limit.ts'
import type { Rule, RuleNode, RuleSet } from './rule-set.ts'

/** describeLimit spells a limit for people: `100 per 1m, token_bucket, burst 500`. */
export function describeLimit(limit: Limit): string {
  const { algorithm, calendar, windowMs } = limit
  if (holdsPermits(limit)) return `${limit.limit} at once, leases of ${formatDuration(windowMs)}`
  const span = calendar ? `calendar ${calendar.unit} (${calendar.timeZone})` : formatDuration(windowMs)
  const parts = [`${limit.limit} per ${span}`, algorithm]
  if (limit.unitsPerMs > 0 && limit.capacity !== limit.limit) parts.push(`burst ${limit.capacity}`)
  if (limit.quantumMs > 1) parts.push(`sub-windows of ${formatDuration(limit.quantumMs)}`)
  if (limit.isAnchored) parts.push('from the first hit on')
  if (limit.countDenied) parts.push('refused ones count')
  return parts.join(', ')
}

/** describeRule spells a rule: its limit, and every setting that is not the usual one. */
export function describeRule(rule: Rule): string {
  const parts = [rule.unlimited ? 'unlimited' : describeLimit(rule.limit)]
  if (rule.shadow) parts.push('shadow')
  if (rule.quota) parts.push('quota mode')
  if (rule.cost !== 1)
    parts.push(typeof rule.cost === 'number' ? `each weighs ${rule.cost}` : `weighed by ${rule.cost.by}`)
  if (rule.consistency === 'eventual') parts.push(`eventual, every ${formatDuration(rule.syncIntervalMs)}`)
  else if (rule.consistency === 'leased') parts.push('leased')
  if (rule.onStoreFailure === 'closed') parts.push('closed when the store fails')
  if (rule.onStoreFailure === 'local') parts.push(`local when the store fails, ${rule.localShare} of the budget`)
  if (rule.timeoutMs !== 5) parts.push(`store answers within ${rule.timeoutMs}ms`)
  if (rule.priority !== 1) parts.push(`priority ${rule.priority}`)
  if (rule.response !== undefined) parts.push(`answers ${rule.response.status}`)
  if (rule.retryAfterJitterMs > 0) parts.push(`Retry-After spread by ${formatDuration(rule.retryAfterJitterMs)}`)
  if (rule.replaces.length > 0) parts.push(`replaces ${rule.replaces.join(', ')}`)
  return parts.join('; ')
}

/** describeRules draws a set of rules as a tree, a line for each pattern and limit. */
export function describeRules(rules: RuleSet): string[] {
  const lines: string[] = []
  for (const domain of rules.domains.values()) {
    const notes = [domain.version && `version ${domain.version}`, domain.evaluatePath && 'rules on the way apply too']
    lines.push(`domain ${[domain.name, ...notes.filter(Boolean)].join(', ')}`)
    describeBelow(domain.root, '  ', lines)
  }
  return lines
}

function describeBelow(node: RuleNode, indent: string, lines: string[]): void {
  for (const branch of node.branches.values()) {
    const below = [...branch.exact.values(), ...(branch.blocks?.targets ?? []), ...(branch.wildcards?.targets ?? [])]
    if (branch.any !== undefined) below.push(branch.any)
    for (const next of new Set(below)) describeNode(next, node.id, indent, lines)
  }
}

function describeNode(node: RuleNode, parentId: string, indent: string, lines: string[]): void {
  lines.push(`${indent}${parentId === '' ? node.id : node.id.slice(parentId.length + 1)}`)
  describeLimits(node, `${indent}  `, lines)
  for (const [tier, set] of node.tiers ?? []) {
    lines.push(`${indent}  tier ${tier}`)
    describeLimits(set, `${indent}    `, lines)
    describeBelow(set, `${indent}    `, lines)
  }
  describeBelow(node, `${indent}  `, lines)
}

function describeLimits(node: RuleNode, indent: string, lines: string[]): void {
  for (const rule of node.rules) {
    const name = rule.name === rule.id ? '' : `"${rule.name}": `
    lines.push(`${indent}${name}${describeRule(rule)}`)
  }
}
