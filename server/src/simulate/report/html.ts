import { formatDuration } from 'sluice/internal/core/duration'
import type { Counts } from '../tally/counts.ts'
import { type PlotSeries, plotSvg } from './plot.ts'
import { nameOf, type SimulationResult } from './result.ts'
import { counted, differenceText, formatted, notesOf, share } from './text.ts'

/** Formats a result as one page that loads nothing and runs nothing. */
export function htmlReport(result: SimulationResult): string {
  const { totals, traffic, callers, againstVersion, rulesVersion } = result
  const about = `${counted(totals.requests, 'request')} by ${counted(callers.seen, 'caller')}`
  const rules =
    againstVersion === undefined ? `Rules ${rulesVersion}` : `Rules ${rulesVersion} against ${againstVersion}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>sluice simulate</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(headline(result))}</h1>
<p class="about">${escapeHtml(`${about}, ${span(traffic.from, traffic.to)}, of ${traffic.names.join(', ')} (${traffic.formats.join(', ')}). ${rules}.`)}</p>
${tiles(result)}
${plots(result)}
${ruleTable(result)}
${callerTable(result)}
${conditionList(result)}
${noteList(result)}
</main>
</body>
</html>
`
}

function headline(result: SimulationResult): string {
  const { totals, callers, againstVersion } = result
  if (againstVersion !== undefined) return differenceText(result)
  return `${counted(totals.refused, 'request')} refused (${share(totals.refused, totals.requests)}), of ${counted(callers.refused, 'caller')}`
}

const span = (from: string, to: string): string => `${shortTime(from)} to ${shortTime(to)} UTC`
const shortTime = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

function tiles(result: SimulationResult): string {
  const { totals, callers, againstVersion } = result
  const shown: (readonly [label: string, count: number, of: number, colour: string])[] =
    againstVersion === undefined
      ? [
          ['requests refused', totals.refused, totals.requests, 'refused'],
          ['callers refused', callers.refused, callers.seen, 'refused'],
          ['requests in shadow', totals.shadow, totals.requests, 'shadow'],
          ['callers in shadow', callers.shadow, callers.seen, 'shadow'],
        ]
      : [
          ['requests lost', totals.lost, totals.requests, 'refused'],
          ['callers that lose', callers.lost, callers.seen, 'refused'],
          ['requests gained', totals.gained, totals.requests, 'gained'],
          ['callers that gain', callers.gained, callers.seen, 'gained'],
        ]
  const items = shown.map(
    ([label, count, of, colour]) =>
      `<li class="${colour}"><b>${formatted(count)}</b> <span>${label}</span> <small>${share(count, of)}</small></li>`,
  )
  return `<ul class="tiles">${items.join('')}</ul>`
}

function plots({ time, totals, againstVersion }: SimulationResult): string {
  const { spans, widthMs } = time
  const times = spans.map(({ atMs }) => timeLabel(atMs, spans[0].atMs, spans[spans.length - 1].atMs))
  const series = (name: string, colour: string, amountOf: (counts: Counts) => number): PlotSeries => ({
    name,
    colour,
    values: spans.map(amountOf),
  })
  const draw = (title: string, all: readonly PlotSeries[]): string =>
    `<section><h2>${title}</h2>${legend(all)}${plotSvg({ title, times, series: all })}</section>`
  const refused = series('refused', 'refused', (counts) => counts.refused)
  const shadow = series('refused in shadow', 'shadow', (counts) => counts.shadow)
  const allowed = series('allowed', 'allowed', (counts) => counts.requests - counts.refused - counts.shadow)
  const width = `, by ${formatDuration(widthMs)}`
  const parts = [draw(`Requests${width}`, [allowed, shadow, refused])]
  if (againstVersion !== undefined) {
    if (totals.lost > 0) parts.push(draw(`Lost${width}`, [series('lost', 'refused', ({ lost }) => lost)]))
    if (totals.gained > 0) parts.push(draw(`Gained${width}`, [series('gained', 'gained', ({ gained }) => gained)]))
  } else if (totals.refused + totals.shadow > 0) parts.push(draw(`Refusals${width}`, [shadow, refused]))
  return parts.join('\n')
}

const DAY_MS = 86_400_000

/** Shows of a time what differs within the plot. */
function timeLabel(atMs: number, firstMs: number, lastMs: number): string {
  const iso = new Date(atMs).toISOString()
  if (lastMs - firstMs < 600_000) return iso.slice(11, 19)
  return lastMs - firstMs < 2 * DAY_MS
    ? iso.slice(11, 16)
    : lastMs - firstMs < 14 * DAY_MS
      ? iso.slice(5, 16).replace('T', ' ')
      : iso.slice(0, 10)
}

