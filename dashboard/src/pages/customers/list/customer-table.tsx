import type { ComponentChildren } from 'preact'
import type { Customer } from '../../../api/operations.ts'
import { type Column, RecordList } from '../../../kit/record-list.tsx'
import type { Pages } from '../../../kit/use-pages.ts'
import { customerHref } from '../../../state/links.ts'
import { Badge, Time } from '../../../ui/parts.tsx'
import { StatusBadge, TierBadge } from '../cards/badges.tsx'
import type { CustomerFlags } from '../data/customer-flags.ts'

interface CustomerTableProps {
  readonly list: Pages<Customer>
  readonly flags: (customerId: string) => CustomerFlags
  readonly empty: ComponentChildren
}

export function CustomerTable({ list, flags, empty }: CustomerTableProps) {
  const columns: Column<Customer>[] = [
    { title: 'Customer', cell: (customer) => <Name customer={customer} /> },
    { title: 'Tier', isTight: true, cell: ({ tier }) => <TierBadge tier={tier} /> },
    {
      title: 'Status',
      isTight: true,
      cell: ({ id, status }) => <StatusBadge status={status} isBlocked={flags(id).isBlocked} />,
    },
    {
      title: 'Limits now',
      isTight: true,
      cell: ({ id }) => (
        <span class="fullness">
          <Fullness share={flags(id).fullest} />
        </span>
      ),
    },
    { title: 'Since', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'Last change', isTight: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ]
  return (
    <RecordList
      label="Customers"
      columns={columns}
      list={list}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => customerHref(id)}
      empty={empty}
    />
  )
}

function Name({ customer: { id, name } }: { readonly customer: Customer }) {
  return (
    <a class="customer-name" href={customerHref(id)}>
      <span class="clip">{name}</span>
      <span class="clip mono faint">{id}</span>
    </a>
  )
}

function Fullness({ share }: { readonly share: number | undefined }) {
  if (share === undefined) return <span class="faint">–</span>
  return share >= 1 ? (
    <Badge tone="bad" hasDot>
      Exhausted
    </Badge>
  ) : (
    <Badge tone="warn" hasDot>
      {Math.floor(share * 100)} % used
    </Badge>
  )
}
