import { ALGORITHM_NAMES, type Algorithm } from './algorithms/algorithms.ts'
import { MAX_COUNT } from './algorithms/limit-numbers.ts'
import type { ErrorCode } from './errors.ts'
import type { Field, NumberSchema, ObjectValue, Schema } from './schema/schema.ts'

export const ANCHORS = ['epoch', 'first_hit'] as const

export type Anchor = (typeof ANCHORS)[number]

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const

export type Unit = (typeof UNITS)[number]

export const CONSISTENCIES = ['exact', 'leased', 'eventual', 'sampled'] as const
export const FAILURE_POLICIES = ['open', 'closed', 'local'] as const

export const MAX_WINDOW_MS = 10 * 366 * 86_400_000

/** The names and values that HTTP allows in headers, which a rule may add to an answer. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
export const HEADER_VALUE = /^[\t\x20-\x7e]*$/

const COUNT = { kind: 'integer', min: 0, max: MAX_COUNT } as const
const NAME = { kind: 'text', min: 1, max: 128, unquoted: ['number', 'boolean'] } as const
const BOOLEAN = { kind: 'boolean' } as const
const DURATION = {
  kind: 'either',
  of: [
    { kind: 'text', max: 64 },
    { kind: 'integer', min: 0 },
  ],
  expected: 'expected a duration such as 90s, or milliseconds',
  doc: '90s, 1h30m, 500ms, or milliseconds',
} as const

const CALENDAR = {
  kind: 'object',
  fields: {
    unit: { schema: { kind: 'choice', of: ['day', 'week', 'month', 'year'] }, required: true },
    time_zone: { schema: { kind: 'text' }, doc: 'An IANA time zone such as Europe/Berlin. Default: UTC' },
  },
} as const

const WEIGHTS = {
  kind: 'object',
  fields: {
    by: {
      schema: { kind: 'text', min: 1 },
      required: true,
      doc: 'The descriptor entry whose value sets the weight',
    },
    weights: { schema: { kind: 'map', of: COUNT }, required: true },
    default: { schema: COUNT, doc: 'The weight of every other value. Default: 1' },
  },
} as const

const RESPONSE = {
  kind: 'object',
  fields: {
    status: { schema: { kind: 'integer', min: 400, max: 599 }, doc: 'Default: 429' },
    body: {
      schema: {
        kind: 'either',
        of: [
          { kind: 'text', max: 65_536 },
          { kind: 'map', of: { kind: 'any' } },
          { kind: 'list', of: { kind: 'any' } },
        ],
        expected: 'expected a text, or an object or a list, which is sent as JSON',
      },
      doc: 'A text, or an object or a list, which is sent as JSON',
    },
    headers: {
      schema: {
        kind: 'map',
        keys: { kind: 'text', pattern: HEADER_NAME },
        of: { kind: 'text', pattern: HEADER_VALUE },
      },
    },
  },
} as const

const METER = {
  kind: 'text',
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/,
  whenOther: 'the id of a meter has 1 to 128 letters, digits and signs of . _ : @ -, and begins with a letter or digit',
} as const

const LEDGER = {
  kind: 'either',
  of: [
    METER,
    {
      kind: 'object',
      fields: {
        meter: { schema: METER, required: true, doc: 'The id of the meter' },
        amount: {
          schema: {
            kind: 'either',
            of: [
              { kind: 'choice', of: ['cost', 'settled'] },
              { kind: 'integer', min: 1, max: MAX_COUNT },
            ],
            expected: 'expected cost, settled, or a number from 1',
          },
          doc: 'What a request takes: its cost, what it has cost in the end (settled), or a number. Default: cost',
        },
      },
    },
  ],
  expected: 'expected the id of a meter, or {meter: ID, amount: cost, settled or a number}',
} as const

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket'] as const
const WINDOWS = ['sliding_window', ...BUCKETS, 'fixed_window', 'sliding_log'] as const

/** One option of a limit, with everything that is known about it. */
export interface LimitOption extends Field {
  readonly schema: Schema
  /** Its name in code: in LimitOptions, or in the options of a middleware. Without it, only rule files have it. */
  readonly option?: string
  /** The algorithms that use it. Default: all. */
  readonly algorithms?: readonly Algorithm[]
  /** The option, and its value, without which this one would have no effect. */
  readonly needs?: readonly [option: string, value: string]
  /** It is about one limit alone: a domain has no default for it. */
  readonly single?: true
  readonly default?: string | number | boolean
  /** Bounds that hold once the file's form is right: of a count, or of a duration in milliseconds. */
  readonly within?: readonly [min: number, max: number]
  /** What compileLimit raises about a value that is none. */
  readonly code?: ErrorCode
  /** One line, for editors; docs/rules.md says more. */
  readonly doc: string
}

