import { MOST, msUntil, NUMBER } from './reset-time.ts'
import { type FieldMember, parseField } from './structured-field.ts'

/** One limit as a server announces it. Missing parts are undefined. */
export interface Budget {
  /** The policy's name, or what is counted where names are not announced. */
  readonly name: string
  /** What is counted: `requests`, `tokens`, or what the server calls it. */
  readonly unit: string
  readonly limit?: number | undefined
  readonly remaining?: number | undefined
  /** How long from now until there is more. */
  readonly resetMs?: number | undefined
  readonly windowMs?: number | undefined
  /** The part of the callers that it is for, where the server says so. */
  readonly partition?: string | undefined
}

/** Everything that an answer says about limits. */
export interface RateLimits {
  readonly budgets: readonly Budget[]
  /** How long to wait before the same is tried again. */
  readonly retryAfterMs: number | undefined
  /** The server says whether it makes sense to try again. */
  readonly shouldRetry: boolean | undefined
}

/** The fields of an answer: Headers, or anything that finds one by its name. */
export interface Fields {
  get(name: string): string | null
}

/** Reads every family of rate limit fields. A field that cannot be read is left out: nothing is ever NaN. */
export function parseRateLimits(fields: Fields, nowMs: number = Date.now()): RateLimits {
  // The server's clock, if announced: its dates are relative to that.
  const moment = Date.parse(fields.get('date') ?? '') || nowMs
  const budgets = FAMILIES.map((family) => family(fields, moment)).find((found) => found.length > 0) ?? []
  const retry = fields.get('stripe-should-retry')
  return {
    budgets,
    retryAfterMs: retryAfterMs(fields, moment),
    shouldRetry: retry === 'true' ? true : retry === 'false' ? false : undefined,
  }
}

/** Reads its fields, at a moment by the server's clock. */
type Family = (fields: Fields, moment: number) => readonly Budget[]

/** Makes a Budget of the known parts, or nothing without any. */
function budget(parts: Partial<Budget>): readonly Budget[] {
  return parts.limit === undefined && parts.remaining === undefined
    ? []
    : [{ name: 'default', unit: 'requests', ...parts }]
}

/** Reads a number of hits: whole or not, never below 0. -1 is how Azure says that it does not know. */
function counted(text: string | number | null | undefined): number | undefined {
  const value = NUMBER.test(String(text)) ? Number(text) : Number.NaN
  return value <= MOST ? value : undefined
}

const seconds = (value: string | number | undefined): number | undefined => {
  const count = counted(value)
  return count === undefined ? undefined : count * 1_000
}

/** Reads `RateLimit` and `RateLimit-Policy` as the drafts have them from 7 on. */
const standard: Family = (fields) => {
  const states = parseField(fields.get('ratelimit'))
  if (states.some(({ key }) => key !== '')) return draft7(states)
  const policies = parseField(fields.get('ratelimit-policy')).filter(({ value }) => typeof value === 'string')
  const found = states.flatMap((state) => {
    const policy =
      policies.find(({ value }) => value === state.value) ?? (policies.length === 1 ? policies[0] : undefined)
    return named(state, policy)
  })
  const rest = policies.filter(({ value }) => !states.some((state) => state.value === value))
  // A policy alone says nothing about what remains, but how fast to go.
  return found.length > 0 && policies.length === 1
    ? found
    : found.concat(rest.flatMap((each) => named(undefined, each)))
}

function named(state: FieldMember | undefined, policy: FieldMember | undefined): readonly Budget[] {
  let name = String((state ?? policy)?.value)
  // Sluice percent-encodes what no field can hold. A name with other escapes stays as it is.
  try {
    name = decodeURIComponent(name)
  } catch {}
  return budget({
    name,
    limit: counted(policy?.params.q),
    remaining: counted(state?.params.r),
    resetMs: seconds(state?.params.t),
    windowMs: seconds(policy?.params.w) || undefined,
    unit: String(policy?.params.qu ?? 'requests'),
    partition: (state?.params.pk ?? policy?.params.pk)?.toString(),
  })
}

