import type { LimitState, OverrideFields } from '../../api/operations.ts'
import { fullTime } from '../../format/time.ts'
import { Field } from '../../ui/field.tsx'
import { type RaiseScope, rateText } from './limits.ts'

/** Step says in a line what the limit was and will be. */
export function Step({ limit, body }: { readonly limit: LimitState; readonly body: OverrideFields }) {
  const whose = body.api_key_id ? `key ${limit.api_key_prefix}…` : 'the whole customer'
  return (
    <p>
      <span class="soft">{rateText(limit.limit, limit.unit, limit.window_ms)}</span> →{' '}
      <strong>{rateText(body.requests_per_unit, body.unit, 0)}</strong> for {whose},{' '}
      {body.expires_at ? `until ${fullTime(Date.parse(body.expires_at))}` : 'without an end'}.
    </p>
  )
}

interface ScopeProps {
  readonly limit: LimitState
  readonly scopes: readonly RaiseScope[]
  readonly scope: RaiseScope
  readonly onChange: (scope: RaiseScope) => void
}

/** ScopeField asks which limits are raised: the one that was looked at, unless more are chosen. */
export function ScopeField({ limit: { domain, rule_id }, scopes, scope, onChange }: ScopeProps) {
  const texts = {
    rule: `This one: ${domain}/${rule_id}`,
    domain: `Every rule of ${domain}`,
    all: 'Every rule, also those that come later',
  }
  return (
    <Field label="Rules" hint="The preview lists what becomes of each.">
      <select value={scope} onChange={(event) => onChange(event.currentTarget.value as RaiseScope)}>
        {scopes.map((each) => (
          <option key={each} value={each}>
            {texts[each]}
          </option>
        ))}
      </select>
    </Field>
  )
}
