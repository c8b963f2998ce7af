import type { AuditEntry } from '../../quotas/audit/audit-log.ts'
import { AUDIT_KINDS } from '../../quotas/model.ts'
import {
  ANY,
  ID,
  list,
  named,
  needed,
  orNull as nullable,
  object,
  pageOf,
  TIME,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { csvOf } from '../api/csv.ts'
import { operation } from '../api/operation.ts'
import { AUDIT } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, pageReply } from '../api/records.ts'
import { orNull, timeOf, timeText } from '../api/values.ts'

export const ENTRY = named(
  'AuditEntry',
  object({
    sequence: needed(WHOLE),
    at: needed(TIME),
    actor: needed(object({ id: needed(WORDS), name: needed(WORDS), address: nullable(WORDS) })),
    reason: nullable(WORDS),
    action: needed(WORDS),
    target: needed(object({ kind: needed(WORDS), id: needed(WORDS) })),
    customer_id: nullable(WORDS),
    before: needed(ANY),
    after: needed(ANY),
    hash: needed(WORDS),
  }),
)

/** Returns an entry as JSON. */
export function entryJson({ sequence, atMs, actor, action, target, customerId, before, after, hash }: AuditEntry) {
  return {
    sequence,
    at: timeText(atMs),
    actor: { id: actor.id, name: actor.name, address: orNull(actor.address) },
    reason: orNull(actor.reason),
    action,
    target,
    customer_id: orNull(customerId),
    before: before ?? null,
    after: after ?? null,
    hash,
  }
}

const COLUMNS = [
  'sequence',
  'at',
  'actor',
  'address',
  'reason',
  'action',
  'kind',
  'id',
  'customer_id',
  'before',
  'after',
  'hash',
]

function csvRow(entry: AuditEntry) {
  const { actor, target, ...json } = entryJson(entry)
  return { ...json, actor: actor.name, address: actor.address, kind: target.kind, id: target.id }
}

export const AUDIT_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    role: 'viewer',
    summary: 'every change, the newest first: who, when, what, before, after, why and from where',
    query: {
      actor: { schema: text(128), doc: 'changes of a token, by its id or its name' },
      action: { schema: text(64), doc: 'such as customers.put' },
      kind: { schema: { kind: 'choice', of: AUDIT_KINDS }, doc: 'changes of one kind of record' },
      target: { schema: text(512), doc: 'changes of one record, by its id' },
      customer_id: { schema: ID, doc: 'changes that concern a customer' },
      up_to: {
        schema: { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER },
        doc: 'not after this entry, by its sequence',
      },
      from: { schema: text(40), doc: 'not before this time' },
      to: { schema: text(40), doc: 'before this time' },
      format: {
        schema: { kind: 'choice', of: ['json', 'csv', 'jsonl'] },
        doc: 'json by default; pages of csv and jsonl name the next in the header Sluice-Next-Cursor',
      },
    },
    isPaged: true,
    answer: { status: 200, schema: pageOf(ENTRY), types: ['text/csv', 'application/jsonl'] },
    run: async (call) => {
      const {
        actor,
        action,
        kind,
        target,
        customer_id: customerId,
        up_to: upTo,
        from,
        to,
        format = 'json',
      } = call.query
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(AUDIT).list({
        actor,
        action,
        kinds: kind && [kind],
        target,
        upTo,
        customerId,
        fromMs: timeOf(from, 'query.from'),
        toMs: timeOf(to, 'query.to'),
        after: call.cursor.after,
        limit,
      })
      if (format === 'json') return pageReply(call, page, entryJson)
      const isCsv = format === 'csv'
      const next = call.cursor.next(page.next)
      return {
        headers: { ...downloadAs(`audit.${format}`), ...(next !== null && { 'Sluice-Next-Cursor': next }) },
        text: isCsv
          ? { type: 'text/csv; charset=utf-8', text: csvOf(COLUMNS, page.items.map(csvRow)) }
          : {
              type: 'application/jsonl',
              text: page.items.map((each) => `${JSON.stringify(entryJson(each))}\n`).join(''),
            },
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'verifyAudit',
    method: 'GET',
    path: '/audit/verify',
    tag: 'audit',
    role: 'viewer',
    summary: 'whether the chain of entries is whole',
    answer: {
      status: 200,
      schema: object({
        ok: needed(YES_OR_NO),
        entries: needed(WHOLE),
        head: nullable(WORDS),
        broken: nullable(object({ sequence: needed(WHOLE), reason: needed(WORDS) })),
        anchors: needed(
          list(WORDS),
          'what outside of the database the end was compared with; with none, an older copy of the whole log looks whole',
        ),
        unread: needed(
          list(object({ anchor: needed(WORDS), reason: needed(WORDS) })),
          'what it was not compared with, and why: it knows no entry yet, or cannot be read',
        ),
      }),
    },
    run: async (call) => {
      const { ok, entries, head, broken, anchors, unread } = await call.parts.get(AUDIT).verify()
      return {
        body: { ok, entries, head: orNull(head), broken: orNull(broken), anchors: [...anchors], unread: [...unread] },
      }
    },
  }),
]

/** downloadAs has browsers keep an answer as a file. */
export function downloadAs(name: string): Record<string, string> {
  return { 'Content-Disposition': `attachment; filename="sluice-${name}"` }
}
