import type { Params } from '../../app/pages.ts'
import { useTitle } from '../../state/title.ts'
import { Card, PageHead, Skeleton, State } from '../../ui/parts.tsx'
import './customers.css'
import { CustomerHeader } from './cards/customer-header.tsx'
import { FactsCard } from './cards/facts-card.tsx'
import { GrantsCard } from './cards/grants-card.tsx'
import { KeysCard } from './cards/keys-card.tsx'
import { LimitsCard } from './cards/limits-card.tsx'
import { OverridesCard } from './cards/overrides-card.tsx'
import { RefusalsCard } from './cards/refusals-card.tsx'
import { TimelineCard } from './cards/timeline-card.tsx'
import { UsageCard } from './cards/usage-card.tsx'
import { CustomerTrouble, WithDatabase } from './cards/with-database.tsx'
import { useCustomer } from './data/use-customer.ts'

export function CustomerPage({ params: { id = '' } }: { readonly params: Params }) {
  return (
    <WithDatabase>
      <OneCustomer id={id} />
    </WithDatabase>
  )
}

/** OneCustomer shows what a customer has used, why it was refused and who changed what, and offers every change. */
function OneCustomer({ id }: { readonly id: string }) {
  const { data, problem, reload } = useCustomer(id)
  useTitle(data?.customer.name ?? id)
  if (data === undefined) {
    if (problem === undefined) return <Skeleton lines={8} />
    return (
      <>
        <PageHead title={id} about={<a href="/customers">All customers</a>} />
        <Card isFlush>
          {problem.code === 'RECORD_UNKNOWN' ? (
            <State icon="customers" title="There is no such customer">
              It may have been removed. The <a href="/audit">audit log</a> shows when.
            </State>
          ) : (
            <CustomerTrouble problem={problem} retry={reload} />
          )}
        </Card>
      </>
    )
  }
  return (
    <div class="stack">
      <CustomerHeader data={data} />
      <LimitsCard data={data} />
      <div class="grid">
        <UsageCard usage={data.usage} limits={data.limits.data ?? []} />
        <FactsCard data={data} />
        <OverridesCard data={data} />
        <GrantsCard data={data} />
        <RefusalsCard data={data} />
        <KeysCard data={data} />
      </div>
      <TimelineCard data={data} />
    </div>
  )
}
