import { choice, type Field, optional, text } from '../../records/field.ts'
import { REASON, RULE_NAME, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { UPDATED, VERSION } from '../../records/shared-fields.ts'

const MODE = { kind: 'choice', of: ['off', 'shadow', 'enforce'] } as const

export type RuleName = { readonly domain: string; readonly id: string }

const ruleName = (): Field<RuleName | undefined> => ({
  kind: 'text',
  schema: WORDS,
  parts: {
    columns: { domain: optional(text(WORDS)) as Field, rule: optional(text(WORDS)) as Field },
    split: (rule) => (rule === undefined ? {} : { domain: rule.domain, rule: rule.id }),
    join: ({ domain, rule }) => (rule === null ? undefined : { domain: domain as string, id: rule as string }),
    answer: { schema: RULE_NAME, doc: 'null: every rule', of: (rule) => rule ?? null },
  },
})

/** A RuleSwitch changes what one rule, or all, do: immediately, on every node. */
export const switches = recordTable({
  table: 'sluice.switches',
  schemaName: 'Switch',
  fields: {
    /** Undefined: every rule of every domain. */
    rule: ruleName(),
    mode: choice(MODE, { by: 'caller' }),
    reason: optional(text(REASON, { by: 'caller' })),
    ...VERSION,
    ...UPDATED,
  },
  idOf: ({ rule }) => switchId(rule),
  filters: { domain: 'domain', mode: 'mode' },
})

/** ALL_RULES is the id of the switch of all rules. */
export const ALL_RULES = '*'

/** switchId is the id of the switch of a rule, or of all. */
export function switchId(rule: RuleName | undefined): string {
  return rule === undefined ? ALL_RULES : `${rule.domain}/${rule.id}`
}
