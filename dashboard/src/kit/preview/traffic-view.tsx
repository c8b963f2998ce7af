import type { LimitTraffic, TrafficPeriod } from '../../api/operations.ts'
import { wholeCount } from '../../format/count.ts'
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
      <div class="table-box" role="region" aria-label={`Requests: ${title}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Limit</th>
              <th scope="col" class="right">
                Requests
              </th>
              <th scope="col" class="right">
                Refused
              </th>
              <th scope="col" class="right">
                Refused after
              </th>
            </tr>
          </thead>
          <tbody>
            {limits.map((limit) => (
              <Row key={`${limit.domain}/${limit.rule_id}`} limit={limit} />
            ))}
          </tbody>
        </table>
      </div>
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

function Row({ limit }: { readonly limit: LimitTraffic }) {
  return (
    <tr>
      <td class="break">
        {limit.domain}/{limit.rule_id}
      </td>
      <td class="right num">{known(limit.requests)}</td>
      <td class="right num">{known(limit.refused)}</td>
      <td class="right num">
        <strong>{afterText(limit)}</strong>
      </td>
    </tr>
  )
}
