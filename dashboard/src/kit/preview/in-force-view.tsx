import type { LimitsRemoved, RuleInForce } from '../../api/operations.ts'
import { wholeCount } from '../../format/count.ts'
import { Badge, Notice } from '../../ui/parts.tsx'
import { EFFECT_WORDS, plainText } from './in-force-words.ts'

/** InForceView lists the rules that a change would be in force on, or warns that there are none. */
export function InForceView({ in_force_on: rules, in_force_on_total: total, warnings }: LimitsRemoved) {
  return (
    <>
      {rules.length > 0 && (
        <div class="changes">
          <h3>In force on</h3>
          <div class="table-box" role="region" aria-label="Rules that it is in force on" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Rule</th>
                  <th scope="col">Limit before</th>
                  <th scope="col">After</th>
                </tr>
              </thead>
              <tbody>
                {rules.map((each) => (
                  <Row key={JSON.stringify(each)} {...each} />
                ))}
              </tbody>
            </table>
          </div>
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

function Row({ domain, rule, before, after, effect }: RuleInForce) {
  return (
    <tr>
      <td class="break">
        <span class="faint">{domain}/</span>
        {rule}
      </td>
      <td>{plainText(before)}</td>
      <td>
        {plainText(after)} <Badge tone={effect === 'lowered' ? 'warn' : 'plain'}>{EFFECT_WORDS[effect]}</Badge>
      </td>
    </tr>
  )
}
