import type { RuleSwitch } from '../../quotas/model.ts'
import {
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  pageOf,
  REASON,
  RULE_NAME,
  text,
} from '../../records/forms.ts'
import { switches, switchId } from '../../records/tables.ts'
import { type Call, operation } from '../api/operation.ts'
import { RECORDS, RULES } from '../api/parts.ts'
import { creation, listRecords, removal, replacement } from '../api/records.ts'
import { invalid, unknownRecord } from '../api/values.ts'

const MODE = { kind: 'choice', of: ['off', 'shadow', 'enforce'] } as const

type RuleName = { readonly domain: string; readonly id: string }

/** requireRule throws for a rule that is not in force: a typo would be a switch that does nothing, at the worst moment. */
function requireRule({ parts }: Pick<Call, 'parts'>, { domain, id }: RuleName): void {
  const found = parts.get(RULES)().domains.get(domain)
  if (found === undefined) throw unknownRecord('rules', `${domain}/${id}`)
  const pending = [found.root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const rules = [...node.rules, ...[...(node.tiers?.values() ?? [])].flatMap((set) => set.rules)]
    if (rules.some((rule) => rule.id === id)) return
    for (const set of node.tiers?.values() ?? []) pending.push(set)
    for (const { exact, blocks, wildcards, any } of node.branches.values()) {
      pending.push(...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? []))
      if (any !== undefined) pending.push(any)
    }
  }
  throw unknownRecord('rules', `${domain}/${id}`)
}

export const SWITCH_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listSwitches',
    method: 'GET',
    path: '/rules/switches',
    tag: 'rules',
    role: 'viewer',
    summary: 'rules that were switched off, to shadow, or on',
    isPaged: true,
    answer: { status: 200, schema: pageOf(switches.answer) },
    run: (call) => listRecords(call, 'switches', {}),
  }),
  operation({
    kind: 'change',
    id: 'putSwitch',
    method: 'PUT',
    path: '/rules/switches',
    tag: 'rules',
    role: 'operator',
    summary: 'switch one rule, or all, at once and on every node: off, shadow (report, never refuse) or enforce',
    body: named(
      'NewSwitch',
      object({ rule: nullable(RULE_NAME, 'null: every rule'), mode: needed(MODE), reason: optional(REASON) }),
    ),
    ifMatch: 'optional',
    answer: { status: 200, schema: switches.answer, etag: true },
    errors: ['RECORD_UNKNOWN', 'VERSION_STALE'],
    plan: async (call) => {
      const { rule: given, mode, reason } = call.body
      const rule = given ?? undefined
      if (rule !== undefined) requireRule(call, rule)
      const target = { table: 'switches', id: switchId(rule) } as const
      const before = await call.parts.get(RECORDS).get('switches', target.id)
      const record: RuleSwitch = {
        rule,
        mode,
        reason: reason ?? undefined,
        version: before?.version ?? 0,
        updatedAtMs: call.nowMs,
      }
      return before === undefined ? creation(call, target, record) : replacement(call, target, () => record)
    },
  }),
  operation({
    kind: 'change',
    id: 'removeSwitch',
    method: 'DELETE',
    path: '/rules/switches',
    tag: 'rules',
    role: 'operator',
    summary: 'remove a switch: the rules say again what happens',
    query: {
      domain: { schema: text(256), doc: 'the domain of the rule; left out with rule: the switch of all rules' },
      rule: { schema: text(4_096), doc: 'the id of the rule' },
    },
    ifMatch: 'optional',
    answer: { status: 204 },
    errors: ['RECORD_UNKNOWN', 'VERSION_STALE'],
    plan: (call) => {
      const { domain, rule: id } = call.query
      if ((domain === undefined) !== (id === undefined)) throw invalid('query', 'domain and rule are given together')
      const rule = domain === undefined || id === undefined ? undefined : { domain, id }
      return removal(call, { table: 'switches', id: switchId(rule) })
    },
  }),
]