/** The part of the table that decides how hits are counted: all that compileLimit needs. */
export const COUNTING = {
  requests_per_unit: {
    option: 'limit',
    schema: COUNT,
    code: 'LIMIT_INVALID',
    doc: 'How many. 0 blocks everything',
  },
  unit: {
    schema: { kind: 'choice', of: UNITS, anyCase: true },
    doc: 'month is 30 days, year is 365; see calendar for the real ones',
  },
  window: {
    option: 'window',
    schema: DURATION,
    algorithms: WINDOWS,
    within: [1, MAX_WINDOW_MS],
    code: 'WINDOW_INVALID',
    doc: 'Any length instead of a unit: 90s, 1h30m, 500ms, or milliseconds',
  },
  algorithm: {
    option: 'algorithm',
    schema: { kind: 'choice', of: ALGORITHM_NAMES },
    default: 'sliding_window',
    code: 'ALGORITHM_UNKNOWN',
    doc: 'How hits are counted',
  },
  burst: {
    option: 'burst',
    schema: { kind: 'integer' },
    algorithms: BUCKETS,
    within: [1, MAX_COUNT],
    code: 'BURST_INVALID',
    doc: 'How many hits can be made in a burst. Default: requests_per_unit',
  },
  sub_windows: {
    option: 'subWindows',
    schema: { kind: 'integer' },
    algorithms: ['sliding_window'],
    within: [2, 1000],
    code: 'SUB_WINDOWS_INVALID',
    doc: 'Count in this many parts; never above the limit in any window',
  },
  calendar: {
    option: 'calendar',
    schema: CALENDAR,
    algorithms: ['fixed_window'],
    code: 'CALENDAR_INVALID',
    doc: 'Follow the calendar instead of a unit',
  },
  anchor: {
    option: 'anchor',
    schema: { kind: 'choice', of: ANCHORS },
    algorithms: ['fixed_window'],
    default: 'epoch',
    code: 'ANCHOR_UNKNOWN',
    doc: "Where windows begin: all at the same moments, or each caller's with its first hit",
  },
  lease_ttl: {
    option: 'leaseTtl',
    schema: DURATION,
    algorithms: ['concurrency'],
    default: '60s',
    within: [1, MAX_WINDOW_MS],
    code: 'WINDOW_INVALID',
    doc: 'A permit that is neither released nor renewed expires after this',
  },
  count_denied: {
    option: 'countDenied',
    schema: BOOLEAN,
    algorithms: WINDOWS,
    default: false,
    code: 'SWITCH_INVALID',
    doc: 'Charge refused requests too',
  },
} as const satisfies Readonly<Record<string, LimitOption>>

/** The part of the table that a limit outside of middleware has besides. */
export const SHARED = {
  name: {
    option: 'name',
    schema: NAME,
    nullable: true,
    single: true,
    doc: 'What callers see in RateLimit-Policy, and what `replaces` refers to',
  },
  on_store_failure: {
    option: 'onStoreFailure',
    schema: { kind: 'choice', of: FAILURE_POLICIES },
    default: 'local',
    doc: 'What happens while the store does not answer',
  },
  local_share: {
    option: 'localShare',
    schema: { kind: 'number', above: 0, max: 1 },
    needs: ['on_store_failure', 'local'],
    default: 1,
    doc: 'The share of the budget that one node may admit alone',
  },
  timeout_ms: {
    option: 'timeoutMs',
    schema: { kind: 'integer', min: 1, max: 60_000 },
    doc: 'The longest that a store may take. Default: the timeout of the store, which adapts (--redis-timeout)',
  },
} as const satisfies Readonly<Record<string, LimitOption>>

/**
 * The table of all limit options, by the names in rule files. The check of rule files, their JSON Schema, compileLimit
 * and the middleware read it, and a test compares it with docs/rules.md.
 */
