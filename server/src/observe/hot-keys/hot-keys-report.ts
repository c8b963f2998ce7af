import { EMPTY_LIST, KeyTally, type TallyList } from './key-tally.ts'
import { WINDOWS, type WindowMinutes } from './key-windows.ts'
import { atOnce, type Steps } from './steps.ts'

/** By what keys are ranked: requests that a rule refused, or all that it was asked about. */
export const RANKINGS = ['refused', 'active'] as const
export type Ranking = (typeof RANKINGS)[number]

/** How many lists a report has of each rule. */
export const LISTS = RANKINGS.length * WINDOWS.length

/** What is known of the keys of one rule, in the form in which they may be shown: `user=42`. */
export interface RuleReport {
  readonly domain: string
  readonly rule: string
  /** The rule only reports: what it refused passed all the same. */
  readonly isShadow: boolean
  /** How many keys have been at 0 remaining for five minutes. */
  readonly exhausted: number
  readonly windows: Readonly<Record<WindowMinutes, Readonly<Record<Ranking, TallyList>>>>
}

/** What a process, a node or a fleet knows of its keys: plain data. */
export interface HotKeysReport {
  readonly rules: readonly RuleReport[]
  /** How many rules are not followed, because there are too many of them. */
  readonly rulesLeftOut: number
}

export const NO_HOT_KEYS: HotKeysReport = Object.freeze({ rules: Object.freeze([]), rulesLeftOut: 0 })

/** Makes the lists of a report's windows, one by one. */
export function mapTallies(
  make: (minutes: WindowMinutes, ranking: Ranking) => TallyList,
): Readonly<Record<WindowMinutes, Readonly<Record<Ranking, TallyList>>>> {
  const windowOf = (minutes: WindowMinutes) => ({ refused: make(minutes, 'refused'), active: make(minutes, 'active') })
  return { 1: windowOf(1), 5: windowOf(5), 60: windowOf(60), 1440: windowOf(1_440) }
}

/** Merges the reports of several processes or nodes into one. Lists have at most `length` keys. */
export function mergeReports(reports: readonly HotKeysReport[], length: number): HotKeysReport {
  return atOnce(mergingReports(reports, length))
}

/** Like mergeReports in steps. */
export function* mergingReports(reports: readonly HotKeysReport[], length: number): Steps<HotKeysReport> {
  if (reports.length === 1) return reports[0]
  const byRule = new Map<string, RuleReport[]>()
  for (const report of reports) {
    for (const rule of report.rules) {
      const name = JSON.stringify([rule.domain, rule.rule])
      const parts = byRule.get(name)
      if (parts === undefined) byRule.set(name, [rule])
      else parts.push(rule)
    }
  }
  const rules: RuleReport[] = []
  for (const parts of byRule.values()) {
    rules.push(mergeRules(parts, length))
    yield LISTS * length * parts.length
  }
  return {
    rules,
    rulesLeftOut: Math.max(0, ...reports.map(({ rulesLeftOut }) => rulesLeftOut)),
  }
}

function mergeRules(parts: readonly RuleReport[], length: number): RuleReport {
  const [{ domain, rule }] = parts
  return {
    domain,
    rule,
    isShadow: parts.every(({ isShadow }) => isShadow),
    // A key that several processes see at 0 is one key; how many they have in common, is not known.
    exhausted: Math.max(...parts.map(({ exhausted }) => exhausted)),
    windows: mapTallies((minutes, ranking) =>
      mergeLists(
        parts.map(({ windows }) => windows[minutes][ranking]),
        length,
      ),
    ),
  }
}

function mergeLists(lists: readonly TallyList[], length: number): TallyList {
  const tally = new KeyTally()
  for (const list of lists) tally.takeList(list)
  const merged = tally.list(length)
  return { ...merged, tracked: Math.max(merged.tracked, ...lists.map(({ tracked }) => tracked)) }
}

/** Returns a report whose lists have no more keys than `length`. */
export function shorten(report: HotKeysReport, length: number): HotKeysReport {
  const rules = report.rules.map((rule) => ({
    ...rule,
    windows: mapTallies((minutes, ranking) => shortList(rule.windows[minutes][ranking], length)),
  }))
  return { ...report, rules }
}

function shortList(list: TallyList, length: number): TallyList {
  if (list.keys.length <= length) return list
  return { ...list, missed: list.missed + list.keys[length][1], keys: list.keys.slice(0, length) }
}

/** Checks a report of another process. Undefined: it is invalid. */
export function readReport(value: unknown): HotKeysReport | undefined {
  if (!isRecord(value) || !isCount(value.rulesLeftOut) || !Array.isArray(value.rules)) return undefined
  const rules = value.rules.map(withDay)
  return rules.every(isRuleReport) ? ({ ...value, rules } as unknown as HotKeysReport) : undefined
}

/** Completes a report of the version before, which knew no day. */
function withDay(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value.windows) || value.windows[1_440] !== undefined) return value
  return { ...value, windows: { ...value.windows, 1440: NO_WINDOW } }
}

const NO_WINDOW = { refused: EMPTY_LIST, active: EMPTY_LIST }

function isRuleReport(value: unknown): boolean {
  if (!isRecord(value) || typeof value.domain !== 'string' || typeof value.rule !== 'string') return false
  if (typeof value.isShadow !== 'boolean' || !isCount(value.exhausted)) return false
  const { windows } = value
  return isRecord(windows) && WINDOWS.every((minutes) => isWindow(windows[minutes]))
}

function isWindow(value: unknown): boolean {
  return isRecord(value) && RANKINGS.every((ranking) => isList(value[ranking]))
}

function isList(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value.total) || !isCount(value.missed) || !isCount(value.tracked)) return false
  return Array.isArray(value.keys) && value.keys.every(isCounted)
}

function isCounted(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isCount(value[1])
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