function legend(all: readonly PlotSeries[]): string {
  if (all.length < 2) return ''
  const items = all.map(({ name, colour }) => `<li><i class="${colour}"></i>${name}</li>`)
  return `<ul class="legend">${items.join('')}</ul>`
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  // The last columns are texts, all others numbers.
  const cells = (row: readonly string[], tag: string): string =>
    row.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<section><h2>${title}</h2><div class="wide" role="region" tabindex="0" aria-label="${escapeHtml(title)}"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>\n${body}\n</tbody></table></div></section>`
}

function ruleTable({ rules, againstVersion }: SimulationResult): string {
  if (againstVersion !== undefined) {
    const changed = rules.filter(({ lost, gained }) => lost + gained > 0)
    const rows = changed.map((rule) => [
      nameOf(rule.id, rule.name),
      rule.limit,
      formatted(rule.lost),
      formatted(rule.gained),
      rule.asked === 0 ? '–' : formatted(rule.asked),
    ])
    return table('By rule', ['rule', 'limit', 'lost', 'gained', 'asked'], rows)
  }
  const rows = rules.map((rule) => {
    const refused = rule.isShadow ? rule.shadow : rule.refused
    const mode = rule.isShadow ? 'shadow' : 'enforced'
    return [
      nameOf(rule.id, rule.name),
      rule.limit,
      mode,
      formatted(refused),
      share(refused, rule.asked),
      formatted(rule.asked),
      shownTime(rule.first),
      shownTime(rule.last),
    ]
  })
  return table('By rule', ['rule', 'limit', 'mode', 'refused', 'share', 'asked', 'first refusal', 'last refusal'], rows)
}

const shownTime = (iso: string | undefined): string => (iso === undefined ? '–' : shortTime(iso))

function callerTable({ callers, againstVersion }: SimulationResult): string {
  const { top, isExact, undercount } = callers
  const title = isExact
    ? `By caller, the ${formatted(top.length)} most affected`
    : `By caller (each may have ${formatted(undercount.affected)} more refusals)`
  if (againstVersion !== undefined) {
    const rows = top.map((each) => [
      each.caller,
      formatted(each.lost),
      formatted(each.gained),
      formatted(each.requests),
    ])
    return table(title, ['caller', 'lost', 'gained', 'requests'], rows)
  }
  const rows = top.map((each) => [
    each.caller,
    formatted(each.refused),
    share(each.refused, each.requests),
    formatted(each.shadow),
    formatted(each.requests),
  ])
  return table(title, ['caller', 'refused', 'share', 'in shadow', 'requests'], rows)
}

function conditionList({ conditions }: SimulationResult): string {
  const rows = conditions.map(({ condition, value, isMet }) => [
    condition,
    isMet ? 'failed' : 'passed',
    String(Number(value.toFixed(4))),
  ])
  return table('Conditions', ['condition', 'result', 'value'], rows)
}

function noteList(result: SimulationResult): string {
  const notes = notesOf(result)
  if (notes.length === 0) return ''
  return `<section><h2>Notes</h2><ul>${notes.map((note) => `<li>${escapeHtml(note)}</li>`).join('')}</ul></section>`
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for HTML. What turns the direction of a line is shown as its code: callers write their names. */
function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ESCAPED[character])
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --card: #f5f7fa;
  --allowed: #9db4cf; --refused: #c8312b; --shadow: #d78a00; --gained: #1f8a4c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #333c48; --paper: #14191f;
  --card: #1d242c; --allowed: #4c6583; --refused: #ff6b62; --shadow: #f0a92e; --gained: #43c57c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 8px; }
h2 { font-size: 16px; margin: 32px 0 8px; }
.about { color: var(--soft); margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; list-style: none; padding: 0; margin: 24px 0 0; }
.tiles li { background: var(--card); border-radius: 8px; padding: 14px 16px; border-left: 4px solid; }
.tiles b { display: block; font-size: 24px; font-variant-numeric: tabular-nums; }
.tiles small { color: var(--soft); }
li.refused { border-color: var(--refused); } li.shadow { border-color: var(--shadow); } li.gained { border-color: var(--gained); }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--soft); } .grid { stroke: var(--line); }
rect.allowed { fill: var(--allowed); } rect.refused { fill: var(--refused); } rect.shadow { fill: var(--shadow); } rect.gained { fill: var(--gained); }
.legend { display: flex; gap: 16px; list-style: none; padding: 0; margin: 0 0 4px; color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
i.allowed { background: var(--allowed); } i.refused { background: var(--refused); } i.shadow { background: var(--shadow); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { overflow-wrap: anywhere; } td:nth-child(n + 3) { white-space: nowrap; } th { color: var(--soft); font-weight: 500; white-space: nowrap; }
`
