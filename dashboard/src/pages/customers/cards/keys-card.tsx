import type { ApiKey } from '../../../api/operations.ts'
import { actionColumn, type Column, RecordList } from '../../../kit/record-list.tsx'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Badge, Card, State, Time } from '../../../ui/parts.tsx'
import { addKey, revokeKey } from '../changes/customer-changes.tsx'
import type { CustomerData } from '../data/use-customer.ts'
import { TierBadge } from './badges.tsx'

/** KeysCard lists the API keys: their first characters, never more. */
export function KeysCard({ data }: { readonly data: CustomerData }) {
  const { keys } = data
  const columns: Column<ApiKey>[] = [
    {
      title: 'Key',
      cell: ({ prefix, name }) => (
        <span class="stack none">
          <code>{prefix}…</code>
          <span class="faint break">{name}</span>
        </span>
      ),
    },
    { title: 'Tier', isTight: true, cell: ({ tier }) => <TierBadge tier={tier} /> },
    { title: 'Added', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'Status', isTight: true, cell: ({ revoked_at }) => <KeyStatus revokedAt={revoked_at} /> },
    actionColumn({
      title: 'Revoke',
      icon: 'trash',
      label: ({ prefix, name }) => `Revoke key ${prefix}… ${name}`.trim(),
      isOffered: ({ revoked_at }) => revoked_at === null,
      run: (key) => revokeKey(data, key),
    }),
  ]
  const add = may('operator') && (
    <Button isSmall icon="plus" onClick={() => addKey(data)}>
      Add key
    </Button>
  )
  return (
    <Card title="API keys" span="half" isFlush actions={add}>
      <RecordList
        label="API keys"
        columns={columns}
        list={{ ...keys, data: keys.data && inOrder(keys.data) }}
        keyOf={({ id }) => id}
        empty={
          <State icon="tokens" title="No keys yet">
            A request with a key belongs to this customer, and has its limits.
          </State>
        }
      />
    </Card>
  )
}

function KeyStatus({ revokedAt }: { readonly revokedAt: string | null }) {
  if (revokedAt === null) return <Badge tone="good">Active</Badge>
  return (
    <span class="faint">
      revoked <Time at={revokedAt} />
    </span>
  )
}

/** Keys in use come first, then the revoked ones; the newest of each first. */
function inOrder(keys: readonly ApiKey[]): readonly ApiKey[] {
  const rank = ({ revoked_at }: ApiKey): number => (revoked_at === null ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b) || Date.parse(b.created_at) - Date.parse(a.created_at))
}
