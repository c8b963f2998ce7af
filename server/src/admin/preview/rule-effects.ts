import type { Limit } from 'sluice/internal/core/limit'
import { describeRule } from 'sluice/internal/core/rules/describe'
import type { Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { BLOCKED } from 'sluice/internal/engine/quotas'
import { type PlacedRule, rulesOf } from '../../observe/metrics/rules-of.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { LAYER_DOMAIN, LAYERS, type RuleSwitch } from '../../quotas/model.ts'
import type { FleetActivity, RuleActivity } from '../activity/fleet-activity.ts'
import type { CountRange, PreviewOutcome } from '../api/change.ts'
import { ALL_RULES, switchId } from '../switches/table.ts'
import { LimitSums } from './limit-sums.ts'
import { refusedAfter } from './refused-after.ts'

export interface RuleEffectsParts {
  readonly rules: RuleSet
  /** What switches say, and what is switched. */
  readonly book: QuotaBook | undefined
  readonly activity: Pick<FleetActivity, 'list'>
  readonly nowMs: number
}

const HOUR_MS = 3_600_000
/** How many rules are listed by name. */
const MAX_NAMED = 20
/** Whom a rule is about is unknown: its callers may have no record. */
const UNKNOWN_CALLERS = undefined

interface Effect {
  readonly range: CountRange | undefined
  readonly why: string | undefined
}

type EffectOf = (activity: RuleActivity, hasOthers: boolean) => Effect | undefined

/**
 * RuleEffects compares what rules did in the last hour, on all nodes, with what they would do under other rules or
 * switches.
 */
export class RuleEffects {
  readonly #parts: RuleEffectsParts

  constructor(parts: RuleEffectsParts) {
    this.#parts = parts
  }

  /** Compares with other rules: those of the domains that they have. */
  async ofRules(next: RuleSet): Promise<PreviewOutcome> {
    const changes = diffOf(this.#parts.rules, next)
    if (changes.length === 0) return { ...NOTHING, affectedCustomers: 0, notes: ['No rule would change.'] }
    const named = changes.slice(0, MAX_NAMED).map(({ note }) => note)
    if (changes.length > MAX_NAMED) named.push(`and ${changes.length - MAX_NAMED} more`)
    const byName = new Map<string, Difference[]>()
    for (const change of changes) {
      const known = byName.get(nameOf(change))
      if (known === undefined) byName.set(nameOf(change), [change])
      else known.push(change)
    }
    const outcome = await this.#lastHour(
      (each, hasOthers) => edited(byName.get(nameOf(each)), each, hasOthers),
      [...byName.values()],
    )
    return { ...outcome, notes: [...named, ...outcome.notes] }
  }

  /** ofSwitch compares with a switch of one rule, of all, or of a layer. */
  async ofSwitch(id: string, after: RuleSwitch | undefined): Promise<PreviewOutcome> {
    const { book, rules } = this.#parts
    if (UNCOUNTED_LAYERS.includes(id))
      return { ...NOTHING, trafficUnknown: 'What this layer refuses is not counted by rule.' }
    if (book === undefined) return NOTHING
    const changed = book.sketch({ customers: new Set(), keys: new Set() }, this.#parts.nowMs)
    changed.put('switches', id, after)
    const byName = new Map([...rulesOf(rules)].map(({ domain, rule }) => [nameOf({ domain, id: rule.id }), rule]))
    const modeOf = (from: QuotaBook, domain: string, rule: Rule) =>
      from.switches?.(domain, rule) ?? (rule.shadow ? 'shadow' : 'enforce')
    const outcome = await this.#lastHour((each, hasOthers) => {
      const rule = byName.get(nameOf(each))
      if (rule === undefined) return undefined
      const [was, will] = [modeOf(book, each.domain, rule), modeOf(changed, each.domain, rule)]
      return was === will ? undefined : switched(will, each, hasOthers && id !== ALL_RULES)
    })
    return outcome
  }

  async #lastHour(effectOf: EffectOf, edits: readonly (readonly Difference[])[] = []): Promise<PreviewOutcome> {
    const { activity, nowMs } = this.#parts
    const { items, rulesLeftOut, nodesLeftOut } = await activity.list('fleet')
    const asked = items.filter(({ id }) => id !== BLOCKED)
    const inDomain = new Map<string, number>()
    for (const { domain } of asked) inDomain.set(domain, (inDomain.get(domain) ?? 0) + 1)
    const sums = new LimitSums()
    for (const each of asked) {
      const effect = effectOf(each, (inDomain.get(each.domain) ?? 0) > 1)
      if (effect !== undefined)
        sums.add({ domain: each.domain, ruleId: each.id }, countsOf(each), effect.range, effect.why)
    }
    for (const [{ domain, id }] of edits.filter((group) => group.every(({ before }) => before === undefined)))
      sums.addUncounted({ domain, ruleId: id })
    return {
      ...NOTHING,
      traffic: [{ kind: 'last_hour', fromMs: nowMs - HOUR_MS, toMs: nowMs, ...sums.listed() }],
      notes: partly(nodesLeftOut, rulesLeftOut),
    }
  }
}

