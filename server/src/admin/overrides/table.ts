import { ALGORITHM_NAMES, compileLimit } from 'sluice/internal/core/limit'
import { choice, count, optional, text } from '../../records/field.ts'
import { COUNT, DESCRIPTOR, text as textForm, UNIT, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import {
  CREATED,
  customerOfSubject,
  id,
  OF_SUBJECT,
  PROBLEM,
  requireSpan,
  SPAN,
  subject,
  UPDATED,
  VERSION,
  WHY,
} from '../../records/shared-fields.ts'

/** Windows at least as long as a unit: enough to see whether a limit can be counted. */
const UNIT_WINDOWS: Readonly<Record<string, string>> = {
  second: '1s',
  minute: '1m',
  hour: '1h',
  day: '1d',
  week: '1w',
  month: '30d',
  year: '365d',
}

interface CountedLimit {
  readonly requestsPerUnit: number
  readonly unit: string
  readonly algorithm: string | undefined
  readonly burst: number | undefined
}

/** Throws for a limit that no algorithm could count: it is refused here, not on every node later. */
function requireCountable({ requestsPerUnit: limit, unit, algorithm, burst }: CountedLimit): void {
  const window = algorithm === 'concurrency' ? {} : { window: UNIT_WINDOWS[unit] }
  const counted = burst === undefined ? algorithm : (algorithm ?? 'token_bucket')
  const given = { limit, ...window, ...(counted && { algorithm: counted }), ...(burst !== undefined && { burst }) }
  compileLimit(given as Parameters<typeof compileLimit>[0], 'body')
}

/** An Override is a limit of one caller. */
export const overrides = recordTable({
  table: 'sluice.quota_overrides',
  schemaName: 'Override',
  fields: {
    id: id(),
    subject: subject(),
    descriptor: text(DESCRIPTOR, {
      by: 'caller',
      doc: '`default`, or such as `endpoint:POST /api/v1/orders`; `default` by default',
      initial: 'default',
    }),
    /** Undefined: every domain. */
    domain: optional(text(WORDS, { by: 'caller', sent: textForm(256), doc: 'for the rules of one domain alone' })),
    /** By its id or name, of the domain. Undefined: every rule. */
    rule: optional(
      text(WORDS, { by: 'caller', sent: textForm(4_096), doc: 'for one rule of that domain alone, by its id or name' }),
    ),
    requestsPerUnit: count(COUNT, { by: 'caller' }),
    unit: choice(UNIT, { by: 'caller' }),
    algorithm: optional(
      text(WORDS, { by: 'caller', sent: { kind: 'choice', of: ALGORITHM_NAMES }, doc: 'that of the rule by default' }),
    ),
    burst: optional(count(COUNT, { by: 'caller' })),
    ...WHY,
    ...SPAN,
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: { ...OF_SUBJECT, descriptor: 'descriptor', ticket: 'ticket' },
  searched: ['customer_id', 'descriptor'],
  customerOf: customerOfSubject,
  check: (record) => {
    requireCountable(record)
    requireSpan(record)
  },
  derived: PROBLEM,
})
