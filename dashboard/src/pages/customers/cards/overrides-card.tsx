import type { Override } from '../../../api/operations.ts'
import { actionColumn, type Column, RecordList } from '../../../kit/record-list.tsx'
import { Card, State } from '../../../ui/parts.tsx'
import { removeOverride } from '../changes/customer-changes.tsx'
import { forText, rateText, scopeOf, titleOf } from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'
import { CreatedBy, Span } from './created-by.tsx'

/** OverridesCard lists the limits that were changed for the customer or for one of its keys. */
export function OverridesCard({ data }: { readonly data: CustomerData }) {
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
    { title: 'Created by', cell: (each) => <CreatedBy record={each} author={data.authors.get(each.id)} /> },
    actionColumn({
      title: 'Remove',
      icon: 'trash',
      label: (each) => `Remove the override of ${rateText(each.requests_per_unit, each.unit, 0)} for ${scopeOf(each)}`,
      run: (override) => removeOverride(data, override),
    }),
  ]
  return (
    <Card title="Overrides" span="half" isFlush>
      <RecordList
        label="Overrides"
        columns={columns}
        list={data.overrides}
        keyOf={({ id }) => id}
        empty={<State icon="up" title="No limit was changed for this customer" />}
      />
    </Card>
  )
}
