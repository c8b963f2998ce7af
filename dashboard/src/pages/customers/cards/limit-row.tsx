import type { LimitState } from '../../../api/operations.ts'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Badge, Count, Meter, Name, Time } from '../../../ui/parts.tsx'
import { resetLimit } from '../changes/customer-changes.tsx'
import { raiseLimit } from '../changes/raise-limit.tsx'
import { budgetOf, entriesOf, isExhausted, rateText, scopeOf, spokenOf, titleOf } from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'
import { LimitOrigin } from './limit-origin.tsx'

interface LimitRowProps {
  readonly limit: LimitState
  readonly data: CustomerData
}

/** LimitRow shows one limit: its bar, what remains, when it resets, where its number comes from, and its changes. */
export function LimitRow({ limit, data }: LimitRowProps) {
  const isOver = isExhausted(limit)
  const isGrant = limit.source.kind === 'grant'
  return (
    <li class={isOver ? 'limit exhausted' : 'limit'}>
      <div class="limit-name">
        <Name of={titleOf(limit)} />
        <span class="small faint break">
          {isGrant ? 'once' : `${rateText(limit.limit, limit.unit, limit.window_ms)} · ${limit.domain}`}
          {limit.time_zone !== null && ` · days of ${limit.time_zone}`}
        </span>
      </div>
      <Use limit={limit} isOver={isOver} />
      <div class="limit-reset small soft">
        <Ends limit={limit} data={data} />
      </div>
      <div class="limit-origin small soft">
        <LimitOrigin limit={limit} data={data} />
      </div>
      <div class="limit-actions row">
        {may('operator') && !isGrant && !limit.is_pattern && (
          <>
            {entriesOf(limit, data.customer.id) && (
              <Button
                isSmall
                kind="quiet"
                icon="reset"
                label={`Reset the counter of ${scopeOf(limit)}`}
                onClick={() => resetLimit(data, limit)}
              />
            )}
            <Button
              isSmall
              icon="up"
              label={`Raise the limit of ${spokenOf(limit)}`}
              onClick={() => raiseLimit(data, limit)}
            >
              Raise
            </Button>
          </>
        )}
      </div>
    </li>
  )
}

function Use({ limit, isOver }: { readonly limit: LimitState; readonly isOver: boolean }) {
  const budget = budgetOf(limit)
  if (limit.is_pattern) return <div class="limit-use small faint">Each value is counted separately</div>
  if (!limit.is_use_known) {
    return (
      <div class="limit-use small faint" title="This node has seen no request with this key since it started.">
        Usage is not known on this node
      </div>
    )
  }
  return (
    <div class="limit-use">
      <Meter used={limit.used} limit={budget} label={`Used: ${spokenOf(limit)}`} />
      <div class="row apart small">
        <span class="num">
          <Count of={limit.used} /> of <Count of={budget} />
        </span>
        {isOver ? (
          <Badge tone="bad">Exhausted</Badge>
        ) : (
          <span class="soft num">
            <Count of={limit.remaining} /> left
          </span>
        )}
      </div>
    </div>
  )
}

function Ends({ limit, data }: { readonly limit: LimitState; readonly data: CustomerData }) {
  if (limit.source.kind === 'grant') {
    const grant = data.grants.data?.find(({ id }) => id === limit.source.id)
    return grant?.expires_at ? (
      <>
        ends <Time at={grant.expires_at} />
      </>
    ) : (
      <>no end</>
    )
  }
  if (limit.is_pattern || !limit.is_use_known) return null
  if (limit.used === 0) return <>unused</>
  return (
    <>
      resets <Time at={limit.resets_at} zone={limit.time_zone} />
    </>
  )
}
