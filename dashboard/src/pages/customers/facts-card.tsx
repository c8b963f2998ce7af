import { Fragment } from 'preact'
import type { Customer } from '../../api/operations.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Time } from '../../ui/parts.tsx'
import type { Open } from './opened.ts'

/** FactsCard is what the customer's record says. */
export function FactsCard({ customer, onOpen }: { readonly customer: Customer; readonly onOpen: Open }) {
  const { id, tier, time_zone, period_anchor, metadata, created_at, updated_at } = customer
  const facts = Object.entries(metadata)
  return (
    <Card
      title="About"
      span="third"
      beside={
        may('operator') && (
          <Button isSmall icon="edit" onClick={() => onOpen({ kind: 'edit' })}>
            Edit
          </Button>
        )
      }
    >
      <dl class="facts">
        <dt>Id</dt>
        <dd class="mono break">{id}</dd>
        <dt>Tier</dt>
        <dd>{tier ?? <span class="faint">none</span>}</dd>
        <dt>Time zone</dt>
        <dd>{time_zone}</dd>
        {period_anchor !== null && (
          <>
            <dt>Periods from</dt>
            <dd>{period_anchor}</dd>
          </>
        )}
        <dt>Since</dt>
        <dd>
          <Time at={created_at} />
        </dd>
        <dt>Last change</dt>
        <dd>
          <Time at={updated_at} />
        </dd>
        {facts.map(([name, value]) => (
          <Fragment key={name}>
            <dt class="break">{name}</dt>
            <dd class="break">{value}</dd>
          </Fragment>
        ))}
      </dl>
    </Card>
  )
}