export const LIMIT_OPTIONS = {
  name: SHARED.name,
  replaces: {
    schema: { kind: 'list', of: { kind: 'object', fields: { name: { schema: NAME, required: true } } } },
    nullable: true,
    single: true,
    doc: 'Limits that do not apply to a request to which this one does',
  },
  unlimited: {
    schema: BOOLEAN,
    nullable: true,
    default: false,
    single: true,
    doc: 'No limit at all: an allow-list',
  },
  ...COUNTING,
  cost: {
    option: 'cost',
    schema: {
      kind: 'either',
      of: [COUNT, WEIGHTS],
      expected: 'expected a number, or {by: KEY, weights: {VALUE: NUMBER}, default: NUMBER}',
    },
    default: 1,
    doc: 'How much a hit weighs',
  },
  consistency: {
    option: 'consistency',
    schema: { kind: 'choice', of: CONSISTENCIES },
    default: 'exact',
    doc: 'How nodes count together. A rule with a single counter for all callers is leased unless it says otherwise',
  },
  sync_interval: {
    option: 'syncInterval',
    schema: DURATION,
    needs: ['consistency', 'eventual'],
    default: '100ms',
    doc: 'How often counts are exchanged',
  },
  on_store_failure: SHARED.on_store_failure,
  open_for: {
    option: 'openFor',
    schema: DURATION,
    needs: ['on_store_failure', 'open'],
    doc: 'How long an outage is admitted; then the rule counts in the process, as local does. Default: without end',
  },
  local_share: SHARED.local_share,
  timeout_ms: SHARED.timeout_ms,
  priority: {
    schema: { kind: 'integer', min: 0, max: 3 },
    doc: '0 is critical and never shed under load, 1 writes, 2 reads, 3 tests, shed first. Default: by the method',
  },
  ledger: {
    schema: LEDGER,
    single: true,
    doc: 'The meter of the ledger that pays for what the limit admits. Default: none',
  },
  response: { option: 'response', schema: RESPONSE, doc: 'What a refused caller gets' },
  retry_after_jitter: {
    option: 'retryAfterJitter',
    schema: DURATION,
    default: 0,
    doc: 'Spread Retry-After by up to this much',
  },
} as const satisfies Readonly<Record<string, LimitOption>>

type Table = typeof LIMIT_OPTIONS

/** The name of an option in rule files. */
export type LimitOptionKey = keyof Table

/** One limit of a rule file, as its author writes it. */
export type RateLimitRule = ObjectValue<Table>

const entriesOf = (table: object): [LimitOptionKey, LimitOption][] =>
  Object.entries(table) as [LimitOptionKey, LimitOption][]

/** What a domain can say for all its limits that say nothing: everything but what is about one limit alone. */
type Defaults = { [K in keyof Table as Table[K] extends { single: true } ? never : K]: Table[K] }

/** Returns the rows of the table that stand in `defaults` too. */
export const DEFAULT_OPTIONS = /* @__PURE__ */ Object.fromEntries(
  /* @__PURE__ */ entriesOf(LIMIT_OPTIONS).filter(([, { single }]) => single !== true),
) as unknown as Defaults

/** The `defaults` of a rule file, as its author writes them. */
export type LimitDefaults = ObjectValue<Defaults>

/** The names in code of the options of a table. */
export type OptionName<T> = { [K in keyof T]: T[K] extends { option: infer N } ? N : never }[keyof T]

type CountingName = OptionName<typeof COUNTING>
type RuleName = Exclude<OptionName<Table>, CountingName>

const namesOf = (table: object): readonly unknown[] => entriesOf(table).flatMap(([, { option }]) => option ?? [])

/** Returns the names in rule files of what decides how hits are counted. */
export const COUNTING_KEYS = /* @__PURE__ */ Object.keys(COUNTING) as (keyof typeof COUNTING)[]

/** The same options by their names in code: as in LimitOptions. */
export const COUNTING_OPTIONS = /* @__PURE__ */ namesOf(COUNTING) as readonly CountingName[]

/** Returns the names in code of what decides the rest: what a rule does. */
export const RULE_OPTIONS = /* @__PURE__ */ namesOf(LIMIT_OPTIONS).filter(
  (name) => !COUNTING_OPTIONS.includes(name as CountingName),
) as readonly RuleName[]

const BY_OPTION: ReadonlyMap<string, LimitOption> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ entriesOf(COUNTING).flatMap(([, row]) => (row.option === undefined ? [] : [[row.option, row]])),
)

/** Returns the row of an option of LimitOptions, if there is one of that name. */
export function countingOption(option: string): LimitOption | undefined {
  return BY_OPTION.get(option)
}

/** Returns the name in rule files of an option: `sub_windows` of `subWindows`. */
export function keyOfOption(option: string): LimitOptionKey | undefined {
  return entriesOf(LIMIT_OPTIONS).find(([, row]) => row.option === option)?.[0]
}

/** Returns the bounds of a number. */
export function boundsOf({ schema, within }: LimitOption): readonly [min: number, max: number] {
  const { min = 0, max = MAX_COUNT } = schema as NumberSchema
  return within ?? [min, max]
}

/** Whether a value of any type is valid for an option. Durations and calendars have separate parsers. */
export function isValueOf(row: LimitOption, value: unknown): boolean {
  const { schema } = row
  if (schema.kind === 'boolean') return typeof value === 'boolean'
  if (schema.kind === 'choice') return schema.of.includes(value as string)
  if (schema.kind !== 'integer') return true
  const [min, max] = boundsOf(row)
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
}
