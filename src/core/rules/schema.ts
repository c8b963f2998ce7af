import * as z from 'zod'
import { ALGORITHM_NAMES, ANCHORS } from '../limit.ts'

/**
 * The rule language. A rule file is what envoyproxy/ratelimit reads, and more; as YAML or as plain objects of the same
 * shape. Everything is strict: a key that is not in here is an error, never ignored. The descriptions end up in the
 * JSON Schema that editors read.
 */
export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const

const count = z.int().min(0).max(4_294_967_295)
const duration = z
  .union([z.string().max(64), z.int().min(0)], 'expected a duration such as 90s, or milliseconds')
  .describe('90s, 1h30m, 500ms, or milliseconds')
/** In YAML these texts need no quotes, even where they look like something else; an editor is not to mind that. */
const WITHOUT_QUOTES = { type: ['string', 'number', 'boolean'] } as Record<string, unknown>
const name = z.string().min(1).max(128).meta(WITHOUT_QUOTES)

const unit = z
  .string()
  .meta({ enum: UNITS.flatMap((text) => [text, text.toUpperCase(), text[0].toUpperCase() + text.slice(1)]) })
  .transform((text) => text.toLowerCase())
  .pipe(z.enum(UNITS))

const calendar = z.strictObject({
  unit: z.enum(['day', 'week', 'month', 'year']),
  time_zone: z.string().optional().describe('An IANA time zone such as Europe/Berlin. Default: UTC'),
})

const weights = z.strictObject({
  by: z.string().min(1).describe('The descriptor entry whose value sets the weight'),
  weights: z.record(z.string(), count),
  default: count.optional().describe('The weight of every other value. Default: 1'),
})

const response = z.strictObject({
  status: z.int().min(400).max(599).optional().describe('Default: 429'),
  body: z.string().max(65_536).optional(),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), z.string().regex(/^[\t\x20-\x7e]*$/)).optional(),
})

const rateLimit = z
  .strictObject({
    name: name.optional().describe('What callers see in RateLimit-Policy, and what `replaces` refers to'),
    replaces: z
      .array(z.strictObject({ name }))
      .optional()
      .describe('Limits that do not apply to a request to which this one does'),
    unlimited: z.boolean().optional().describe('No limit at all: an allow-list'),
    requests_per_unit: count.optional().describe('How many. 0 blocks everything'),
    unit: unit.optional().describe('month is 30 days, year is 365; see calendar for the real ones'),
    window: duration.optional().describe('Any length instead of a unit'),
    algorithm: z.enum(ALGORITHM_NAMES).optional().describe('Default: sliding_window'),
    burst: z.int().optional().describe('Buckets: how many fit at once. Default: requests_per_unit'),
    sub_windows: z.int().optional().describe('sliding_window: count in this many parts; never above the limit'),
    calendar: calendar.optional().describe('fixed_window: follow the calendar'),
    anchor: z.enum(ANCHORS).optional().describe('fixed_window: where windows begin. Default: epoch'),
    lease_ttl: duration.optional().describe('concurrency: a place not released comes back after this. Default: 60s'),
    count_denied: z.boolean().optional().describe('Charge refused requests too. Default: false'),
    cost: z
      .union([count, weights], 'expected a number, or {by: KEY, weights: {VALUE: NUMBER}, default: NUMBER}')
      .optional()
      .describe('How much a hit weighs. Default: 1'),
    consistency: z
      .enum(['exact', 'leased', 'eventual'])
      .optional()
      .describe('Default: exact; leased for a rule with one counter, whoever calls'),
    sync_interval: duration.optional().describe('eventual: how often counts are exchanged. Default: 100ms'),
    on_store_failure: z.enum(['open', 'closed', 'local']).optional().describe('Default: open'),
    local_share: z.number().gt(0).max(1).optional().describe('local: the share of the budget one node may admit'),
    timeout_ms: z.int().min(1).max(60_000).optional().describe('The longest a store may take. Default: 5'),
    priority: z.int().min(0).max(3).optional().describe('0 is never shed, 3 is shed first. Default: 1'),
    response: response.optional().describe('What a refused caller gets'),
    retry_after_jitter: duration.optional().describe('Spread Retry-After by up to this much'),
  })
  .describe('One limit')