/** Reads `limit=100, remaining=99, reset=60`. */
function draft7(members: readonly FieldMember[]): readonly Budget[] {
  const find = (key: string) => members.find((member) => member.key === key)?.value
  return budget({
    limit: counted(find('limit')),
    remaining: counted(find('remaining')),
    resetMs: seconds(find('reset')),
  })
}

/**
 * Reads families that distinguish several budgets by what they count, as `PREFIX-UNIT-limit` or `PREFIX-limit-UNIT`.
 */
function byUnit(units: readonly string[], nameOf: (unit: string, part: string) => string): Family {
  return (fields, moment) =>
    units.flatMap((unit) => {
      const get = (part: string) => fields.get(nameOf(unit, part))
      return budget({
        name: unit,
        unit,
        limit: counted(get('limit')),
        remaining: counted(get('remaining')),
        resetMs: msUntil(get('reset'), moment),
      })
    })
}

const anthropic = byUnit(
  ['requests', 'tokens', 'input-tokens', 'output-tokens'],
  (unit, part) => `anthropic-ratelimit-${unit}-${part}`,
)
const openAi = byUnit(['requests', 'tokens'], (unit, part) => `x-ratelimit-${part}-${unit}`)

const hubSpot: Family = (fields) =>
  budget({
    limit: counted(fields.get('x-hubspot-ratelimit-max')),
    remaining: counted(fields.get('x-hubspot-ratelimit-remaining')),
    windowMs: counted(fields.get('x-hubspot-ratelimit-interval-milliseconds')),
  })

const shopify: Family = (fields) => {
  const [used, limit] = (fields.get('x-shopify-shop-api-call-limit') ?? '').split('/').map(counted)
  if (used === undefined || limit === undefined) return []
  return budget({ limit, remaining: Math.max(0, limit - used) })
}

/** Reads the three fields that most APIs have, under each of their names. */
const plain =
  (prefix: string): Family =>
  (fields, moment) => {
    const get = (part: string) => fields.get(`${prefix}-${part}`)
    const limit = windowed(get('limit'))
    const remaining = windowed(get('remaining'))
    const bucket = get('bucket') ?? get('resource') ?? 'default'
    return budget({
      name: bucket.slice(0, 256),
      limit: limit.count,
      remaining: remaining.count,
      // Who writes x-rate-limit and counts from now counts milliseconds.
      resetMs:
        msUntil(get('reset-after'), moment) ?? msUntil(get('reset'), moment, prefix === 'x-rate-limit' ? 1 : 1_000),
      windowMs: limit.windowMs ?? remaining.windowMs ?? windowed(get('policy')).windowMs,
    })
  }

/** Reads `100`, `100;w=60`, and the first of several such. */
function windowed(text: string | null) {
  const members = parseField(text)
  const window = members.find(({ params }) => params.w !== undefined)?.params.w
  return { count: counted(members[0]?.value), windowMs: seconds(window) }
}

/** Reads `Retry-After` in seconds, with decimals too, or as a date; and the fields like it that are in milliseconds. */
function retryAfterMs(fields: Fields, moment: number): number | undefined {
  const exact = fields.get('retry-after-ms')
  const text = fields.get('retry-after')?.trim() ?? ''
  // Numbers are always from now here, however large they are.
  return (
    (NUMBER.test(exact ?? '') ? msUntil(`${exact}ms`, moment) : undefined) ??
    msUntil(NUMBER.test(text) ? `${text}s` : text, moment)
  )
}

/** The first that finds something counts: servers repeat themselves in older words. */
const FAMILIES: readonly Family[] = [
  standard,
  anthropic,
  openAi,
  hubSpot,
  shopify,
  ...['ratelimit', 'x-ratelimit', 'x-rate-limit'].map(plain),
]
