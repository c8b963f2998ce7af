import type { LimitsRemoved, RuleInForce } from '../api/operations.ts'
import { wholeCount } from '../format/count.ts'
import { Badge, Name, Notice } from '../ui/parts.tsx'
import { EFFECT_WORDS, plainText } from './in-force-words.ts'
import { type Column, RecordList } from './record-list.tsx'

/** InForceView lists the rules that a change would be in force on, or warns that there are none. */
export function InForceView({ in_force_on: rules, in_force_on_total: total, warnings }: LimitsRemoved) {
  return (
    <>
      {rules.length > 0 && (
        <div class="changes">
          <h3>In force on</h3>
          <RecordList
            label="Rules that it is in force on"
            columns={COLUMNS}
            list={{ data: rules }}
            keyOf={(rule) => JSON.stringify(rule)}
            empty={null}
          />
          {total > rules.length && <p class="small soft">And {wholeCount(total - rules.length)} more.</p>}
        </div>
      )}
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
    </>
  )
}

const COLUMNS: readonly Column<RuleInForce>[] = [
  {
    title: 'Rule',
    cell: ({ domain, rule, rule_name: name }) => (
      <>
        <span class="faint">
          <Name of={`${domain}/`} />
        </span>
        <Name of={name} />
        {rule !== name && (
          <div class="small faint">
            <Name of={rule} />
          </div>
        )}
      </>
    ),
  },
  { title: 'Limit before', cell: ({ before }) => plainText(before) },
  {
    title: 'After',
    cell: ({ after, effect }) => (
      <>
        {plainText(after)} <Badge tone={effect === 'lowered' ? 'warn' : 'plain'}>{EFFECT_WORDS[effect]}</Badge>
      </>
    ),
  },
]
