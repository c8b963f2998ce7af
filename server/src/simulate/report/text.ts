import { formatDuration } from 'sluice/internal/core/duration'
import type { SimulationResult } from './result.ts'
import { nameOf } from './result.ts'

const MOST_NAMED = 8

/** Formats a result for people. `plain` escapes what a terminal would obey: callers write their names. */
export function textReport(raw: SimulationResult, plain: (text: string) => string): string {
  const result = escaped(raw, plain)
  const isCompared = result.againstVersion !== undefined
  const sections = [
    headLines(result),
    isCompared ? differenceLines(result) : refusalLines(result),
    ruleLines(result),
    callerLines(result),
    timeLines(result),
    noteLines(result),
    conditionLines(result),
  ]
  const lines = sections.filter((section) => section.length > 0).map((section) => section.join('\n'))
  return `${lines.join('\n\n')}\n`
}

function escaped(result: SimulationResult, plain: (text: string) => string): SimulationResult {
  const { traffic, callers, rules, notReplayed, notAsked } = result
  return {
    ...result,
    traffic: { ...traffic, names: traffic.names.map(plain) },
    callers: { ...callers, top: callers.top.map((each) => ({ ...each, caller: plain(each.caller) })) },
    rules: rules.map((each) => ({ ...each, id: plain(each.id), name: plain(each.name), limit: plain(each.limit) })),
    notReplayed: notReplayed.map(plain),
    notAsked: notAsked.map(plain),
  }
}

export const formatted = (count: number): string => count.toLocaleString('en-US')

export function counted(count: number, what: string): string {
  return `${formatted(count)} ${what}${count === 1 ? '' : 's'}`
}

/** Formats a share in percent, with as many digits as tell it from nothing. */
export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %'
  const percent = (100 * part) / whole
  return percent < 0.01 ? '< 0.01 %' : `${percent.toFixed(percent < 10 ? 2 : 1)} %`
}

function callersText(count: number, { callers }: SimulationResult): string {
  return callers.isExact ? counted(count, 'caller') : `about ${counted(count, 'caller')}`
}

function headLines(result: SimulationResult): string[] {
  const { traffic, totals, callers } = result
  const about = `${traffic.names.join(', ')} (${traffic.formats.join(', ')})`
  return [
    `${counted(totals.requests, 'request')} by ${callersText(callers.seen, result)} (${callers.keys.join(', ')})`,
    `from ${shortTime(traffic.from)} to ${shortTime(traffic.to)}, of ${about}`,
  ]
}

const shortTime = (iso: string): string => iso.replace('T', ' ').replace(/\.000Z$/, 'Z')

function refusalLines(result: SimulationResult): string[] {
  const { totals, callers } = result
  const { requests, refused, shadow } = totals
  const lines = [
    `refused  ${counted(refused, 'request')} (${share(refused, requests)}), of ${callersText(callers.refused, result)} (${share(callers.refused, callers.seen)})`,
  ]
  if (shadow > 0) {
    lines.push(
      `shadow   ${counted(shadow, 'request')} (${share(shadow, requests)}), of ${callersText(callers.shadow, result)} (${share(callers.shadow, callers.seen)}), would be refused`,
    )
  }
  return lines
}

function differenceLines(result: SimulationResult): string[] {
  const { totals, rulesVersion, againstVersion } = result
  const before = totals.refused - totals.lost + totals.gained
  return [
    differenceText(result),
    `rules ${rulesVersion} against ${againstVersion}: ${formatted(totals.refused)} refused now, ${formatted(before)} before`,
  ]
}

/** Says in one line what other rules change: `12 callers lose 340 requests, 2 gain 17`. */
export function differenceText(result: SimulationResult): string {
  const { totals, callers } = result
  if (totals.lost + totals.gained === 0) return 'no difference: every request is decided as before'
  const lose = totals.lost === 0 ? 'no caller loses a request' : losersText(result)
  const gain =
    totals.gained === 0
      ? 'none gains any'
      : `${formatted(callers.gained)} ${callers.gained === 1 ? 'gains' : 'gain'} ${formatted(totals.gained)}`
  return `${lose}, ${gain}`
}

function losersText(result: SimulationResult): string {
  const { totals, callers } = result
  return `${callersText(callers.lost, result)} ${callers.lost === 1 ? 'loses' : 'lose'} ${counted(totals.lost, 'request')}`
}

type Column = readonly [head: string, align: 'left' | 'right']

