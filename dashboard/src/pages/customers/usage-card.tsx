import { useMemo, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Operations } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { Card, Choice, Count, Skeleton, State, Time, Trouble } from '../../ui/parts.tsx'
import { allPages, LARGEST_PAGE } from './all-pages.ts'
import { DayBars } from './day-bars.tsx'
import { daysOf, limitsIn, sumOf, usageSpan } from './usage-days.ts'

const USAGE_MS = 30_000

/** UsageCard shows thirty days of one limit: a request counts under each of its limits, so they are looked at one by one. */
export function UsageCard({ customerId }: { readonly customerId: string }) {
  const [chosen, setChosen] = useState<string>()
  const [what, setWhat] = useState<'requests' | 'cost'>('requests')
  const span = usageSpan(Date.now())
  const usage = useResource(
    `usage ${customerId} ${span.from}`,
    (signal) => usageOf({ customer_id: customerId, ...span, granularity: 'day' }, signal),
    USAGE_MS,
  )
  const limits = useMemo(() => limitsIn(usage.data?.rows ?? []), [usage.data])
  const limit = chosen !== undefined && limits.includes(chosen) ? chosen : limits[0]
  const days = daysOf(usage.data?.rows ?? [], limit, span.from)
  const sum = sumOf(days)
  return (
    <Card
      title="Last 30 days"
      span="two-thirds"
      beside={
        <>
          {limits.length > 1 && (
            <select
              class="input usage-limit"
              aria-label="Limit"
              value={limit}
              onChange={(event) => setChosen(event.currentTarget.value)}
            >
              {limits.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          )}
          <Choice
            label="What is shown"
            options={[
              ['requests', 'Requests'],
              ['cost', 'Cost'],
            ]}
            value={what}
            onChoose={setWhat}
          />
        </>
      }
    >
      {usage.isLoading && <Skeleton lines={6} />}
      {usage.problem && usage.data === undefined && <Trouble problem={usage.problem} retry={usage.reload} />}
      {usage.data && limits.length === 0 && (
        <State icon="now" title="Nothing was counted in the last 30 days">
          What this customer does is counted by the hour, a few seconds after it happens.
        </State>
      )}
      {limits.length > 0 && (
        <div class="stack">
          <dl class="sums">
            <Sum name="Allowed" value={sum.allowed} swatch={what === 'requests' ? 'plot-1' : undefined} />
            <Sum name="Refused" value={sum.refused} swatch={what === 'requests' ? 'plot-2' : undefined} />
            <Sum name="Cost" value={sum.cost} swatch={what === 'cost' ? 'plot-5' : undefined} />
          </dl>
          <DayBars days={days} what={what} />
          {usage.data && (
            <p class="small soft">
              Complete until <Time at={usage.data.completeUntil} />
            </p>
          )}
        </div>
      )}
    </Card>
  )
}

/** usageOf reads all pages. What is complete is what was complete when the first was read. */
async function usageOf(query: Omit<Operations['listUsage']['query'], 'cursor' | 'page_size'>, signal: AbortSignal) {
  let completeUntil = ''
  const rows = await allPages(async (cursor) => {
    const { body } = await ask('listUsage', { query: { ...query, cursor, page_size: LARGEST_PAGE }, signal })
    completeUntil ||= body.complete_until
    return body
  })
  return { rows, completeUntil }
}

function Sum({ name, value, swatch }: { name: string; value: number; swatch: string | undefined }) {
  return (
    <div>
      <dt class="row small soft">
        {swatch && <span class={`day-swatch ${swatch}`} />}
        {name}
      </dt>
      <dd>
        <Count of={value} />
      </dd>
    </div>
  )
}
