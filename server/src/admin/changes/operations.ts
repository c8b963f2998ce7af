import { list, named, needed, object, TIME, text, WORDS } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { invalid, timeOf, timeText } from '../api/values.ts'
import { CHANGES } from './made-changes.ts'

const CHANGE = named(
  'MadeChange',
  object({
    at: needed(TIME),
    kind: needed({ kind: 'choice', of: ['rules', 'tiers', 'switches', 'overrides', 'blocks', 'rule_files'] }),
    text: needed(WORDS, 'what was changed, in words'),
    actor: needed(WORDS, 'the name of who made it; `rule files` where a file was changed'),
  }),
)

const HOUR_MS = 3_600_000
const MAX_CHANGES = 500
/** Further back, the audit log has pages. */
const MAX_SINCE_MS = 31 * 24 * HOUR_MS

export const CHANGE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listChanges',
    method: 'GET',
    path: '/changes',
    tag: 'audit',
    role: 'viewer',
    summary:
      'changes of rules, tiers, switches, overrides and blocks, and of rule files, the newest first; at most 500',
    query: { since: { schema: text(40), doc: 'not before this time; the last hour, by default' } },
    answer: { status: 200, schema: object({ since: needed(TIME), changes: needed(list(CHANGE)) }) },
    run: async ({ parts, query, nowMs }) => {
      const sinceMs = timeOf(query.since, 'query.since') ?? nowMs - HOUR_MS
      if (nowMs - sinceMs > MAX_SINCE_MS) throw invalid('query.since', 'more than 31 days ago')
      const found = await parts.get(CHANGES).since(sinceMs, MAX_CHANGES)
      const changes = found.map(({ atMs, ...change }) => ({ at: timeText(atMs), ...change }))
      return { body: { since: timeText(sinceMs), changes } }
    },
  }),
]
