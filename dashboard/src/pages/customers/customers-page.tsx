import { useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Customer } from '../../api/operations.ts'
import { usePages } from '../../api/pages.ts'
import { useResource } from '../../api/resource.ts'
import { go, place } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, PageHead, State } from '../../ui/parts.tsx'
import { CustomerFilters } from './customer-filters.tsx'
import { CustomerTable } from './customer-table.tsx'
import './customers.css'
import { customerAddress } from './customer-address.ts'
import { marksOf } from './marks.ts'
import { NewCustomer } from './new-customer.tsx'
import { QuotaTrouble, WithDatabase } from './quota-trouble.tsx'

const MARKS_MS = 5_000

export function CustomersPage() {
  return (
    <WithDatabase>
      <Customers />
    </WithDatabase>
  )
}

/** Customers finds customers by id, name, key, tier and status, and shows who is near a limit. */
function Customers() {
  const { query } = place.value
  const search = query.get('search') ?? ''
  const tier = query.get('tier') ?? ''
  const status = statusOf(query.get('status'))
  const [isMaking, setMaking] = useState(false)
  const list = usePages(
    JSON.stringify([search, tier, status]),
    async (cursor, signal) => (await ask('listCustomers', { query: { search, tier, status, cursor }, signal })).body,
    { keepsOld: true },
  )
  const isWithout = list.problem !== undefined && list.items === undefined
  const marks = useMarks()
  const isFiltered = search !== '' || tier !== '' || status !== undefined

  return (
    <>
      <PageHead title="Customers" about="Who uses the API, on which tier, and who is near a limit now.">
        {may('operator') && !isWithout && (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            New customer
          </Button>
        )}
      </PageHead>
      <Card isFlush>
        {isWithout && list.problem ? (
          <QuotaTrouble problem={list.problem} retry={list.reload} />
        ) : (
          <>
            <CustomerFilters search={search} tier={tier} status={status} />
            <CustomerTable list={list} marks={marks} empty={isFiltered ? <NothingFound /> : <NoCustomers />} />
          </>
        )}
      </Card>
      {isMaking && (
        <NewCustomer
          onClose={() => setMaking(false)}
          onDone={(id) => go(id === undefined ? '/customers' : customerAddress(id))}
        />
      )}
    </>
  )
}

const statusOf = (text: string | null): Customer['status'] | undefined =>
  text === 'active' || text === 'suspended' ? text : undefined

function useMarks() {
  const near = useResource(
    'near limits',
    async (signal) => (await ask('listNearLimits', { query: { limit: 1_000 }, signal })).body.callers,
    MARKS_MS,
  )
  const blocks = useResource(
    'blocks',
    async (signal) => (await ask('listBlocks', { query: { page_size: 500 }, signal })).body.items,
    MARKS_MS,
  )
  return marksOf(near.data ?? [], blocks.data ?? [], Date.now())
}

function NothingFound() {
  return (
    <State icon="search" title="Nobody is found">
      Search finds the beginning of an id, a name, or the first characters of a key. <a href="/customers">Show all</a>
    </State>
  )
}

function NoCustomers() {
  return (
    <State icon="customers" title="There are no customers yet">
      A customer has API keys, a tier, and limits of its own. Callers without one are held to the rules.
    </State>
  )
}
