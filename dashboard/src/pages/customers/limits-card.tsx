import { useState } from 'preact/hooks'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Skeleton, State, Trouble } from '../../ui/parts.tsx'
import { LimitRow } from './limit-row.tsx'
import { groupLimits, idOf, isExhausted, type LimitGroup } from './limits.ts'
import type { Open } from './opened.ts'
import type { Author } from './timeline.ts'
import type { CustomerData } from './use-customer.ts'

/** More keys than these are shown when they are asked for. */
const FEW_GROUPS = 6

interface LimitsProps {
  readonly data: CustomerData
  readonly authors: ReadonlyMap<string, Author>
  readonly onOpen: Open
}

/** LimitsCard has a bar for every limit of a customer. */
export function LimitsCard({ data, authors, onOpen }: LimitsProps) {
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
      beside={
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
        <Group key={`${group.kind} ${group.keyId}`} group={group} {...{ data, authors, onOpen }} />
      ))}
      {shown.length < groups.length && (
        <div class="more">
          <Button onClick={() => setWhole(true)}>Show all {groups.length}</Button>
        </div>
      )}
      {data.omitted > 0 && (
        <p class="more small soft">
          {data.omitted.toLocaleString()} more descriptors of this customer may have limits. The first 1,000 were looked
          at, and what was used lately is among them.
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

function Group({ group, data, authors, onOpen }: LimitsProps & { readonly group: LimitGroup }) {
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
            onClick={() => onOpen({ kind: 'reset-key', keyId, title })}
          >
            Reset key
          </Button>
        )}
      </div>
      <ul>
        {limits.map((limit) => (
          <LimitRow key={idOf(limit)} limit={limit} data={data} authors={authors} onOpen={onOpen} />
        ))}
      </ul>
    </section>
  )
}
