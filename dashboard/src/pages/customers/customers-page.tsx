import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Customer } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { go, place } from '../../app/router.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, PageHead, State } from '../../ui/parts.tsx'
import { CustomerFilters } from './customer-filters.tsx'
import { CustomerTable } from './customer-table.tsx'
import './customers.css'
import { customerAddress } from './customer-address.ts'
import { marksOf } from './marks.ts'
import { NewCustomer } from './new-customer.tsx'
import { QuotaTrouble, WithDatabase } from './quota-trouble.tsx'
import { useListing } from './use-listing.ts'

const MARKS_MS = 5_000
/** A database that is starting is looked for again, without a key being pressed. */
const LOOK_AGAIN_MS = 3_000

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
  const [isAway, setAway] = useState(false)
  const list = useListing<Customer>(
    JSON.stringify([search, tier, status]),
    async ({ signal, ...asked }) => {
      const { body } = await ask('listCustomers', { query: { search, tier, status, ...asked }, signal })
      return body
    },
    isAway ? LOOK_AGAIN_MS : undefined,
  )
  const isWithout = list.problem !== undefined && list.items === undefined
  useEffect(() => setAway(isWithout), [isWithout])
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
