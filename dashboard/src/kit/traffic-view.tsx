import type { LimitTraffic, TrafficPeriod } from '../api/operations.ts'
import { wholeCount } from '../format/count.ts'
import { Name } from '../ui/parts.tsx'
import { type Column, RecordList } from './record-list.tsx'
import { afterText, periodTitle, reasonsOf } from './traffic-words.ts'

/** TrafficView compares requests that were made with what would have become of them. */
export function TrafficView({ traffic }: { readonly traffic: readonly TrafficPeriod[] }) {
  if (traffic.length === 0) return null
  const isAnswered = traffic.some(({ limits }) => limits.length > 0)
  return (
    <div class="stack close">
      {traffic.map((period) => (
        <Period key={period.period} period={period} />
      ))}
      {isAnswered && (
        <p class="small faint">As if the change had been in force from the beginning, with the same requests.</p>
      )}
    </div>
  )
}

function Period({ period }: { readonly period: TrafficPeriod }) {
  const { limits, limits_left_out: left } = period
  const title = periodTitle(period)
  if (limits.length === 0) {
    return <p class="small soft">{title}: no request that this would change.</p>
  }
  return (
    <div class="changes">
      <h3>{title}</h3>
      <RecordList
        label={`Requests: ${title}`}
        columns={COLUMNS}
        list={{ data: limits }}
        keyOf={({ domain, rule_id }) => `${domain}/${rule_id}`}
        empty={null}
      />
      {left > 0 && <p class="small soft">And {wholeCount(left)} more limits with fewer requests.</p>}
      {reasonsOf(limits).map((reason) => (
        <p key={reason} class="small soft">
          {reason}
        </p>
      ))}
    </div>
  )
}

const known = (count: number | null): string => (count === null ? 'unknown' : wholeCount(count))

const COLUMNS: readonly Column<LimitTraffic>[] = [
  { title: 'Limit', cell: ({ domain, rule_id }) => <Name of={`${domain}/${rule_id}`} /> },
  { title: 'Requests', align: 'right', cell: ({ requests }) => known(requests) },
  { title: 'Refused', align: 'right', cell: ({ refused }) => known(refused) },
  { title: 'Refused after', align: 'right', cell: (limit) => <strong>{afterText(limit)}</strong> },
]
