import { useEffect, useState } from 'preact/hooks'
import type { Params } from '../../app/pages.ts'
import { Card, PageHead, Skeleton, State } from '../../ui/parts.tsx'
import { CustomerDialogs } from './customer-dialogs.tsx'
import { CustomerHead } from './customer-head.tsx'
import './customers.css'
import { FactsCard } from './facts-card.tsx'
import { GrantsCard } from './grants-card.tsx'
import { KeysCard } from './keys-card.tsx'
import { LimitsCard } from './limits-card.tsx'
import type { Opened } from './opened.ts'
import { OverridesCard } from './overrides-card.tsx'
import { QuotaTrouble, WithDatabase } from './quota-trouble.tsx'
import { RefusalsCard } from './refusals-card.tsx'
import { authorsOf } from './timeline.ts'
import { TimelineCard } from './timeline-card.tsx'
import { UsageCard } from './usage-card.tsx'
import { useCustomer } from './use-customer.ts'

export function CustomerPage({ params: { id = '' } }: { readonly params: Params }) {
  return (
    <WithDatabase>
      <OneCustomer id={id} />
    </WithDatabase>
  )
}

/** OneCustomer shows what a customer has used, why it was refused, who changed what, and everything that can be done about it. */
function OneCustomer({ id }: { readonly id: string }) {
  const [opened, setOpened] = useState<Opened>()
  const data = useCustomer(id, opened?.kind === 'remove')
  const { data: customer, problem, reload } = data.customer
  const name = customer?.name ?? id
  useEffect(() => {
    document.title = `${name} · Sluice`
  }, [name])

  if (customer === undefined) {
    if (problem === undefined) return <Skeleton lines={8} />
    return (
      <>
        <PageHead title={id} about={<a href="/customers">All customers</a>} />
        <Card isFlush>
          {problem.code === 'RECORD_UNKNOWN' ? (
            <State icon="customers" title="There is no such customer">
              It may have been removed. The <a href="/audit">audit log</a> knows.
            </State>
          ) : (
            <QuotaTrouble problem={problem} retry={reload} />
          )}
        </Card>
      </>
    )
  }
  const authors = authorsOf(data.changes.data?.items ?? [])
  return (
    <div class="stack">
      <CustomerHead customer={customer} data={data} authors={authors} onOpen={setOpened} />
      <LimitsCard data={data} authors={authors} onOpen={setOpened} />
      <div class="grid">
        <UsageCard usage={data.usage} limits={data.limits.data ?? []} />
        <FactsCard customer={customer} onOpen={setOpened} />
        <OverridesCard data={data} authors={authors} onOpen={setOpened} />
        <GrantsCard data={data} authors={authors} onOpen={setOpened} />
        <RefusalsCard refusals={data.refusals} keys={data.keys.data ?? []} />
        <KeysCard data={data} onOpen={setOpened} />
      </div>
      <TimelineCard customerId={id} changes={data.changes} />
      {opened && (
        <CustomerDialogs
          opened={opened}
          customer={customer}
          data={data}
          onClose={() => setOpened(undefined)}
          onDone={data.reload}
        />
      )}
    </div>
  )
}
