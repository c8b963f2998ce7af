import { useState } from 'preact/hooks'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Badge, Card, Skeleton, State, Trouble } from '../../../ui/parts.tsx'
import { resetKey } from '../changes/customer-changes.tsx'
import { groupLimits, idOf, isExhausted, type LimitGroup } from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'
import { LimitRow } from './limit-row.tsx'

/** Further keys are shown on request. */
const FEW_GROUPS = 6

/** LimitsCard shows a bar for every limit of a customer. */
export function LimitsCard({ data }: { readonly data: CustomerData }) {
  const [isWhole, setWhole] = useState(false)
  const { data: limits, problem, reload } = data.limits
  const groups = groupLimits([...(limits ?? []), ...data.patterns], data.keys.data ?? [])
  const exhausted = (limits ?? []).filter(isExhausted).length
  // A key at its limit is shown, however many there are.
  const shown = isWhole ? groups : groups.filter((group, i) => i < FEW_GROUPS || group.limits.some(isExhausted))
  return (
    <Card
      isFlush
      title="Limits"
      actions={
        exhausted > 0 && (
          <Badge tone="bad" hasDot>
            {exhausted === 1 ? '1 limit is exhausted' : `${exhausted} limits are exhausted`}
          </Badge>
        )
      }
    >
      {limits === undefined && (problem === undefined ? <Skeleton /> : <Trouble problem={problem} retry={reload} />)}
      {limits !== undefined && groups.length === 0 && <NoLimits />}
      {shown.map((group) => (
        <Group key={`${group.kind} ${group.keyId}`} group={group} data={data} />
      ))}
      {shown.length < groups.length && (
        <div class="more">
          <Button onClick={() => setWhole(true)}>Show all {groups.length}</Button>
        </div>
      )}
      {data.omitted > 0 && (
        <p class="more small soft">
          {data.omitted.toLocaleString()} more descriptors of this customer may have limits. The first 1,000 are shown,
          recently used ones included.
        </p>
      )}
    </Card>
  )
}

function NoLimits() {
  return (
    <State icon="rules" title="No limit applies to this customer">
      Limits come from rules about customers and API keys. No rule is about this customer's id, and none is about a key
      that it has.
    </State>
  )
}

function Group({ group, data }: { readonly group: LimitGroup; readonly data: CustomerData }) {
  const { kind, keyId, title, limits } = group
  return (
    <section class="limit-group" aria-label={title}>
      <div class="row apart">
        <h3 class="clip">{title}</h3>
        {kind === 'key' && may('operator') && (
          <Button
            isSmall
            kind="quiet"
            icon="reset"
            title="Reset all counters of this key"
            onClick={() => resetKey(data, keyId, title)}
          >
            Reset key
          </Button>
        )}
      </div>
      <ul>
        {limits.map((limit) => (
          <LimitRow key={idOf(limit)} limit={limit} data={data} />
        ))}
      </ul>
    </section>
  )
}
