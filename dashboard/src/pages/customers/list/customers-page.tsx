import { ask } from '../../../api/client.ts'
import type { Customer } from '../../../api/operations.ts'
import { usePages } from '../../../kit/use-pages.ts'
import { useResource } from '../../../kit/use-resource.ts'
import { place } from '../../../state/router.ts'
import { may } from '../../../state/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Card, PageHead, State } from '../../../ui/parts.tsx'
import { createCustomer } from '../changes/customer-changes.tsx'
import { CustomerFilters } from './customer-filters.tsx'
import { CustomerTable } from './customer-table.tsx'
import '../customers.css'
import { CustomerTrouble, WithDatabase } from '../cards/with-database.tsx'
import { flagsOf } from '../data/customer-flags.ts'

const FLAGS_MS = 5_000

export function CustomersPage() {
  return (
    <WithDatabase>
      <Customers />
    </WithDatabase>
  )
}

/** Customers finds customers by id, name, key, tier and status, and shows which are near a limit. */
function Customers() {
  const { query } = place.value
  const search = query.get('search') ?? ''
  const tier = query.get('tier') ?? ''
  const status = statusOf(query.get('status'))
  const list = usePages(
    JSON.stringify([search, tier, status]),
    async (cursor, signal) => (await ask('listCustomers', { query: { search, tier, status, cursor }, signal })).body,
    { keepsOld: true },
  )
  const isWithout = list.problem !== undefined && list.data === undefined
  const flags = useFlags()
  const isFiltered = search !== '' || tier !== '' || status !== undefined

  return (
    <>
      <PageHead title="Customers" about="The users of the API, their tiers, and who is near a limit now.">
        {may('operator') && !isWithout && (
          <Button kind="primary" icon="plus" onClick={createCustomer}>
            New customer
          </Button>
        )}
      </PageHead>
      <Card isFlush>
        {isWithout && list.problem ? (
          <CustomerTrouble problem={list.problem} retry={list.reload} />
        ) : (
          <>
            <CustomerFilters search={search} tier={tier} status={status} />
            <CustomerTable list={list} flags={flags} empty={isFiltered ? <NothingFound /> : <NoCustomers />} />
          </>
        )}
      </Card>
    </>
  )
}

const statusOf = (text: string | null): Customer['status'] | undefined =>
  text === 'active' || text === 'suspended' ? text : undefined

function useFlags() {
  const near = useResource(
    'near limits',
    async (signal) => (await ask('listNearLimits', { query: { limit: 1_000 }, signal })).body.callers,
    FLAGS_MS,
  )
  const blocks = useResource(
    'blocks',
    async (signal) => (await ask('listBlocks', { query: { page_size: 500 }, signal })).body.items,
    FLAGS_MS,
  )
  return flagsOf(near.data ?? [], blocks.data ?? [], Date.now())
}

function NothingFound() {
  return (
    <State icon="search" title="No customer is found">
      Search finds the beginning of an id, a name, or the first characters of a key. <a href="/customers">Show all</a>
    </State>
  )
}

function NoCustomers() {
  return (
    <State icon="customers" title="There are no customers yet">
      A customer has API keys, a tier and its own limits. For other callers, the rules apply.
    </State>
  )
}
