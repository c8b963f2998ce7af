import { type Moment, momentOf, msUntil } from './reset-time.ts'
import { type FieldMember, parseField } from './structured-field.ts'

/** A Budget is one limit as a server tells it. What it does not tell is undefined. */
export interface Budget {
  /** The policy's name, or what is counted where names are not told. */
  readonly name: string
  /** What is counted: `requests`, `tokens`, or what the server calls it. */
  readonly unit: string
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** How long from now until there is more. */
  readonly resetMs: number | undefined
  readonly windowMs: number | undefined
  /** The part of the callers that it is for, where the server says so. */
  readonly partition: string | undefined
}

/** RateLimits is everything that an answer says about limits. */
export interface RateLimits {
  readonly budgets: readonly Budget[]
  /** How long to wait before the same is tried again. */
  readonly retryAfterMs: number | undefined
  /** The server says whether it makes sense to try again. */
  readonly shouldRetry: boolean | undefined
}

/** Fields are the fields of an answer: Headers, or anything that finds one by its name. */
export interface Fields {
  get(name: string): string | null
}

/** parseRateLimits reads every family of rate limit fields. A field that cannot be read is left out: nothing is ever NaN. */
export function parseRateLimits(fields: Fields, nowMs: number = Date.now()): RateLimits {
  const moment = momentOf(fields.get('date'), nowMs)
  const budgets = FAMILIES.map((family) => family(fields, moment)).find((found) => found.length > 0) ?? []
  const told = fields.get('stripe-should-retry')
  return {
    budgets,
    retryAfterMs: retryAfterMs(fields, moment),
    shouldRetry: told === 'true' ? true : told === 'false' ? false : undefined,
  }
}

type Family = (fields: Fields, moment: Moment) => readonly Budget[]

/** budget makes a Budget of what is known, or nothing when that is nothing. */
function budget(name: string, parts: Partial<Budget>): readonly Budget[] {
  const { limit, remaining, resetMs, windowMs, unit = 'requests', partition } = parts
  if (limit === undefined && remaining === undefined) return []
  return [{ name, unit, limit, remaining, resetMs, windowMs, partition }]
}

/** counted reads a number of hits: whole or not, never below 0. -1 is how Azure says that it does not know. */
function counted(text: string | number | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined
  const value = typeof text === 'number' ? text : /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined
}

const seconds = (value: string | number | undefined): number | undefined => {
  const count = typeof value === 'number' ? counted(value) : undefined
  return count === undefined ? undefined : count * 1_000
}

/** standard reads `RateLimit` and `RateLimit-Policy` as the drafts have them from 7 on. */
const standard: Family = (fields) => {
  const states = membersOf(fields, 'ratelimit')
  if (states.some(({ key }) => key !== '')) return draft7(states)
  const policies = membersOf(fields, 'ratelimit-policy').filter(({ value }) => typeof value === 'string')
  const found = states.flatMap((state) => {
    const policy =
      policies.find(({ value }) => value === state.value) ?? (policies.length === 1 ? policies[0] : undefined)
    return named(state, policy)
  })
  const rest = policies.filter(({ value }) => !states.some((state) => state.value === value))
  // A policy by itself says nothing about what is left, but how fast to go.
  return found.length > 0 && policies.length === 1
    ? found
    : [...found, ...rest.flatMap((policy) => named(undefined, policy))]
}

function named(state: FieldMember | undefined, policy: FieldMember | undefined): readonly Budget[] {
  const name = String((state ?? policy)?.value)
  const unit = policy?.params.get('qu')
  const partition = state?.params.get('pk') ?? policy?.params.get('pk')
  return budget(name, {
    limit: counted(policy?.params.get('q')),
    remaining: counted(state?.params.get('r')),
    resetMs: seconds(state?.params.get('t')),
    windowMs: seconds(policy?.params.get('w')) || undefined,
    unit: typeof unit === 'string' ? unit : 'requests',
    partition: partition === undefined ? undefined : String(partition),
  })
}

/** draft7 reads `limit=100, remaining=99, reset=60`. */
function draft7(members: readonly FieldMember[]): readonly Budget[] {
  const find = (key: string) => members.find((member) => member.key === key)?.value
  return budget('default', {
    limit: counted(find('limit')),
    remaining: counted(find('remaining')),
    resetMs: seconds(find('reset')),
  })
}

