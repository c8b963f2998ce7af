import type { ApiKey, Block, Customer, Grant, Override, RuleSwitch, StoredTier } from '../../../quotas/model.ts'
import type { AdminToken } from '../../../quotas/ports.ts'
import { ROLES } from '../access/roles.ts'
import {
  ANY,
  COUNT,
  CREATED,
  DATE,
  DESCRIPTOR,
  ID,
  METADATA,
  named,
  needed,
  orNull as nullable,
  object,
  REASON,
  SPAN_ANSWER,
  TICKET,
  TIER_NAME,
  TIME,
  text,
  UNIT,
  UPDATED,
  VERSION,
  WORDS,
} from './forms.ts'
import { orNull, timeOrNull, timeText } from './values.ts'

// How records are answered: a schema, and the function that spells a record so.

const PROBLEM = { problem: nullable(WORDS, 'why it has no effect; null: nothing is wrong with it') } as const

export const CUSTOMER = named(
  'Customer',
  object({
    id: needed(ID),
    name: needed(WORDS),
    tier: nullable(WORDS),
    status: needed({ kind: 'choice', of: ['active', 'suspended'] }),
    time_zone: needed(WORDS),
    period_anchor: nullable(DATE),
    metadata: needed(METADATA),
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  }),
)

export function customerJson(customer: Customer) {
  const { id, name, tier, status, timeZone, periodAnchor, metadata, version, createdAtMs, updatedAtMs } = customer
  return {
    id,
    name,
    tier: orNull(tier),
    status,
    time_zone: timeZone,
    period_anchor: orNull(periodAnchor),
    metadata,
    version,
    created_at: timeText(createdAtMs),
    updated_at: timeText(updatedAtMs),
  }
}

const KEY_FIELDS = {
  id: needed(WORDS),
  prefix: needed(WORDS, 'the first characters of the key'),
  customer_id: nullable(WORDS),
  name: needed(WORDS),
  tier: nullable(WORDS),
  ...VERSION,
  ...CREATED,
  revoked_at: nullable(TIME),
} as const

export const KEY = named('ApiKey', object(KEY_FIELDS))
export const NEW_KEY = named(
  'NewApiKey',
  object({ ...KEY_FIELDS, key: nullable(WORDS, 'the key itself, if it was made here: shown this once') }),
)

export function keyJson({ id, prefix, customerId, name, tier, version, createdAtMs, revokedAtMs }: ApiKey) {
  return {
    id,
    prefix,
    customer_id: orNull(customerId),
    name,
    tier: orNull(tier),
    version,
    created_at: timeText(createdAtMs),
    revoked_at: timeOrNull(revokedAtMs),
  }
}

const SUBJECT = { customer_id: nullable(WORDS), api_key_id: nullable(WORDS) } as const

export const OVERRIDE = named(
  'Override',
  object({
    id: needed(WORDS),
    ...SUBJECT,
    descriptor: needed(DESCRIPTOR),
    requests_per_unit: needed(COUNT),
    unit: needed(UNIT),
    algorithm: nullable(WORDS),
    burst: nullable(COUNT),
    reason: nullable(REASON),
    ticket: nullable(TICKET),
    ...SPAN_ANSWER,
    ...PROBLEM,
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  }),
)

function subjectJson(subject: Block['subject']) {
  return {
    customer_id: subject.kind === 'customer' ? subject.customerId : null,
    api_key_id: subject.kind === 'key' ? subject.keyId : null,
  }
}

export function overrideJson(override: Override, problem?: string) {
  const { id, subject, descriptor, requestsPerUnit, unit, algorithm, burst, reason, ticket, version } = override
  return {
    id,
    ...subjectJson(subject),
    descriptor,
    requests_per_unit: requestsPerUnit,
    unit,
    algorithm: orNull(algorithm),
    burst: orNull(burst),
    reason: orNull(reason),
    ticket: orNull(ticket),
    ...spanJson(override),
    problem: orNull(problem),
    version,
    created_at: timeText(override.createdAtMs),
    updated_at: timeText(override.updatedAtMs),
  }
}

