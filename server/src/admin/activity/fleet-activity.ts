import type { Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { LiveRuleCounts } from '../../observe/live/live-report.ts'
import {
  type ActivityReport,
  type ActivityRow,
  MAX_ACTIVE_RULES,
  mergeActivity,
} from '../../observe/live/rule-activity.ts'
import { rulesOf } from '../../observe/metrics/rules-of.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { partKey } from '../api/parts.ts'
import { FleetQuery } from '../fleet/fleet-query.ts'
import { type FleetList, type FleetQuestions, type FleetScope, MAX_ANSWER } from '../fleet/fleet-questions.ts'
import { isText, isWhole } from '../fleet/read-values.ts'

export type ActivityCounts = Pick<LiveRuleCounts, 'allowed' | 'refused' | 'shadowRefused'>

/** A RuleActivity is what one rule did lately. */
export interface RuleActivity {
  readonly domain: string
  readonly id: string
  /** It only reports now, by its rule or by a switch. */
  readonly isShadow: boolean
  readonly lastMinute: ActivityCounts
  readonly lastHour: ActivityCounts
}

export interface FleetActivityParts {
  readonly ask: AskProcesses
  readonly questions: FleetQuestions
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
  /** Every rule only reports, whatever it says. */
  readonly isShadow: boolean
}

/** FleetActivity gathers what rules did lately, on this node and on others. */
export class FleetActivity {
  readonly #parts: FleetActivityParts
  /** By set of rules: they change rarely. */
  readonly #byName = new WeakMap<RuleSet, ReadonlyMap<string, Rule>>()

  readonly #query: FleetQuery<ActivityReport>
  #last: { readonly atMs: number; readonly report: Promise<ActivityReport> } | undefined

  constructor(parts: FleetActivityParts) {
    this.#parts = parts
    this.#query = new FleetQuery(parts.questions, {
      name: 'activity',
      own: () => this.#own(),
      sent: fittingActivity,
      read: readActivity,
    })
  }

  async list(scope: FleetScope): Promise<FleetList<RuleActivity> & { readonly rulesLeftOut: number }> {
    const { own, others, nodes, nodesLeftOut } = await this.#query.ask(scope)
    const { rules, left } = mergeActivity([own, ...others.values()])
    const items = rules.map(([domain, id, minute, hour]) => {
      return { domain, id, isShadow: this.#isShadow(domain, id), lastMinute: counts(minute), lastHour: counts(hour) }
    })
    return { items, nodes, nodesLeftOut, rulesLeftOut: left }
  }

  /** What rules did on this node. Processes are asked once a second at most, however many look. */
  #own(): Promise<ActivityReport> {
    const nowMs = performance.now()
    if (this.#last === undefined || nowMs - this.#last.atMs >= KEPT_MS) {
      this.#last = { atMs: nowMs, report: this.#asked() }
    }
    return this.#last.report
  }

  async #asked(): Promise<ActivityReport> {
    return mergeActivity(await this.#parts.ask('activity'))
  }

  #isShadow(domain: string, id: string): boolean {
    const rule = this.#ruleOf(domain, id)
    const mode = rule && this.#parts.book()?.switches?.(domain, rule)
    if (mode === 'enforce') return this.#parts.isShadow
    return this.#parts.isShadow || mode === 'shadow' || rule?.shadow === true
  }

  #ruleOf(domain: string, id: string): Rule | undefined {
    const rules = this.#parts.rules()
    let known = this.#byName.get(rules)
    if (known === undefined) {
      known = new Map([...rulesOf(rules)].map(({ domain: of, rule }) => [`${of}\0${rule.id}`, rule]))
      this.#byName.set(rules, known)
    }
    return known.get(`${domain}\0${id}`)
  }
}

/** A report of 5,000 rules takes a process milliseconds. */
const KEPT_MS = 1_000

function counts([allowed, refused, shadowRefused]: ActivityRow[2]): ActivityCounts {
  return { allowed, refused, shadowRefused }
}

/** Cuts a report so that it can be sent to others, and says how many rules that left out. */
export function fittingActivity({ rules, left }: ActivityReport): ActivityReport {
  let length = 0
  let most = 0
  while (most < rules.length) {
    length += JSON.stringify(rules[most]).length + 1
    if (length > MAX_ANSWER - 64) break
    most++
  }
  return { rules: rules.slice(0, most), left: left + rules.length - most }
}

/** Checks what another node answered. */
export function readActivity(value: unknown): ActivityReport | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { rules, left } = value as Partial<Record<'rules' | 'left', unknown>>
  if (!isWhole(left) || !Array.isArray(rules) || rules.length > MAX_ACTIVE_RULES) return undefined
  return rules.every(isRow) ? { rules, left } : undefined
}

function isRow(value: unknown): value is ActivityRow {
  if (!Array.isArray(value) || value.length !== 4 || !isText(value[0]) || !isText(value[1])) return false
  return [value[2], value[3]].every((sums) => Array.isArray(sums) && sums.length === 3 && sums.every(isWhole))
}

export const ACTIVITY = partKey<Pick<FleetActivity, 'list'>>('activity')
