import { DEFAULT_OPTIONS, LIMIT_OPTIONS, type LimitDefaults, type RateLimitRule } from '../limit-options.ts'
import type { Field, ObjectValue, RefSchema, Schema } from '../schema/schema.ts'

export type { RateLimitRule } from '../limit-options.ts'

/** How deep a rule file may nest. A list or a map in another is a level; the deepest text and the document are not. */
export const MAX_LEVELS = 64

/**
 * The rule language. A rule file is what envoyproxy/ratelimit reads, and more; as YAML or as plain objects of the same
 * shape. Everything is strict: a key that is not in here is an error, never ignored. What stands in a limit is the
 * table of limit-options.ts.
 */
const LIMIT_OBJECT: Schema = { kind: 'object', doc: 'One limit', fields: LIMIT_OPTIONS }
const LIMIT: RefSchema<RateLimitRule> = { kind: 'ref', name: 'limit', to: () => LIMIT_OBJECT }

const DEFAULTS_OBJECT: Schema = {
  kind: 'object',
  doc: 'Defaults for the limits of the domain',
  fields: DEFAULT_OPTIONS,
}
const DEFAULTS: RefSchema<LimitDefaults> = { kind: 'ref', name: 'defaults', to: () => DEFAULTS_OBJECT }

const LIMITS = {
  rate_limit: { schema: LIMIT, nullable: true },
  rate_limits: { schema: { kind: 'list', of: LIMIT, min: 1, max: 16 }, doc: 'Several limits; all of them apply' },
} as const

const BOOLEAN = { kind: 'boolean' } as const

const DESCRIPTOR_FIELDS = {
  key: {
    schema: { kind: 'text', min: 1, max: 256, unquoted: ['number', 'boolean'] },
    required: true,
    doc: 'The key of an entry',
  },
  value: {
    schema: { kind: 'text', max: 4096, unquoted: ['number', 'boolean', 'null'] },
    doc: 'Its value, `*` standing for anything. Without it: any value',
  },
  cidr: {
    schema: {
      kind: 'either',
      of: [{ kind: 'text' }, { kind: 'list', of: { kind: 'text' }, min: 1 }],
      expected: 'expected an address block, or a list of them',
    },
    doc: 'Address blocks instead of a value: 10.0.0.0/8, 2001:db8::/32',
  },
  ...LIMITS,
  shadow_mode: { schema: BOOLEAN, nullable: true, doc: 'Report, but never refuse' },
  quota_mode: { schema: BOOLEAN, nullable: true, doc: 'Refuse only when every limit in quota mode does' },
  share_threshold: { schema: BOOLEAN, nullable: true, doc: 'With `*`: all values that match share one counter' },
  detailed_metric: { schema: BOOLEAN, nullable: true, doc: 'Metrics name the whole path' },
  value_to_metric: { schema: BOOLEAN, nullable: true, doc: 'Metrics name the value' },
  metadata: {
    schema: { kind: 'map', of: { kind: 'any' } },
    nullable: true,
    doc: 'Handed to the caller with the decision',
  },
  secret: { schema: BOOLEAN, doc: 'Values are stored, logged and shown only as a keyed hash' },
  tiered: {
    schema: BOOLEAN,
    doc: "true: the caller's tier replaces this limit and those below. false: no tier or override changes them",
  },
  enabled: { schema: BOOLEAN, doc: 'false switches this level and those below off' },
} as const satisfies Readonly<Record<string, Field>>

/** One level of a pattern: a key, perhaps a value, its limits, and the levels below. */
export interface DescriptorRule extends ObjectValue<typeof DESCRIPTOR_FIELDS> {
  descriptors?: DescriptorRule[] | null | undefined
}

const DESCRIPTOR: RefSchema<DescriptorRule> = { kind: 'ref', name: 'descriptor', to: () => DESCRIPTOR_OBJECT }

const DESCRIPTORS = { schema: { kind: 'list', of: DESCRIPTOR }, nullable: true } as const

const DESCRIPTOR_OBJECT: Schema = {
  kind: 'object',
  doc: 'One level of a pattern',
  fields: { ...DESCRIPTOR_FIELDS, descriptors: DESCRIPTORS },
}

const TIER_FIELDS = { ...LIMITS, descriptors: DESCRIPTORS } as const

/** What stands in place of a tiered descriptor, for callers of one tier. */
export type TierRule = ObjectValue<typeof TIER_FIELDS>

const TIER_OBJECT: Schema = {
  kind: 'object',
  doc: 'What a tiered rule is for callers of this tier: its limits, and the limits of the levels below',
  fields: TIER_FIELDS,
}
const TIER: RefSchema<TierRule> = { kind: 'ref', name: 'tier', to: () => TIER_OBJECT }

const FILE_FIELDS = {
  domain: {
    schema: { kind: 'text', min: 1, max: 256, unquoted: ['number', 'boolean'] },
    required: true,
    doc: 'The name space of these rules',
  },
  version: {
    schema: {
      kind: 'either',
      of: [{ kind: 'text', max: 128 }, { kind: 'number' }],
      expected: 'expected a text or a number',
    },
    doc: 'Shown with the rules in force',
  },
  evaluate: {
    schema: { kind: 'choice', of: ['leaf', 'path'] },
    doc: 'leaf: a rule applies where its depth is the number of entries. path: those above apply too',
  },
  defaults: { schema: DEFAULTS, nullable: true, doc: 'Options for all limits of the domain that do not say otherwise' },
  tiers: {
    schema: { kind: 'map', keys: { kind: 'text', min: 1, max: 64 }, of: TIER },
    doc: 'Named sets of limits: free, pro, enterprise',
  },
  descriptors: DESCRIPTORS,
} as const satisfies Readonly<Record<string, Field>>

/** One file of rules, as its author writes it: docs/rules.md has every key. */
export type RuleFile = ObjectValue<typeof FILE_FIELDS>

/** The schema of a whole rule file. */
export const RULE_FILE = { kind: 'object', fields: FILE_FIELDS } as const satisfies Schema
