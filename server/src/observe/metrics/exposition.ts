import { FAMILIES, type Family } from './families.ts'
import type { MergedMetrics } from './merge-reports.ts'

/** One of the text formats that Prometheus reads. */
export type Format = 'prometheus' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const OPENMETRICS = /^application\/openmetrics-text$/i
const PLAIN = /^(?:text\/plain|text\/\*|\*\/\*)$/i

/** Reads an Accept header: OpenMetrics for clients that name it and do not prefer plain text. */
export function formatOf(accept: string | undefined): Format {
  let [open, plain] = [0, 0]
  for (const range of (accept ?? '').split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim())
    const q = qualityOf(parameters)
    if (OPENMETRICS.test(type)) open = Math.max(open, q)
    else if (PLAIN.test(type)) plain = Math.max(plain, q)
  }
  return open > 0 && open >= plain ? 'openmetrics' : 'prometheus'
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => /^q=/i.test(parameter))
  const q = given === undefined ? 1 : Number(given.slice(2))
  return q >= 0 && q <= 1 ? q : 0
}

/** This many lines are formatted at a time: about half a millisecond of work. */
const LINES = 1_000

/** Formats all families, one piece of the text after the other, so that a server can do other work in between. */
export function* formatMetrics(metrics: MergedMetrics, format: Format): Generator<string> {
  let lines: string[] = []
  for (const family of FAMILIES) {
    lines.push(...headOf(family, format))
    const series = metrics.get(family.name)
    if (series === undefined) continue
    const les = boundsAs(family.bounds ?? [], format)
    for (const [labels, at] of series.list) {
      addSamples(lines, family, labels, { values: series.values, at, les })
      if (lines.length < LINES) continue
      yield `${lines.join('\n')}\n`
      lines = []
    }
  }
  if (format === 'openmetrics') lines.push('# EOF')
  yield `${lines.join('\n')}\n`
}

function headOf({ name, type, help }: Family, format: Format): readonly string[] {
  // A counter's family is named without the suffix of its samples there.
  const named = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name
  return [`# HELP ${named} ${help}`, `# TYPE ${named} ${type}`]
}

/** Where the numbers of a series are, and how the bounds of its family are formatted. */
interface Numbers {
  readonly values: readonly number[]
  readonly at: number
  readonly les: readonly string[]
}

function addSamples(lines: string[], { name, type }: Family, labels: string, numbers: Numbers): void {
  const { values, at } = numbers
  if (type === 'histogram') addHistogram(lines, name, labels, numbers)
  else if (type === 'summary') {
    lines.push(sample(`${name}_sum`, labels, values[at]), sample(`${name}_count`, labels, values[at + 1]))
  } else lines.push(sample(name, labels, values[at]))
}

function addHistogram(lines: string[], name: string, labels: string, { values, at, les }: Numbers): void {
  const before = labels === '' ? '' : `${labels},`
  let count = 0
  for (let i = 0; i < les.length; i++) {
    count += values[at + i]
    lines.push(`${name}_bucket{${before}le="${les[i]}"} ${count}`)
  }
  lines.push(sample(`${name}_sum`, labels, values[at + les.length]), sample(`${name}_count`, labels, count))
}

/** Formats bounds, including +Inf. In OpenMetrics whole ones have a fraction. */
function boundsAs(bounds: readonly number[], format: Format): readonly string[] {
  const whole = format === 'openmetrics' ? '.0' : ''
  return [...bounds.map((bound) => (Number.isInteger(bound) ? `${bound}${whole}` : decimal(bound))), '+Inf']
}

/** Formats small numbers without an exponent. */
function decimal(value: number): string {
  return value < 1e-6 ? String(value) : value.toFixed(7).replace(/0+$/, '')
}

function sample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`
}
