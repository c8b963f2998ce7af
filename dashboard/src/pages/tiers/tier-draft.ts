import type { RuleLimit, RuleNode } from '../../api/operations.ts'

/** What a tier limits, and of which parts of requests. */
type Limits = Pick<RuleNode, 'limits' | 'below'> & { readonly id?: string }

/** A Draft is a tier as it stands in force, as far as it can be written again. */
export interface Draft {
  readonly limits: unknown
  /** Settings that the draft lacks: the API describes them only in words. */
  readonly missing: readonly string[]
}

const UNITS: Readonly<Record<string, string>> = {
  '1s': 'second',
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
}
const RATE = /^(\d+) per (\d+(?:ms|[smhdw])), (\w+)(?:, burst (\d+))?$/
const AT_ONCE = /^(\d+) at once, leases of (\w+)$/
const CALENDAR = /^(\d+) per calendar (\w+) \((.+)\), (\w+)$/

/** draftOf writes what a rule says about a tier, as it would stand in a rule file. */
export function draftOf(tier: Limits): Draft {
  const missing: string[] = []
  return { limits: bodyOf(tier, missing), missing }
}

function bodyOf(node: Limits, missing: string[]): object {
  const written = node.limits.map((limit) => writtenOf(limit, missing))
  return {
    ...(written.length === 1 && { rate_limit: written[0] }),
    ...(written.length > 1 && { rate_limits: written }),
    ...(node.below.length > 0 && {
      descriptors: node.below.map((each) => ({ ...patternOf(stepOf(node, each)), ...bodyOf(each, missing) })),
    }),
  }
}

/** patternOf reads a step: `key` or `key=value`. */
function patternOf(step: string): object {
  const equals = step.indexOf('=')
  return equals === -1 ? { key: step } : { key: step.slice(0, equals), value: step.slice(equals + 1) }
}

function writtenOf({ name, described }: RuleLimit, missing: string[]): object {
  const [limit, ...more] = described.split('; ')
  const made = limitOf(limit)
  if (made === undefined || more.length > 0) missing.push(`${name}: ${described}`)
  return { name, ...made }
}

function limitOf(described: string): object | undefined {
  if (described === 'unlimited') return { unlimited: true }
  const rate = RATE.exec(described)
  if (rate !== null) {
    const [, max, span, algorithm, burst] = rate
    return {
      ...(algorithm !== 'sliding_window' && { algorithm }),
      ...(span in UNITS ? { unit: UNITS[span] } : { window: span }),
      requests_per_unit: Number(max),
      ...(burst !== undefined && { burst: Number(burst) }),
    }
  }
  const atOnce = AT_ONCE.exec(described)
  if (atOnce !== null) return { algorithm: 'concurrency', requests_per_unit: Number(atOnce[1]), lease_ttl: atOnce[2] }
  const calendar = CALENDAR.exec(described)
  if (calendar === null) return undefined
  const [, max, unit, time_zone, algorithm] = calendar
  return { algorithm, calendar: { unit, time_zone }, requests_per_unit: Number(max) }
}

/** A PlainLimit is a limit of a tier for people. */
export interface PlainLimit {
  /** What it is about, below the caller; empty: every request. */
  readonly of: string
  readonly name: string
  readonly text: string
}

/** plainLimits lists everything that a tier limits, in words. */
export function plainLimits(node: Limits, of = ''): PlainLimit[] {
  return [
    ...node.limits.map(({ name, described }) => ({ of, name, text: plainText(described) })),
    ...node.below.flatMap((each) => plainLimits(each, [of, stepOf(node, each)].filter(Boolean).join('/'))),
  ]
}

const SPANS: readonly (readonly [RegExp, string])[] = [
  [/ per 1s\b/, ' a second'],
  [/ per 1m\b/, ' a minute'],
  [/ per 1h\b/, ' an hour'],
  [/ per 1d\b/, ' a day'],
  [/ per 1w\b/, ' a week'],
]

/** plainText says a limit as one would: 15,000 an hour, fixed window. */
export function plainText(described: string): string {
  const said = SPANS.reduce((text, [span, words]) => text.replace(span, words), described)
  return said.replaceAll('_', ' ').replace(/\d{4,}/g, (digits) => Number(digits).toLocaleString('en'))
}

/** stepOf is what a path adds to the one above it. Where that is not known, it is the last part. */
function stepOf(above: Limits, { id }: RuleNode): string {
  const path = above.id ?? above.limits[0]?.id
  if (path !== undefined && id.startsWith(`${path}/`)) return id.slice(path.length + 1)
  return id.slice(id.lastIndexOf('/') + 1)
}
