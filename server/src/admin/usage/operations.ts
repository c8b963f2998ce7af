import type { UsageRow } from '../../quotas/tables/usage-store.ts'
import { ID, named, needed, object, pageOf, TIME, text, WHOLE, WORDS } from '../../records/forms.ts'
import { csvOf } from '../api/csv.ts'
import { operation } from '../api/operation.ts'
import { USAGE } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, pageReply } from '../api/records.ts'
import { invalid, timeOf, timeText } from '../api/values.ts'
import { CONFIRMATIONS } from '../api/waits.ts'
import { downloadAs } from '../audit/operations.ts'

export const USAGE_ROW = named(
  'UsageRow',
  object({
    customer_id: needed(WORDS),
    limit: needed(WORDS),
    at: needed(TIME, 'the beginning of the hour or day'),
    allowed: needed(WHOLE),
    refused: needed(WHOLE),
    cost: needed({ kind: 'integer' }, 'of requests that were allowed, less what was given back'),
  }),
)

export function rowJson({ customerId, limit, atMs, allowed, refused, cost }: UsageRow) {
  return { customer_id: customerId, limit, at: timeText(atMs), allowed, refused, cost }
}

/** COMPLETE_UNTIL is the field that says up to when no use is missing. */
export const COMPLETE_UNTIL = needed(TIME, 'no use before this is missing: every node has written it')

const COLUMNS = ['customer_id', 'limit', 'at', 'allowed', 'refused', 'cost']
const DAY_MS = 86_400_000
/** As long as an answer is of use: two years and a bit of days, two months of hours. */
const MOST_MS = { day: 800 * DAY_MS, hour: 62 * DAY_MS } as const

export const USAGE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listUsage',
    method: 'GET',
    path: '/usage',
    tag: 'usage',
    role: 'viewer',
    summary: 'what was allowed and refused, by customer, limit, and hour or day',
    query: {
      customer_id: { schema: ID, doc: 'one customer; left out: all' },
      from: { schema: text(40), required: true, doc: 'not before this time' },
      to: { schema: text(40), required: true, doc: 'before this time' },
      granularity: { schema: { kind: 'choice', of: ['hour', 'day'] }, doc: 'day, by default' },
      format: { schema: { kind: 'choice', of: ['json', 'csv'] }, doc: 'json, by default' },
    },
    isPaged: true,
    answer: { status: 200, schema: pageOf(USAGE_ROW, { complete_until: COMPLETE_UNTIL }), types: ['text/csv'] },
    run: async (call) => {
      const { customer_id: customerId, from, to, granularity = 'day', format = 'json' } = call.query
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const [fromMs, toMs] = [timeOf(from, 'query.from') ?? 0, timeOf(to, 'query.to') ?? 0]
      if (toMs <= fromMs) throw invalid('query.to', 'it is not after from')
      if (toMs - fromMs > MOST_MS[granularity]) throw invalid('query.from', `too far from to, by the ${granularity}`)
      // Asked first: what is written later may be missing.
      const completeUntil = timeText(await call.parts.get(CONFIRMATIONS).completeUntilMs())
      const page = await call.parts.get(USAGE).read({
        customerId,
        fromMs,
        toMs,
        granularity,
        after: call.cursor.after,
        limit,
      })
      if (format === 'json') return pageReply(call, page, rowJson, { complete_until: completeUntil })
      const next = call.cursor.next(page.next)
      return {
        headers: {
          ...downloadAs('usage.csv'),
          'Sluice-Complete-Until': completeUntil,
          ...(next !== null && { 'Sluice-Next-Cursor': next }),
        },
        text: { type: 'text/csv; charset=utf-8', text: csvOf(COLUMNS, page.items.map(rowJson)) },
      }
    },
  }),
]