const NOTHING: PreviewOutcome = {
  affectedCustomers: UNKNOWN_CALLERS,
  traffic: [],
  trafficUnknown: undefined,
  notes: [],
}
/** The layers that refuse without asking a rule. */
const UNCOUNTED_LAYERS = LAYERS.filter((layer) => layer !== 'rate' && layer !== 'concurrency').map((layer) =>
  switchId({ domain: LAYER_DOMAIN, id: layer }),
)
const OTHERS = 'Other limits of the domain may refuse the same requests.'
const REPLACED = 'Other rules may apply in its place.'

const nameOf = ({ domain, id }: { readonly domain: string; readonly id: string }): string => `${domain}/${id}`

/** countsOf has what was refused in shadow among what was admitted, as it was. */
function countsOf({ lastHour: { allowed, refused, shadowRefused } }: RuleActivity) {
  return { allowed: allowed + shadowRefused, refused }
}

function partly(nodes: number, rules: number): readonly string[] {
  if (nodes > 0) return [`${nodes} ${nodes === 1 ? 'node' : 'nodes'} did not answer: what they decided is left out.`]
  return rules > 0 ? [`Left out: ${rules} more, with fewer requests.`] : []
}

/** switched: in shadow mode a rule counts as if it refused, so that what it would have refused is known. */
function switched(mode: RuleSwitch['mode'], { lastHour }: RuleActivity, hasOthers: boolean): Effect {
  const { allowed, refused, shadowRefused } = lastHour
  const range = (atLeast: number, atMost: number): Effect => {
    return { range: { atLeast, atMost }, why: atLeast === atMost ? undefined : OTHERS }
  }
  if (mode !== 'enforce') return range(0, hasOthers ? refused : 0)
  const would = refused + shadowRefused
  return range(would, hasOthers ? allowed + would : would)
}

/** edited: a rule has a counter for each caller, and counts of all of them together. */
function edited(
  changes: readonly Difference[] | undefined,
  activity: RuleActivity,
  hasOthers: boolean,
): Effect | undefined {
  if (changes === undefined) return undefined
  if (changes.some(({ after }) => after === undefined)) return { range: undefined, why: REPLACED }
  const { allowed, refused } = countsOf(activity)
  const each = changes.map(({ before, after }) =>
    refusedAfter(
      { allowed, refused, cost: allowed },
      { before: limitOf(before), after: limitOf(after), isOneCounter: false, hasOthers, fromMs: 0, toMs: HOUR_MS },
    ),
  )
  // Of a rule that differs by tier, some callers may keep what they have.
  const isWhole = changes.every(({ isOnly }) => isOnly)
  const bounds = isWhole ? each : [{ atLeast: refused, atMost: refused, why: undefined }, ...each]
  const atLeast = Math.min(...bounds.map((bound) => bound.atLeast))
  const atMost = Math.max(...bounds.map((bound) => bound.atMost))
  return {
    range: { atLeast, atMost },
    why: atLeast === atMost ? undefined : (each.find(({ why }) => why)?.why ?? REPLACED),
  }
}

/** limitOf is undefined where nothing is refused. */
function limitOf(rule: Rule | undefined): Limit | undefined {
  return rule === undefined || rule.unlimited || rule.shadow ? undefined : rule.limit
}

interface Difference {
  readonly domain: string
  readonly id: string
  readonly note: string
  /** Undefined: there was none, or there would be none any more. */
  readonly before: Rule | undefined
  readonly after: Rule | undefined
  /** No tier has a rule of the same id. */
  readonly isOnly: boolean
}

/** diffOf compares rules with those in force, in the domains that they have. */
function diffOf(now: RuleSet, next: RuleSet): readonly Difference[] {
  const before = placed(now, next)
  const after = placed(next, next)
  const names = new Set([...after.keys(), ...before.keys()])
  const variants = new Map<string, number>()
  for (const name of names) {
    const { domain, rule } = (after.get(name) ?? before.get(name)) as PlacedRule
    const id = nameOf({ domain, id: rule.id })
    variants.set(id, (variants.get(id) ?? 0) + 1)
  }
  const differences: Difference[] = []
  for (const name of names) {
    const [was, will] = [before.get(name), after.get(name)]
    const { domain, rule } = (will ?? was) as PlacedRule
    const [wasText, willText] = [was && describeRule(was.rule), will && describeRule(will.rule)]
    if (wasText === willText) continue
    const isOnly = variants.get(nameOf({ domain, id: rule.id })) === 1
    const note = `${name}: ${willText === undefined ? 'removed' : wasText === undefined ? `new, ${willText}` : `${wasText} → ${willText}`}`
    differences.push({ domain, id: rule.id, note, before: was?.rule, after: will?.rule, isOnly })
  }
  return differences
}

/** placed lists the rules of some domains, by names that distinguish tiers. */
function placed(rules: RuleSet, { domains }: Pick<RuleSet, 'domains'>): ReadonlyMap<string, PlacedRule> {
  const found = new Map<string, PlacedRule>()
  for (const each of rulesOf(rules)) {
    const { domain, rule, tier } = each
    if (domains.has(domain)) found.set(`${domain}/${rule.id}${tier === undefined ? '' : ` (tier ${tier})`}`, each)
  }
  return found
}
