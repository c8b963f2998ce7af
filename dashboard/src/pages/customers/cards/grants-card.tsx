import type { Grant } from '../../../api/operations.ts'
import { actionColumn, type Column, RecordList } from '../../../kit/record-list.tsx'
import { Card, Count, State } from '../../../ui/parts.tsx'
import { removeGrant } from '../changes/customer-changes.tsx'
import { remainingOf, scopeOf, titleOf } from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'
import { CreatedBy, Span } from './created-by.tsx'

/** GrantsCard lists extra budget, and how much of it remains. */
export function GrantsCard({ data }: { readonly data: CustomerData }) {
  const columns: Column<Grant>[] = [
    {
      title: 'For',
      cell: (each) => (
        <span class="stack record-name break" id={`grant-${each.id}`}>
          {titleOf(each)}
        </span>
      ),
    },
    { title: 'Remaining', align: 'right', cell: ({ id }) => <Count of={remainingOf(data.limits.data, id)} /> },
    { title: 'Of', align: 'right', cell: ({ amount }) => <Count of={amount} /> },
    { title: 'Ends', isTight: true, cell: (each) => <Span {...each} /> },
    { title: 'Created by', cell: (each) => <CreatedBy record={each} author={data.authors.get(each.id)} /> },
    actionColumn({
      title: 'Revoke',
      icon: 'trash',
      label: (grant) => `Revoke the grant of ${grant.amount.toLocaleString()} for ${scopeOf(grant)}`,
      run: (grant) => removeGrant(data, grant),
    }),
  ]
  return (
    <Card title="Grants" span="half" isFlush>
      <RecordList
        label="Grants"
        columns={columns}
        list={data.grants}
        keyOf={({ id }) => id}
        empty={<State icon="gift" title="No extra budget was granted" />}
      />
    </Card>
  )
}
