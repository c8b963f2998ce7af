import type { ApiKey } from '../../api/operations.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TierBadge } from './badges.tsx'
import type { Open } from './opened.ts'
import type { CustomerData } from './use-customer.ts'

/** KeysCard lists the API keys: their first characters, never more. */
export function KeysCard({ data, onOpen }: { readonly data: CustomerData; readonly onOpen: Open }) {
  const { data: keys, problem, reload } = data.keys
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
    { title: 'Own tier', isTight: true, cell: ({ tier }) => <TierBadge tier={tier} /> },
    { title: 'Added', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: 'Status',
      isTight: true,
      cell: ({ revoked_at }) =>
        revoked_at === null ? (
          <Badge tone="good">Active</Badge>
        ) : (
          <span class="faint">
            revoked <Time at={revoked_at} />
          </span>
        ),
    },
    {
      title: 'Revoke',
      isTitleHidden: true,
      isTight: true,
      cell: (key) =>
        may('operator') &&
        key.revoked_at === null && (
          <Button
            isSmall
            kind="quiet"
            icon="trash"
            label={`Revoke key ${key.prefix}… ${key.name}`.trim()}
            onClick={() => onOpen({ kind: 'revoke-key', key })}
          />
        ),
    },
  ]
  return (
    <Card
      title="API keys"
      span="half"
      isFlush
      beside={
        may('operator') && (
          <Button isSmall icon="plus" onClick={() => onOpen({ kind: 'add-key' })}>
            Add key
          </Button>
        )
      }
    >
      <Table
        label="API keys"
        columns={columns}
        rows={keys && inOrder(keys)}
        keyOf={({ id }) => id}
        problem={problem}
        reload={reload}
        empty={
          <State icon="tokens" title="No keys yet">
            A key in a request leads to this customer and its limits.
          </State>
        }
      />
    </Card>
  )
}

/** Keys in use come first, then the revoked ones; the newest of each first. */
function inOrder(keys: readonly ApiKey[]): readonly ApiKey[] {
  const rank = ({ revoked_at }: ApiKey): number => (revoked_at === null ? 0 : 1)
  return [...keys].sort((a, b) => rank(a) - rank(b) || Date.parse(b.created_at) - Date.parse(a.created_at))
}
