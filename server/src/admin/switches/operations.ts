import { rulesOf } from '../../observe/metrics/rules-of.ts'
import { orNull as nullable, RULE_NAME, text } from '../../records/forms.ts'
import { RULES } from '../api/parts.ts'
import { type RecordCall, RecordOperations } from '../api/record-operations.ts'
import { invalid, unknownRecord } from '../api/values.ts'
import { type RuleName, switchId } from './table.ts'

/** Throws for a rule that is not in force: a typo would be a switch that does nothing, at the worst moment. */
function requireRule({ parts }: RecordCall, { domain, id }: RuleName): void {
  for (const { domain: of, rule } of rulesOf(parts.get(RULES)())) if (of === domain && rule.id === id) return
  throw unknownRecord('rules', `${domain}/${id}`)
}

/** What the records of switches have in common, whether they are about a rule or a layer. */
export const SWITCHES = new RecordOperations({ table: 'switches', tag: 'rules', path: '/rules/switches', one: {} })

export const SWITCH_OPERATIONS = [
  SWITCHES.list({ id: 'listSwitches', summary: 'rules that were switched off, to shadow, or on' }),
  SWITCHES.put({
    id: 'putSwitch',
    summary: 'switch one rule, or all, immediately and on every node: off, shadow (report, never refuse) or enforce',
    form: 'NewSwitch',
    sent: { rule: nullable(RULE_NAME, 'null: every rule') },
    errors: ['RECORD_UNKNOWN', 'VERSION_STALE'],
    record: (call) => {
      const rule = (call.body.rule as RuleName | null) ?? undefined
      if (rule !== undefined) requireRule(call, rule)
      return { rule }
    },
  }),
  SWITCHES.remove({
    id: 'removeSwitch',
    summary: 'remove a switch: the rules say again what happens',
    query: {
      domain: { schema: text(256), doc: 'the domain of the rule; left out with rule: the switch of all rules' },
      rule: { schema: text(4_096), doc: 'the id of the rule' },
    },
    ifMatch: 'optional',
    errors: ['VERSION_STALE'],
    idOf: ({ domain, rule: id }) => {
      if ((domain === undefined) !== (id === undefined)) throw invalid('query', 'domain and rule are given together')
      return switchId(domain === undefined || id === undefined ? undefined : { domain, id })
    },
  }),
]
