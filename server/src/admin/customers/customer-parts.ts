import { SluiceError } from 'sluice/internal/core/errors'
import type { Field, RefSchema, Schema } from 'sluice/internal/core/schema/schema'
import type { QuotaTable } from '../../quotas/model.ts'
import { list, needed, object, optional, text, WORDS, YES_OR_NO } from '../../records/forms.ts'
import { tableOf } from '../../records/tables.ts'
import type { Call } from '../api/operation.ts'
import { AUDIT, RECORDS, RULES, USAGE } from '../api/parts.ts'
import { answered } from '../api/records.ts'
import { invalid, timeText } from '../api/values.ts'
import { CONFIRMATIONS } from '../api/waits.ts'
import { ENTRY, entryJson } from '../audit/operations.ts'
import { COUNTERS } from '../counters/counters.ts'
import { LIMIT_STATES, limitsJson } from '../limits/limit-states.ts'
import { REFUSALS, refusalsJson } from '../refusals/operations.ts'
import { RECENT } from '../refusals/recent-callers.ts'
import { ruleNames } from '../rules/rule-names.ts'
import { COMPLETE_UNTIL, rowJson, USAGE_ROW } from '../usage/operations.ts'

type Asked = Pick<Call, 'parts' | 'nowMs'>

/** A CustomerPart is something about a customer that is read together with it. */
interface CustomerPart {
  readonly schema: Schema
  readonly doc: string
  read(call: Asked, customerId: string): Promise<unknown>
}

const MOST_RECORDS = 500
const MOST_REFUSALS = 20
const MOST_CHANGES = 50
const MOST_USAGE = 5_000
const DAY_MS = 86_400_000
const USAGE_DAYS = 30

/** first is the form of the first entries of a list. */
const first = (of: Schema): Schema => object(firstOf(of))

const firstOf = (of: Schema) =>
  ({ items: needed(list(of)), has_more: needed(YES_OR_NO, 'there are more; its list has them all') }) as const

function records(table: QuotaTable, doc: string, owner: 'customerId' | 'ownerId'): CustomerPart {
  return {
    schema: first(tableOf(table).answer),
    doc: `${doc}; at most ${MOST_RECORDS}`,
    read: async (call, customerId) => {
      const page = await call.parts.get(RECORDS).list(table, { where: { [owner]: customerId }, limit: MOST_RECORDS })
      return { items: page.items.map((each) => answered(call, table, each)), has_more: page.next !== undefined }
    },
  }
}

const PARTS = {
  limits: {
    schema: LIMIT_STATES,
    doc: 'as /customers/{customer_id}/limits has them',
    read: async ({ parts }, customerId) =>
      limitsJson(await parts.get(COUNTERS).limitsOf({ kind: 'customer', customerId })),
  },
  keys: records('api_keys', 'API keys', 'customerId'),
  overrides: records('overrides', 'overrides of the customer and of its keys', 'ownerId'),
  grants: records('grants', 'grants', 'customerId'),
  blocks: records('blocks', 'blocks of the customer and of its keys', 'ownerId'),
  refusals: {
    schema: object(REFUSALS),
    doc: `the last refusals, at most ${MOST_REFUSALS}`,
    read: async ({ parts }, customerId) =>
      refusalsJson(
        await parts.get(RECENT).refusals('fleet', { kind: 'customer', customerId }),
        MOST_REFUSALS,
        ruleNames(parts.get(RULES)()),
      ),
  },
  usage: {
    schema: object({ ...firstOf(USAGE_ROW), complete_until: COMPLETE_UNTIL }),
    doc: `what was allowed and refused on each of the last ${USAGE_DAYS} days of UTC, today included, by limit`,
    read: async ({ parts, nowMs }, customerId) => {
      const toMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS
      const span = { fromMs: toMs - USAGE_DAYS * DAY_MS, toMs, granularity: 'day' } as const
      // Asked first: what is written later may be missing.
      const completeUntilMs = await parts.get(CONFIRMATIONS).completeUntilMs()
      const page = await parts.get(USAGE).read({ customerId, ...span, after: undefined, limit: MOST_USAGE })
      return {
        items: page.items.map(rowJson),
        has_more: page.next !== undefined,
        complete_until: timeText(completeUntilMs),
      }
    },
  },
  changes: {
    schema: first(ENTRY),
    doc: `the last ${MOST_CHANGES} entries of the audit log that concern the customer`,
    read: async ({ parts }, customerId) => {
      const page = await parts.get(AUDIT).list({ customerId, limit: MOST_CHANGES })
      return { items: page.items.map(entryJson), has_more: page.next !== undefined }
    },
  },
} satisfies Readonly<Record<string, CustomerPart>>

type PartName = keyof typeof PARTS
const NAMES = Object.keys(PARTS) as PartName[]

/** INCLUDE is the parameter that names parts. */
export const INCLUDE = {
  schema: text(128),
  doc: `what is answered with it, in \`included\`; several separated by commas: ${NAMES.join(', ')}`,
} as const

const FIELDS: Readonly<Record<string, Field>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, optional<Schema>(PARTS[name].schema, PARTS[name].doc)])),
  problems: needed(
    list(object({ part: needed(WORDS), code: needed(WORDS), detail: needed(WORDS) })),
    'parts that could not be read, and why; the others are there',
  ),
}

/** INCLUDED is the form of what is answered. */
export const INCLUDED: RefSchema<unknown> = { kind: 'ref', name: 'CustomerParts', to: () => object(FIELDS) }

/** partsIn reads the names of parts. */
export function partsIn(include: string): readonly PartName[] {
  return [...new Set(include.split(','))].map((given) => {
    const name = NAMES.find((each) => each === given.trim())
    if (name === undefined) throw invalid('query.include', `got ${JSON.stringify(given)}; known: ${NAMES.join(', ')}`)
    return name
  })
}

/** readParts reads parts of a customer side by side. One that cannot be read leaves the others as they are. */
export async function readParts(call: Asked, customerId: string, names: readonly PartName[]) {
  const problems: { readonly part: PartName; readonly code: string; readonly detail: string }[] = []
  const read = await Promise.all(
    names.map(async (name): Promise<readonly [string, unknown][]> => {
      try {
        return [[name, await PARTS[name].read(call, customerId)]]
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error
        problems.push({ part: name, code: error.code, detail: error.message })
        return []
      }
    }),
  )
  return { ...Object.fromEntries(read.flat()), problems }
}
