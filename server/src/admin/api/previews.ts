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
} from '../../records/forms.ts'
import { tableOf } from '../../records/tables.ts'
import type { Preview, PreviewOutcome, ProposedChange, TrafficPeriod } from './change.ts'
import { IN_FORCE_FIELDS, inForceJson, NOWHERE } from './in-force.ts'
import type { Change, Reply } from './operation.ts'
import { orNull, timeText } from './values.ts'

const LIMIT_TRAFFIC = named(
  'LimitTraffic',
  object({
    domain: needed(WORDS),
    rule_id: needed(WORDS),
    requests: nullable(WHOLE, 'that the limit admitted or refused; null: they were not counted'),
    refused: nullable(WHOLE, 'of these requests, by this limit'),
    refused_after: nullable(
      object({ at_least: needed(WHOLE), at_most: needed(WHOLE) }),
      'of these requests, with the change; both are equal where it is known exactly; null: not known',
    ),
    why: nullable(WORDS, 'why it is not known exactly, as a sentence'),
  }),
)

const TRAFFIC = named(
  'TrafficPeriod',
  object({
    period: needed(
      { kind: 'choice', of: ['this_hour', 'busiest_hour', 'last_hour'] },
      'this_hour: of the affected customers, until now. busiest_hour: theirs, of the week before. last_hour: of the rules, 60 to 65 minutes, all callers',
    ),
    from: needed(TIME),
    to: needed(TIME),
    limits: needed(list(LIMIT_TRAFFIC), 'the limits that the change is about, the most requests first; at most 20'),
    limits_left_out: needed(WHOLE),
  }),
)

export const PREVIEW = named(
  'Preview',
  object({
    dry_run: needed(YES_OR_NO, 'true: nothing was changed'),
    changes: needed(
      list(
        object({
          kind: needed({ kind: 'choice', of: ['record', 'rules', 'counters', 'token', 'webhook', 'ledger'] }),
          table: nullable(WORDS),
          id: nullable(WORDS),
          before: needed(ANY),
          after: needed(ANY),
        }),
      ),
    ),
    affected_customers: nullable(WHOLE, 'null: not known'),
    traffic: needed(list(TRAFFIC), 'requests that were made, had the change been in force'),
    traffic_unknown: nullable(
      WORDS,
      'why there is no traffic to compare with, as a sentence; null: there is, or the change is not about requests',
    ),
    notes: needed(list(WORDS)),
    ...IN_FORCE_FIELDS,
  }),
)

/** previewReply says what changes would do. */
export async function previewReply(
  preview: Preview | undefined,
  { changes, inForce = NOWHERE }: Pick<Change, 'changes' | 'inForce'>,
): Promise<Reply> {
  const outcome = await preview?.preview(changes)
  return {
    body: { dry_run: true, changes: changes.map(changeJson), ...outcomeJson(outcome), ...inForceJson(inForce) },
  }
}

function outcomeJson(outcome: PreviewOutcome | undefined) {
  const { affectedCustomers, traffic = [], trafficUnknown, notes = [] } = outcome ?? {}
  return {
    affected_customers: orNull(affectedCustomers),
    traffic: traffic.map(periodJson),
    traffic_unknown: orNull(trafficUnknown),
    notes,
  }
}

function periodJson({ kind, fromMs, toMs, limits, limitsLeftOut }: TrafficPeriod) {
  return {
    period: kind,
    from: timeText(fromMs),
    to: timeText(toMs),
    limits: limits.map(({ domain, ruleId, requests, refused, refusedAfter, why }) => ({
      domain,
      rule_id: ruleId,
      requests: orNull(requests),
      refused: orNull(refused),
      refused_after:
        refusedAfter === undefined ? null : { at_least: refusedAfter.atLeast, at_most: refusedAfter.atMost },
      why: orNull(why),
    })),
    limits_left_out: limitsLeftOut,
  }
}

function changeJson(change: ProposedChange) {
  const blank = { kind: change.kind, table: null, id: null, before: null, after: null }
  if (change.kind === 'rules') return { ...blank, after: change.text }
  if (change.kind === 'counters') return { ...blank, before: change.target }
  if (change.kind === 'token' || change.kind === 'ledger')
    return { ...blank, before: change.before ?? null, after: change.after ?? null }
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
