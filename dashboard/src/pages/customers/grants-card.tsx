import type { Grant } from '../../api/operations.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Count, State } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { leftOf, scopeOf, titleOf } from './limits.ts'
import { Made } from './made.tsx'
import type { Open } from './opened.ts'
import { Span } from './overrides-card.tsx'
import type { Author } from './timeline.ts'
import type { CustomerData } from './use-customer.ts'

interface RecordsProps {
  readonly data: CustomerData
  readonly authors: ReadonlyMap<string, Author>
  readonly onOpen: Open
}

/** GrantsCard lists extra budget, and what is left of it. */
export function GrantsCard({ data, authors, onOpen }: RecordsProps) {
  const { data: rows, problem, reload } = data.grants
  const columns: Column<Grant>[] = [
    {
      title: 'For',
      cell: (each) => (
        <span class="stack record-name break" id={`grant-${each.id}`}>
          {titleOf(each)}
        </span>
      ),
    },
    { title: 'Left', align: 'right', cell: (each) => <Left left={leftOf(data.limits.data ?? [], each.id)} /> },
    { title: 'Of', align: 'right', cell: ({ amount }) => <Count of={amount} /> },
    { title: 'Ends', isTight: true, cell: (each) => <Span {...each} /> },
    { title: 'Made by', cell: (each) => <Made record={each} author={authors.get(each.id)} /> },
    {
      title: 'Remove',
      isTitleHidden: true,
      isTight: true,
      cell: (grant) =>
        may('operator') && (
          <Button
            isSmall
            kind="quiet"
            icon="trash"
            label={`Take back the grant of ${grant.amount.toLocaleString()} for ${scopeOf(grant)}`}
            onClick={() => onOpen({ kind: 'remove-grant', grant })}
          />
        ),
    },
  ]
  return (
    <Card title="Grants" span="half" isFlush>
      <Table
        label="Grants"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        problem={problem}
        reload={reload}
        empty={<State icon="gift" title="No extra budget was granted" />}
      />
    </Card>
  )
}

function Left({ left }: { readonly left: number | undefined }) {
  return left === undefined ? <span class="faint">–</span> : <Count of={left} />
}
