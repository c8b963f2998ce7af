import { formatDuration } from '../duration.ts'
import { holdsPermits, type Limit } from '../limit.ts'
import { sampledRate } from '../sampled-rate.ts'
import { nodesBelow } from './nodes-below.ts'
import { DEFAULTS } from './rule-defaults.ts'
import type { Rule, RuleLedger, RuleNode, RuleSet } from './rule-set.ts'

/** Describes a limit for people: `100 per 1m, token_bucket, burst 500`. */
export function describeLimit(limit: Limit): string {
  const { algorithm, calendar, windowMs } = limit
  if (holdsPermits(limit)) return `${limit.max} concurrent, leases of ${formatDuration(windowMs)}`
  const span = calendar
    ? `calendar ${calendar.unit} (${calendar.isOfCustomer ? 'customer' : calendar.timeZone})`
    : formatDuration(windowMs)
  const parts = [`${limit.max} per ${span}`, algorithm]
  if (limit.unitsPerMs > 0 && limit.capacity !== limit.max) parts.push(`burst ${limit.capacity}`)
  if (limit.quantumMs > 1) parts.push(`sub-windows of ${formatDuration(limit.quantumMs)}`)
  if (limit.isAnchored) parts.push('from the first hit on')
  if (limit.countDenied) parts.push('refused ones count')
  return parts.join(', ')
}

/** Describes a rule: its limit, and every setting that differs from the default. */
export function describeRule(rule: Rule): string {
  const parts = [rule.unlimited ? 'unlimited' : describeLimit(rule.limit)]
  if (rule.shadow) parts.push('shadow')
  if (rule.quota) parts.push('quota mode')
  for (const setting of SETTINGS) {
    const format = FORMATTERS[setting] ?? (() => `${setting} ${rule[setting]}`)
    if (rule[setting] !== DEFAULTS[setting]) parts.push(format(rule))
  }
  if (rule.replaces.length > 0) parts.push(`replaces ${rule.replaces.join(', ')}`)
  return parts.join('; ')
}

type Setting = keyof typeof DEFAULTS

/** Settings that describeRule shows elsewhere, or only together with another setting. */
const ELSEWHERE: readonly Setting[] = ['isNamed', 'unlimited', 'shadow', 'quota', 'replaces', 'syncIntervalMs']
const SETTINGS = (Object.keys(DEFAULTS) as Setting[]).filter((setting) => !ELSEWHERE.includes(setting))

/** Descriptions of settings whose name and value alone do not read well. */
const FORMATTERS: Readonly<Partial<Record<Setting, (rule: Rule) => string>>> = {
  cost: ({ cost }) => (typeof cost === 'number' ? `each weighs ${cost}` : `weighed by ${cost.by}`),
  consistency: describeConsistency,
  onStoreFailure: ({ onStoreFailure }) => `${onStoreFailure} when the store fails`,
  openForMs: ({ openForMs }) => `for ${formatDuration(openForMs)}, then local`,
  localShare: ({ localShare }) => `${localShare} of the budget when the store fails`,
  timeoutMs: ({ timeoutMs }) => `store answers within ${timeoutMs}ms`,
  response: ({ response }) => `answers ${response?.status}`,
  ledger: ({ ledger }) => `${amountText(ledger?.amount)} of meter ${ledger?.meter}`,
  retryAfterJitterMs: ({ retryAfterJitterMs }) => `Retry-After spread by ${formatDuration(retryAfterJitterMs)}`,
}

const amountText = (amount: RuleLedger['amount'] | undefined): string =>
  typeof amount === 'number' ? `takes ${amount}` : amount === 'settled' ? 'takes its settled cost' : 'takes its cost'

function describeConsistency({ consistency, syncIntervalMs, limit }: Rule): string {
  if (consistency === 'eventual') return `eventual, every ${formatDuration(syncIntervalMs)}`
  if (consistency !== 'sampled') return consistency
  const { perMs, burst } = sampledRate(limit)
  return `sampled: ${formatRate(perMs * 1000)}/s, bursts of ${Math.floor(burst)}`
}

function formatRate(perSecond: number): string {
  return String(perSecond >= 100 ? Math.round(perSecond) : Number(perSecond.toPrecision(3)))
}

/** Draws a set of rules as a tree, a line for each pattern and limit. */
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
  for (const next of nodesBelow(node)) describeNode(next, node.id, indent, lines)
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
