import type { LimitState, OverrideFields } from '../../api/operations.ts'
import { fullTime } from '../../format/time.ts'
import { Notice } from '../../ui/parts.tsx'
import { rateText } from './limits.ts'

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

/** AlsoReplaced warns of what an override changes beside the limit that somebody looked at. */
export function AlsoReplaced({ list }: { readonly list: readonly LimitState[] }) {
  if (list.length === 0) return null
  const texts = [...new Set(list.map((each) => rateText(each.limit, each.unit, each.window_ms)))]
  return (
    <Notice tone="warn">
      This also stands in for {list.length === 1 ? 'another limit' : `${list.length} other limits`} of this customer (
      {texts.slice(0, 3).join(', ')}
      {texts.length > 3 && ', …'}): each of them becomes the new limit.
    </Notice>
  )
}
