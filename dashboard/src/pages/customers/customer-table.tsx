import type { ComponentChildren } from 'preact'
import type { Customer } from '../../api/operations.ts'
import type { Pages } from '../../api/pages.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Notice, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { StatusBadge, TierBadge } from './badges.tsx'
import { customerAddress } from './customer-address.ts'
import type { Marks } from './marks.ts'

interface CustomerTableProps {
  readonly list: Pages<Customer>
  readonly marks: (customerId: string) => Marks
  readonly empty: ComponentChildren
}

export function CustomerTable({ list, marks, empty }: CustomerTableProps) {
  const { items, problem, hasMore, isLoadingMore, isOld, more, reload } = list
  const columns: Column<Customer>[] = [
    { title: 'Customer', cell: (customer) => <Name customer={customer} /> },
    { title: 'Tier', isTight: true, cell: ({ tier }) => <TierBadge tier={tier} /> },
    {
      title: 'Status',
      isTight: true,
      cell: ({ id, status }) => <StatusBadge status={status} isBlocked={marks(id).isBlocked} />,
    },
    {
      title: 'Limits now',
      isTight: true,
      cell: ({ id }) => (
        <span class="fullness">
          <Fullness share={marks(id).fullest} />
        </span>
      ),
    },
    { title: 'Since', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'Last change', isTight: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ]
  return (
    <div class={isOld ? 'customer-list old' : 'customer-list'} aria-busy={isOld}>
      <Table
        label="Customers"
        columns={columns}
        rows={items}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => customerAddress(id)}
        problem={problem}
        reload={reload}
        empty={empty}
      />
      {problem && items !== undefined && <Notice tone="bad">{problem.message}</Notice>}
      {hasMore && (
        <div class="more">
          <Button isDisabled={isLoadingMore} onClick={more}>
            Show more
          </Button>
        </div>
      )}
    </div>
  )
}

function Name({ customer: { id, name } }: { readonly customer: Customer }) {
  return (
    <a class="customer-name" href={customerAddress(id)}>
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