const membersOf = (fields: Fields, name: string): readonly FieldMember[] => parseField(fields.get(name) ?? '') ?? []

/** byUnit reads families that tell several budgets apart by what they count, as `PREFIX-UNIT-limit` or `PREFIX-limit-UNIT`. */
function byUnit(units: readonly string[], nameOf: (unit: string, part: string) => string): Family {
  return (fields, moment) =>
    units.flatMap((unit) => {
      const get = (part: string) => fields.get(nameOf(unit, part))
      const reset = get('reset')
      return budget(unit, {
        limit: counted(get('limit')),
        remaining: counted(get('remaining')),
        resetMs: reset === null ? undefined : msUntil(reset, moment),
        unit,
      })
    })
}

const anthropic = byUnit(
  ['requests', 'tokens', 'input-tokens', 'output-tokens'],
  (unit, part) => `anthropic-ratelimit-${unit}-${part}`,
)
const openAi = byUnit(['requests', 'tokens'], (unit, part) => `x-ratelimit-${part}-${unit}`)

const hubSpot: Family = (fields) =>
  budget('default', {
    limit: counted(fields.get('x-hubspot-ratelimit-max')),
    remaining: counted(fields.get('x-hubspot-ratelimit-remaining')),
    windowMs: counted(fields.get('x-hubspot-ratelimit-interval-milliseconds')),
  })

const shopify: Family = (fields) => {
  const [used, limit] = (fields.get('x-shopify-shop-api-call-limit') ?? '').split('/').map(counted)
  if (used === undefined || limit === undefined) return []
  return budget('default', { limit, remaining: Math.max(0, limit - used) })
}

/** plain reads the three fields that most APIs have, under each of their names. */
const plain: Family = (fields, moment) => {
  for (const prefix of ['ratelimit', 'x-ratelimit', 'x-rate-limit']) {
    const found = plainBy(prefix, fields, moment)
    if (found.length > 0) return found
  }
  return []
}

function plainBy(prefix: string, fields: Fields, moment: Moment): readonly Budget[] {
  const limit = windowed(fields.get(`${prefix}-limit`))
  const remaining = windowed(fields.get(`${prefix}-remaining`))
  const policy = windowed(fields.get(`${prefix}-policy`))
  const after = fields.get(`${prefix}-reset-after`)
  const reset = fields.get(`${prefix}-reset`)
  const bucket = fields.get(`${prefix}-bucket`) ?? fields.get(`${prefix}-resource`)
  return budget(bucket !== null && bucket.length <= 256 ? bucket : 'default', {
    limit: limit?.count,
    remaining: remaining?.count,
    // Who writes x-rate-limit and counts from now counts milliseconds.
    resetMs:
      after !== null
        ? msUntil(after, moment)
        : reset === null
          ? undefined
          : msUntil(reset, moment, prefix === 'x-rate-limit' ? 1 : 1_000),
    windowMs: limit?.windowMs ?? remaining?.windowMs ?? policy?.windowMs,
  })
}

/** windowed reads `100`, `100;w=60`, and the first of several such. */
function windowed(
  text: string | null,
): { readonly count: number | undefined; readonly windowMs: number | undefined } | undefined {
  const members = parseField(text ?? '')
  if (members === undefined || members.length === 0) return undefined
  const window = members.find(({ params }) => params.has('w'))?.params.get('w')
  return { count: counted(members[0].value), windowMs: seconds(window) }
}

/** retryAfterMs reads `Retry-After` in seconds, with decimals too, or as a date; and its kin in milliseconds. */
function retryAfterMs(fields: Fields, moment: Moment): number | undefined {
  const exact = counted(fields.get('retry-after-ms'))
  if (exact !== undefined) return msUntil(`${exact}ms`, moment)
  const text = fields.get('retry-after')?.trim()
  if (text === undefined) return undefined
  // Seconds are always from now here, however many they are.
  return /^\d+(\.\d+)?$/.test(text) ? msUntil(`${text}s`, moment) : msUntil(text, moment)
}

/** The first that finds something counts: servers repeat themselves in older words. */
const FAMILIES: readonly Family[] = [standard, anthropic, openAi, hubSpot, shopify, plain]