const limits = {
  rate_limit: rateLimit.nullish(),
  rate_limits: z.array(rateLimit).min(1).max(16).optional().describe('Several limits; all of them apply'),
}

const descriptorFields = z.strictObject({
  key: z.string().min(1).max(256).meta(WITHOUT_QUOTES).describe('The key of an entry'),
  value: z
    .string()
    .max(4096)
    .meta({ type: ['string', 'number', 'boolean', 'null'] } as Record<string, unknown>)
    .optional()
    .describe('Its value, `*` standing for anything. Without it: any value'),
  cidr: z
    .union([z.string(), z.array(z.string()).min(1)], 'expected an address block, or a list of them')
    .optional()
    .describe('Address blocks instead of a value: 10.0.0.0/8, 2001:db8::/32'),
  ...limits,
  shadow_mode: z.boolean().optional().describe('Report, but never refuse'),
  quota_mode: z.boolean().optional().describe('Refuse only when every limit in quota mode does'),
  share_threshold: z.boolean().optional().describe('With `*`: all values that match share one counter'),
  detailed_metric: z.boolean().optional().describe('Metrics name the whole path'),
  value_to_metric: z.boolean().optional().describe('Metrics name the value'),
  metadata: z.record(z.string(), z.unknown()).optional().describe('Handed to the caller with the decision'),
  secret: z.boolean().optional().describe('Values are stored, logged and shown only as a keyed hash'),
  tiered: z.boolean().optional().describe("The caller's tier replaces this limit and those below"),
  enabled: z.boolean().optional().describe('false switches this level and those below off'),
})

/** A DescriptorRule is one level of a pattern: a key, perhaps a value, its limits, and the levels below. */
export interface DescriptorRule extends z.input<typeof descriptorFields> {
  descriptors?: DescriptorRule[] | null | undefined
}

export interface CheckedDescriptor extends z.output<typeof descriptorFields> {
  descriptors?: CheckedDescriptor[] | null | undefined
}

const descriptor: z.ZodType<CheckedDescriptor, DescriptorRule> = z.lazy(() =>
  descriptorFields.extend({ descriptors: z.array(descriptor).nullish() }).describe('One level of a pattern'),
)

const tier = z
  .strictObject({ ...limits, descriptors: z.array(descriptor).nullish() })
  .describe('What a tiered rule is for callers of this tier: its limits, and those of the levels below')

export const ruleFileSchema = z.strictObject({
  domain: z.string().min(1).max(256).meta(WITHOUT_QUOTES).describe('The name space of these rules'),
  version: z
    .union([z.string().max(128), z.number()], 'expected a text or a number')
    .optional()
    .describe('Shown with the rules in force'),
  evaluate: z
    .enum(['leaf', 'path'])
    .optional()
    .describe('leaf: a rule applies where its depth is the number of entries. path: those above apply too'),
  tiers: z.record(z.string().min(1).max(64), tier).optional().describe('Named sets of limits: free, pro, enterprise'),
  descriptors: z.array(descriptor).nullish(),
})

/** A RuleFile is one file of rules, as its author writes it. */
export type RuleFile = z.input<typeof ruleFileSchema>
export type RateLimitRule = z.input<typeof rateLimit>

export type CheckedRuleFile = z.output<typeof ruleFileSchema>
export type CheckedRateLimit = z.output<typeof rateLimit>
export type CheckedTier = z.output<typeof tier>

/** ruleJsonSchema returns the language as a JSON Schema, for editors. */
export function ruleJsonSchema(): object {
  return { title: 'Sluice rules', ...z.toJSONSchema(ruleFileSchema, { io: 'input', target: 'draft-7', reused: 'ref' }) }
}