/** Lays rows out in columns, with two spaces between them. */
function columns(head: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const all = [head.map(([name]) => name), ...rows]
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i].length)))
  return all.map((row) =>
    row
      .map((cell, i) => (head[i][1] === 'right' ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join('  ')
      .trimEnd(),
  )
}

function ruleLines({ rules, againstVersion }: SimulationResult): string[] {
  const rowOf = (rule: (typeof rules)[number], ...first: readonly string[]): string[] => [
    ...first,
    // The other rules are counted where they decided otherwise, and nowhere else.
    rule.asked === 0 ? '–' : formatted(rule.asked),
    nameOf(rule.id, rule.name),
    rule.limit,
  ]
  const rest: readonly Column[] = [
    ['asked', 'right'],
    ['rule', 'left'],
    ['limit', 'left'],
  ]
  if (againstVersion !== undefined) {
    const changed = rules.filter(({ lost, gained }) => lost + gained > 0)
    if (changed.length === 0) return []
    const rows = changed.map((rule) => rowOf(rule, formatted(rule.lost), formatted(rule.gained)))
    return ['By rule:', ...columns([['lost', 'right'], ['gained', 'right'], ...rest], rows)]
  }
  if (rules.length === 0) return []
  const rows = rules.map((rule) => {
    const refused = rule.isShadow ? rule.shadow : rule.refused
    return rowOf(rule, `${formatted(refused)}${rule.isShadow ? ' (shadow)' : ''}`, share(refused, rule.asked))
  })
  return ['By rule:', ...columns([['refused', 'right'], ['share', 'right'], ...rest], rows)]
}

function callerLines({ callers, againstVersion }: SimulationResult): string[] {
  const { top, undercount, isExact } = callers
  if (top.length === 0) return []
  const isCompared = againstVersion !== undefined
  const rows = top.map(({ caller, requests, refused, shadow, lost, gained }) =>
    isCompared
      ? [formatted(lost), formatted(gained), formatted(requests), caller]
      : [formatted(refused), share(refused, requests), formatted(shadow), formatted(requests), caller],
  )
  const head: readonly Column[] = isCompared
    ? [
        ['lost', 'right'],
        ['gained', 'right'],
        ['requests', 'right'],
        ['caller', 'left'],
      ]
    : [
        ['refused', 'right'],
        ['share', 'right'],
        ['shadow', 'right'],
        ['requests', 'right'],
        ['caller', 'left'],
      ]
  const bound = `each may have ${formatted(undercount.affected)} more of them, and ${formatted(undercount.requests)} more requests`
  return [isExact ? 'By caller:' : `By caller (${bound}):`, ...columns(head, rows)]
}

const BARS = ' ▁▂▃▄▅▆▇█'
const MOST_BARS = 60

/** Draws the requests and the refusals over time, each against its own maximum. */
function timeLines({ time, totals, againstVersion }: SimulationResult): string[] {
  const { spans, widthMs } = time
  if (spans.length < 2) return []
  const perBar = Math.ceil(spans.length / MOST_BARS)
  const bars = (amountOf: (span: (typeof spans)[number]) => number): string => {
    const sums = Array.from({ length: Math.ceil(spans.length / perBar) }, (_, i) =>
      spans.slice(i * perBar, (i + 1) * perBar).reduce((sum, span) => sum + amountOf(span), 0),
    )
    const most = Math.max(...sums)
    const text = sums.map((sum) => BARS[sum === 0 ? 0 : Math.max(1, Math.round((8 * sum) / most))]).join('')
    return `${text}  at most ${formatted(most)}`
  }
  const lines = [
    `Over time (a bar is ${formatDuration(widthMs * perBar)}):`,
    `requests  ${bars(({ requests }) => requests)}`,
  ]
  if (againstVersion !== undefined) {
    if (totals.lost > 0) lines.push(`lost      ${bars(({ lost }) => lost)}`)
    if (totals.gained > 0) lines.push(`gained    ${bars(({ gained }) => gained)}`)
  } else {
    if (totals.refused > 0) lines.push(`refused   ${bars(({ refused }) => refused)}`)
    if (totals.shadow > 0) lines.push(`shadow    ${bars(({ shadow }) => shadow)}`)
  }
  return lines
}

/** Lists what the numbers above do not say. */
export function notesOf({ traffic, counters, notReplayed, notAsked, callers }: SimulationResult): readonly string[] {
  const { lines, unread, undescribed, late, latestMs, astray, moved, refusedThen, isWholeSeconds } = traffic
  const notes: string[] = []
  const note = (count: number, text: string): void => {
    if (count > 0) notes.push(text)
  }
  note(unread, `${formatted(unread)} of ${counted(lines, 'line')} could not be read (torn, too long, or no requests)`)
  note(undescribed, `${counted(undescribed, 'line')} had no value for any descriptor, and asked no rule`)
  note(
    late,
    `${counted(late, 'line')} came too late to be put in order (up to ${formatDuration(latestMs)}): widen --out-of-order`,
  )
  note(
    astray,
    `${counted(astray, 'line')} had a time far from that of the next lines, and ${astray === 1 ? 'was' : 'were'} left out`,
  )
  note(moved, `${counted(moved, 'request')} were decided later than they came, because too many had to be put in order`)
  note(
    refusedThen,
    `${counted(refusedThen, 'request')} had been answered 429 when they came: a limit refused them then`,
  )
  note(
    Number(isWholeSeconds),
    'the log has whole seconds: all requests of a second count as simultaneous; --spread spaces them evenly',
  )
  note(
    counters.evicted,
    `${counted(counters.evicted, 'counter')} were forgotten early, as in a service with this --max-keys`,
  )
  note(
    counters.shared,
    `${counted(counters.shared, 'request')} used shared counters, as in a service with this --max-keys`,
  )
  note(
    Number(!callers.isExact),
    'there were more callers than a report can keep: numbers of callers are estimates within 1 %',
  )
  note(notReplayed.length, `not judged, because a log does not say how long places are held: ${listed(notReplayed)}`)
  note(notAsked.length, `no request came to ${listed(notAsked)}`)
  return notes
}

function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : ''
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`
}

function noteLines(result: SimulationResult): string[] {
  const notes = notesOf(result)
  return notes.length === 0 ? [] : ['Notes:', ...notes.map((each) => `- ${each}`)]
}

function conditionLines({ conditions }: SimulationResult): string[] {
  return conditions.map(({ condition, value, isMet }) => {
    const shown = condition.endsWith('%') ? `${Number(value.toFixed(4))} %` : formatted(value)
    return `${isMet ? 'FAILED' : 'passed'}  ${condition}: ${shown}`
  })
}
