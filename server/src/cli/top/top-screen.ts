import { fitted, plainText } from './shown-text.ts'
import type { HotKeysAnswer, TopView } from './top-view.ts'

/** What a view is drawn on. */
export interface ScreenSize {
  readonly columns: number
  readonly rows: number
  readonly hasColour: boolean
}

/** What is drawn: a view if there is one yet, and what is wrong. */
export interface Shown {
  readonly admin: string
  readonly view: TopView | undefined
  /** Why there is no newer view. */
  readonly trouble: string | undefined
}

/** The narrowest and the widest that lines are drawn for. */
const MIN_COLUMNS = 60
const MAX_COLUMNS = 200
/** Lines that are not rules or keys. */
const FIXED_ROWS = 10
const MIN_RULES = 3
/** How much of the lines are rules: the rest are keys. */
const RULE_SHARE = 0.35

const FOOT = 'q quit   r refused   a active   1 5 6: last minute, 5 minutes, hour'

/** Draws a view as lines that fit. None of them has a control character but for colours. */
export function drawScreen({ admin, view, trouble }: Shown, { columns, rows, hasColour }: ScreenSize): string[] {
  const width = Math.min(Math.max(columns, MIN_COLUMNS), MAX_COLUMNS)
  const paint = (code: number, line: string): string => (hasColour ? `\u001b[${code}m${line}\u001b[0m` : line)
  const lines = [paint(BOLD, fitted(headOf(admin, view), width))]
  if (trouble !== undefined) lines.push(paint(RED, fitted(trouble, width)))
  if (view !== undefined) {
    lines.push(fitted(decisionsOf(view), width), paint(storeColour(view), fitted(storeOf(view), width)))
    const room = Math.max(rows - FIXED_ROWS, 2 * MIN_RULES)
    if (view.hotKeys !== null) lines.push(...listsOf(view.hotKeys, width, room, (line) => paint(BOLD, line)))
  }
  return lines.slice(0, Math.max(rows - 1, 1)).concat(paint(DIM, fitted(FOOT, width)))
}

/** How wide the numbers of a rule are. */
const RULE_COLUMNS = [14, 12, 11]

const BOLD = 1
const DIM = 2
const RED = 31
const PLAIN = 0

function headOf(admin: string, view: TopView | undefined): string {
  const parts = ['sluice top', plainText(admin)]
  if (view === undefined) return parts.join('  ')
  const { time, hotKeys } = view
  parts.push(time.slice(11, 19))
  if (hotKeys !== null) parts.push(`most ${hotKeys.by}, last ${hotKeys.minutes} min`)
  if (hotKeys?.scope === 'fleet') parts.push(`${hotKeys.nodes} nodes`)
  return parts.join('  ')
}

function decisionsOf({ counted, perSecond, refusedPerSecond, p50Ms, p99Ms }: TopView): string {
  const share =
    perSecond && refusedPerSecond !== null ? ` (${((refusedPerSecond / perSecond) * 100).toFixed(1)} %)` : ''
  const refused = `refused ${shown(refusedPerSecond, 0)}/s${share}`
  return [
    `${counted} ${shown(perSecond, 0)}/s`.padEnd(22),
    refused.padEnd(26),
    `p50 ${shown(p50Ms, 2)} ms`.padEnd(14),
    `p99 ${shown(p99Ms, 2)} ms`,
  ].join(' ')
}

function storeOf({ store: { circuit, errorsPerSecond, fallbacksPerSecond, callMs } }: TopView): string {
  if (errorsPerSecond === null && circuit === null) return 'store in memory'
  return [
    `store circuit ${circuit ?? '-'}`.padEnd(22),
    `errors ${shown(errorsPerSecond, 1)}/s`.padEnd(26),
    `call ${shown(callMs, 2)} ms`.padEnd(14),
    `fallback ${shown(fallbacksPerSecond, 1)}/s`,
  ].join(' ')
}

function storeColour({ store: { circuit, errorsPerSecond, fallbacksPerSecond } }: TopView): number {
  const isTroubled = (circuit ?? 'closed') !== 'closed' || (errorsPerSecond ?? 0) > 0 || (fallbacksPerSecond ?? 0) > 0
  return isTroubled ? RED : PLAIN
}

function listsOf(hotKeys: HotKeysAnswer, width: number, room: number, head: (line: string) => string): string[] {
  const { rules, keys, by, reason } = hotKeys
  const ruleRows = Math.min(rules.length, Math.max(MIN_RULES, Math.floor(room * RULE_SHARE)))
  const named = (domain: string, rule: string): string => `${domain}/${rule}`
  const [ruleWidth, keyWidth] = [
    width - RULE_COLUMNS.reduce((sum, columns) => sum + columns),
    Math.floor((width - 22) * 0.6),
  ]
  const ruleLine = (name: string, ...numbers: string[]): string =>
    fitted(name, ruleWidth) + numbers.map((number, i) => fitted(number, RULE_COLUMNS[i], 'right')).join('')
  const keyLine = (key: string, rule: string, count: string, share: string): string =>
    `${fitted(key, keyWidth)} ${fitted(rule, width - 22 - keyWidth)} ${fitted(count, 12, 'right')}${fitted(share, 8, 'right')}`
  return [
    ...(reason === undefined ? [] : [fitted(`this node only: ${reason}`, width)]),
    '',
    head(ruleLine('RULE', 'REQUESTS', 'REFUSED', 'KEYS AT 0')),
    ...rules
      .slice(0, ruleRows)
      .map(({ domain, rule, requests, refused, exhausted }) =>
        ruleLine(named(domain, rule), shown(requests, 0), shown(refused, 0), shown(exhausted, 0)),
      ),
    '',
    head(keyLine('KEY', 'RULE', by === 'refused' ? 'REFUSED' : 'REQUESTS', 'SHARE')),
    ...keys
      .slice(0, Math.max(room - ruleRows, MIN_RULES))
      .map(({ domain, rule, key, count, share }) =>
        keyLine(key, named(domain, rule), shown(count, 0), `${(share * 100).toFixed(1)} %`),
      ),
    '',
  ]
}

/** Formats a number for people: 1,234.5. */
function shown(value: number | null, digits: number): string {
  if (value === null || !Number.isFinite(value)) return '-'
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits })
}
