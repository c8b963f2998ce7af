import { Fragment } from 'preact'
import { LABELS } from '../../../kit/labels.ts'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Card, Time } from '../../../ui/parts.tsx'
import { editCustomer } from '../changes/customer-changes.tsx'
import type { CustomerData } from '../data/use-customer.ts'

/** FactsCard shows the record of the customer. */
export function FactsCard({ data }: { readonly data: CustomerData }) {
  const { id, tier, time_zone, period_anchor, metadata, created_at, updated_at } = data.customer
  const facts: readonly (readonly [string, preact.ComponentChildren])[] = [
    [
      LABELS.id,
      <span key="id" class="mono">
        {id}
      </span>,
    ],
    [LABELS.tier, tier ?? <span class="faint">none</span>],
    [LABELS.time_zone, time_zone],
    [LABELS.period_anchor, period_anchor],
    ['Since', <Time key="since" at={created_at} />],
    ['Last change', <Time key="change" at={updated_at} />],
    ...Object.entries(metadata),
  ]
  const edit = may('operator') && (
    <Button isSmall icon="edit" onClick={() => editCustomer(data)}>
      Edit
    </Button>
  )
  return (
    <Card title="About" span="third" actions={edit}>
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value !== null && (
              <Fragment key={name}>
                <dt class="break">{name}</dt>
                <dd class="break">{value}</dd>
              </Fragment>
            ),
        )}
      </dl>
    </Card>
  )
}