function spanJson({ effectiveAtMs, expiresAtMs }: Pick<Override, 'effectiveAtMs' | 'expiresAtMs'>) {
  return { effective_at: timeText(effectiveAtMs), expires_at: timeOrNull(expiresAtMs) }
}

export const GRANT = named(
  'Grant',
  object({
    id: needed(WORDS),
    customer_id: needed(WORDS),
    descriptor: needed(DESCRIPTOR),
    amount: needed(COUNT),
    reason: nullable(REASON),
    ticket: nullable(TICKET),
    ...SPAN_ANSWER,
    ...VERSION,
    ...CREATED,
  }),
)

export function grantJson(grant: Grant) {
  const { id, customerId, descriptor, amount, reason, ticket, version, createdAtMs } = grant
  return {
    id,
    customer_id: customerId,
    descriptor,
    amount,
    reason: orNull(reason),
    ticket: orNull(ticket),
    ...spanJson(grant),
    version,
    created_at: timeText(createdAtMs),
  }
}

export const BLOCK = named(
  'Block',
  object({
    id: needed(WORDS),
    ...SUBJECT,
    cidr: nullable(WORDS),
    reason: nullable(REASON),
    status: needed({ kind: 'integer', min: 400, max: 599 }),
    body: nullable(WORDS),
    ...SPAN_ANSWER,
    ...VERSION,
    ...CREATED,
  }),
)

export function blockJson(block: Block) {
  const { id, subject, reason, status, body, version, createdAtMs } = block
  return {
    id,
    ...subjectJson(subject),
    cidr: subject.kind === 'cidr' ? subject.cidr : null,
    reason: orNull(reason),
    status,
    body: orNull(body),
    ...spanJson(block),
    version,
    created_at: timeText(createdAtMs),
  }
}

export const TIER = named(
  'Tier',
  object({
    domain: needed(WORDS),
    name: needed(TIER_NAME),
    limits: needed(ANY, 'as below the name of a tier in a rule file'),
    ...PROBLEM,
    ...VERSION,
    ...UPDATED,
  }),
)

export function tierJson({ domain, name, limits, version, updatedAtMs }: StoredTier, problem?: string) {
  return { domain, name, limits, problem: orNull(problem), version, updated_at: timeText(updatedAtMs) }
}

export const RULE_NAME = object({ domain: needed(text(256)), id: needed(text(4_096)) })

export const SWITCH = named(
  'Switch',
  object({
    rule: nullable(RULE_NAME, 'null: every rule'),
    mode: needed({ kind: 'choice', of: ['off', 'shadow', 'enforce'] }),
    reason: nullable(REASON),
    ...VERSION,
    ...UPDATED,
  }),
)

export function switchJson({ rule, mode, reason, version, updatedAtMs }: RuleSwitch) {
  return { rule: rule ?? null, mode, reason: orNull(reason), version, updated_at: timeText(updatedAtMs) }
}

export const TOKEN_FIELDS = {
  id: needed(WORDS),
  name: needed(WORDS),
  role: needed({ kind: 'choice', of: ROLES }),
  prefix: needed(WORDS, 'the first characters of the token'),
  ...CREATED,
  expires_at: nullable(TIME),
  revoked_at: nullable(TIME),
  last_used_at: nullable(TIME),
} as const

export const TOKEN = named('Token', object(TOKEN_FIELDS))

export function tokenJson({ id, name, role, prefix, createdAtMs, expiresAtMs, revokedAtMs, lastUsedAtMs }: AdminToken) {
  return {
    id,
    name,
    role,
    prefix,
    created_at: timeText(createdAtMs),
    expires_at: timeOrNull(expiresAtMs),
    revoked_at: timeOrNull(revokedAtMs),
    last_used_at: timeOrNull(lastUsedAtMs),
  }
}

/** RECORD_JSON spells the records of each table. */
export const RECORD_JSON = {
  customers: customerJson,
  api_keys: keyJson,
  overrides: overrideJson,
  grants: grantJson,
  blocks: blockJson,
  tiers: tierJson,
  switches: switchJson,
} as const
