import type { Preview, PreviewOutcome, ProposedChange } from '../../../quotas/ports.ts'
import {
  ANY,
  list,
  named,
  needed,
  orNull as nullable,
  object,
  TIME,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../../records/forms.ts'
import { tableOf } from '../../../records/tables.ts'
import type { Reply } from './operation.ts'
import { orNull, timeText } from './values.ts'

export const PREVIEW = named(
  'Preview',
  object({
    dry_run: needed(YES_OR_NO, 'true: nothing was changed'),
    changes: needed(
      list(
        object({
          kind: needed({ kind: 'choice', of: ['record', 'rules', 'counters', 'token', 'webhook'] }),
          table: nullable(WORDS),
          id: nullable(WORDS),
          before: needed(ANY),
          after: needed(ANY),
        }),
      ),
    ),
    affected_customers: nullable(WHOLE, 'null: not known'),
    at_peak: nullable(
      object({
        at: needed(TIME),
        requests: needed(WHOLE),
        refused_before: needed(WHOLE),
        refused_after: needed(WHOLE),
      }),
      'the busiest hour of the last week under the limits before and after; null: not known',
    ),
    notes: needed(list(WORDS)),
  }),
)

/** previewReply says what changes would do. */
export async function previewReply(preview: Preview | undefined, changes: readonly ProposedChange[]): Promise<Reply> {
  const outcome = await preview?.preview(changes)
  return { body: { dry_run: true, changes: changes.map(changeJson), ...outcomeJson(outcome) } }
}

function outcomeJson(outcome: PreviewOutcome | undefined) {
  const { affectedCustomers, atPeak, notes = [] } = outcome ?? {}
  return {
    affected_customers: orNull(affectedCustomers),
    at_peak:
      atPeak === undefined
        ? null
        : {
            at: timeText(atPeak.atMs),
            requests: atPeak.requests,
            refused_before: atPeak.refusedBefore,
            refused_after: atPeak.refusedAfter,
          },
    notes,
  }
}

function changeJson(change: ProposedChange) {
  const blank = { kind: change.kind, table: null, id: null, before: null, after: null }
  if (change.kind === 'rules') return { ...blank, after: change.text }
  if (change.kind === 'counters') return { ...blank, before: change.target }
  if (change.kind === 'token') return { ...blank, before: change.before ?? null, after: change.after ?? null }
  if (change.kind === 'webhook') {
    return { ...blank, id: change.id, before: change.before ?? null, after: change.after ?? null }
  }
  const { toJson } = tableOf(change.table)
  const answered = (record: unknown): unknown => (record === undefined ? null : toJson(record))
  return {
    ...blank,
    table: change.table,
    id: change.id,
    before: answered(change.before),
    after: answered(change.after),
  }
}
