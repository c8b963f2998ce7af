import type { Override } from '../../api/operations.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { forText, rateText, scopeOf, titleOf } from './limits.ts'
import { Made } from './made.tsx'
import { isInForce } from './marks.ts'
import type { Open } from './opened.ts'
import type { Author } from './timeline.ts'
import type { CustomerData } from './use-customer.ts'

interface RecordsProps {
  readonly data: CustomerData
  readonly authors: ReadonlyMap<string, Author>
  readonly onOpen: Open
}

/** OverridesCard lists the limits of the customer's own. */
export function OverridesCard({ data, authors, onOpen }: RecordsProps) {
  const { data: rows, problem, reload } = data.overrides
  const prefixOf = (keyId: string): string => data.keys.data?.find(({ id }) => id === keyId)?.prefix ?? keyId
  const columns: Column<Override>[] = [
    {
      title: 'For',
      cell: (each) => (
        <span class="stack none record-name" id={`override-${each.id}`}>
          <span class="break">{titleOf(each)}</span>
          <span class="faint break">{forText(each)}</span>
          <span class="faint">{each.api_key_id === null ? 'all keys' : `key ${prefixOf(each.api_key_id)}…`}</span>
        </span>
      ),
    },
    { title: 'Limit', align: 'right', cell: (each) => rateText(each.requests_per_unit, each.unit, 0) },
    { title: 'Ends', isTight: true, cell: (each) => <Span {...each} /> },
    { title: 'Made by', cell: (each) => <Made record={each} author={authors.get(each.id)} /> },
    {
      title: 'Remove',
      isTitleHidden: true,
      isTight: true,
      cell: (override) =>
        may('operator') && (
          <Button
            isSmall
            kind="quiet"
            icon="trash"
            label={`Remove the override of ${rateText(override.requests_per_unit, override.unit, 0)} for ${scopeOf(override)}`}
            onClick={() => onOpen({ kind: 'remove-override', override })}
          />
        ),
    },
  ]
  return (
    <Card title="Overrides" span="half" isFlush>
      <Table
        label="Overrides"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        problem={problem}
        reload={reload}
        empty={<State icon="up" title="No limit was changed for this customer" />}
      />
    </Card>
  )
}

/** Span says when something ends, and that it has not begun or is over. */
export function Span(record: { readonly effective_at: string; readonly expires_at: string | null }) {
  const nowMs = Date.now()
  if (Date.parse(record.effective_at) > nowMs) {
    return (
      <>
        begins <Time at={record.effective_at} />
      </>
    )
  }
  return isInForce(record, nowMs) ? <Time at={record.expires_at} none="no end" /> : <Badge>Ended</Badge>
}
