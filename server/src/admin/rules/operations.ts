import type { RuleVersion } from '../../quotas/tables/rule-table.ts'
import {
  list,
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  pageOf,
  TIME,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { type Call, operation } from '../api/operation.ts'
import { RULE_TABLE, RULES } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, pageReply, requireVersion } from '../api/records.ts'
import { orNull, timeText, unknownRecord } from '../api/values.ts'
import { DRAFT, draftOf, LIMIT_CHANGE } from './limit-draft.ts'
import { MAX_NODES, RULE_TREE, ruleTree } from './rule-tree.ts'
import { wantedRules } from './wanted-rules.ts'

const MAX_RULE_BYTES = 1_048_576

const VERSION_FIELDS = {
  version: needed(WHOLE),
  is_active: needed(YES_OR_NO),
  created_at: needed(TIME),
  by: needed(WORDS),
  comment: nullable(WORDS),
  limits: needed(WHOLE),
  domains: needed(list(WORDS)),
} as const

const RULE_VERSION = named('RuleVersion', object(VERSION_FIELDS))
const RULE_TEXT = named('RuleText', object({ ...VERSION_FIELDS, text: needed(WORDS, 'YAML') }))

function versionJson({ version, isActive, createdAtMs, by, comment, limits, domains }: RuleVersion) {
  return {
    version,
    is_active: isActive,
    created_at: timeText(createdAtMs),
    by,
    comment: orNull(comment),
    limits,
    domains,
  }
}

const VERSION_PARAM = { version: { schema: { kind: 'integer', min: 1 }, doc: 'the number of a version' } } as const

/** seenActive is the active version, held to what the caller has seen. */
async function seenActive(call: Pick<Call, 'parts' | 'version'>): Promise<void> {
  const active = await call.parts.get(RULE_TABLE).read()
  requireVersion(call, active?.version ?? 0)
}

async function readVersion(call: Pick<Call, 'parts'>, version: number | undefined) {
  const found = await call.parts.get(RULE_TABLE).read(version)
  if (found === undefined) throw unknownRecord('rules', String(version ?? 'active'))
  return found
}

export const RULE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readRuleTree',
    method: 'GET',
    path: '/rules',
    tag: 'rules',
    role: 'viewer',
    summary: 'all rules in force, of files and of the API, as the service understands them',
    query: {
      domain: { schema: text(256), doc: 'one domain only' },
      text: {
        schema: text(200),
        doc: 'only patterns with these words in their path, domain, tier, name or description',
      },
      only: {
        schema: { kind: 'choice', of: ['shadow', 'refusing'] },
        doc: 'only rules that report alone now, or that refused (or would have) in the last minute or hour',
      },
      span: { schema: { kind: 'choice', of: ['minute', 'hour'] }, doc: 'of `only=refusing`; minute by default' },
      skip: { schema: WHOLE, doc: 'how many patterns to pass over; 0 by default' },
      limit: {
        schema: { kind: 'integer', min: 1, max: MAX_NODES },
        doc: `how many patterns at most; ${MAX_NODES} by default`,
      },
    },
    answer: { status: 200, schema: RULE_TREE },
    run: async ({ parts, query }) => {
      const { domain, text: words = '', only, span = 'minute', skip = 0, limit = MAX_NODES } = query
      const isWanted = only && (await wantedRules(parts, only, span))
      const asked = { domain, text: words, skip, limit, ...(isWanted && { isWanted }) }
      return { body: await ruleTree(parts.get(RULES)(), asked) }
    },
  }),
  operation({
    kind: 'look',
    id: 'readActiveRules',
    method: 'GET',
    path: '/rules/active',
    tag: 'rules',
    role: 'viewer',
    summary: 'the rules that were put through the API, as YAML',
    answer: { status: 200, schema: RULE_TEXT, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const found = await readVersion(call, undefined)
      return { body: { ...versionJson(found), text: found.text }, version: found.version }
    },
  }),
  operation({
    kind: 'change',
    id: 'putRules',
    method: 'PUT',
    path: '/rules/active',
    tag: 'rules',
    role: 'admin',
    summary: 'put rules in force as a new version; with dry_run they are only checked',
    body: named(
      'NewRules',
      object({ text: needed({ kind: 'text', min: 1 }, 'YAML, as in a rule file'), comment: optional(text(500)) }),
    ),
    maxBodyBytes: MAX_RULE_BYTES,
    ifMatch: 'required',
    answer: { status: 200, schema: RULE_VERSION, etag: true },
    errors: ['RULE_INVALID'],
    plan: async (call) => {
      const table = call.parts.get(RULE_TABLE)
      const { text: yaml, comment } = call.body
      await seenActive(call)
      const checked = await table.check(yaml)
      return {
        changes: [{ kind: 'rules', text: yaml }],
        commit: async () => {
          const by = { ...call.by, reason: comment ?? call.by.reason }
          const made = await table.put(checked, { by, comment: comment ?? undefined, version: call.version })
          return { body: versionJson(made), version: made.version }
        },
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'listRuleVersions',
    method: 'GET',
    path: '/rules/versions',
    tag: 'rules',
    role: 'viewer',
    summary: 'all versions, the newest first',
    isPaged: true,
    answer: { status: 200, schema: pageOf(RULE_VERSION) },
    run: async (call) => {
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(RULE_TABLE).versions({ after: call.cursor.after, limit })
      return pageReply(call, page, versionJson)
    },
  }),
  operation({
    kind: 'look',
    id: 'readRuleVersion',
    method: 'GET',
    path: '/rules/versions/{version}',
    tag: 'rules',
    role: 'viewer',
    summary: 'one version, with its text',
    params: VERSION_PARAM,
    answer: { status: 200, schema: RULE_TEXT, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const found = await readVersion(call, call.params.version)
      return { body: { ...versionJson(found), text: found.text }, version: found.version }
    },
  }),
  operation({
    kind: 'change',
    id: 'rollBackRules',
    method: 'POST',
    path: '/rules/versions/{version}/activate',
    tag: 'rules',
    role: 'admin',
    summary: 'put a former version in force again, as a new version',
    params: VERSION_PARAM,
    ifMatch: 'optional',
    answer: { status: 200, schema: RULE_VERSION, etag: true },
    errors: ['RECORD_UNKNOWN', 'VERSION_STALE', 'RULE_INVALID'],
    plan: async (call) => {
      const table = call.parts.get(RULE_TABLE)
      const { text: yaml } = await readVersion(call, call.params.version)
      await seenActive(call)
      const checked = await table.check(yaml)
      return {
        changes: [{ kind: 'rules', text: yaml }],
        commit: async () => {
          const comment = `back to version ${call.params.version}`
          const putting = { by: call.by, comment, version: call.version, action: 'activate' } as const
          const made = await table.put(checked, putting)
          return { body: versionJson(made), version: made.version }
        },
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'draftLimit',
    method: 'POST',
    path: '/rules/draft',
    tag: 'rules',
    role: 'admin',
    summary: 'one limit in a text of rules, and the text with other figures in it; nothing is put in force',
    body: LIMIT_CHANGE,
    maxBodyBytes: MAX_RULE_BYTES,
    answer: { status: 200, schema: DRAFT },
    errors: ['RECORD_UNKNOWN'],
    run: async ({ body }) => ({ body: draftOf(body) }),
  }),
]
