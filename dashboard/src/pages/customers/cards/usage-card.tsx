import { useMemo, useState } from 'preact/hooks'
import type { LimitState } from '../../../api/operations.ts'
import { SelectInput } from '../../../kit/inputs.tsx'
import type { Resource } from '../../../kit/use-resource.ts'
import { Card, Choice, Count, Pending, State, Time } from '../../../ui/parts.tsx'
import { daysOf, limitsIn, sumOf, usageFrom } from '../data/usage-days.ts'
import type { UsagePart } from '../data/use-customer.ts'
import { DayBars } from './day-bars.tsx'

interface UsageProps {
  readonly usage: Resource<UsagePart>
  /** Usage is counted under the ids of rules; these know their names. */
  readonly limits: readonly LimitState[]
}

/** UsageCard shows thirty days of one limit: a request counts under each of its limits, so they are looked at one by one. */
export function UsageCard({ usage, limits: known }: UsageProps) {
  const [chosen, setChosen] = useState<string>()
  const [what, setWhat] = useState<'requests' | 'cost'>('requests')
  const limits = useMemo(() => limitsIn(usage.data?.items ?? []), [usage.data])
  const limit = chosen !== undefined && limits.includes(chosen) ? chosen : limits[0]
  const days = daysOf(usage.data?.items ?? [], limit, usageFrom(Date.now()))
  const sum = sumOf(days)
  return (
    <Card
      title="Last 30 days"
      span="two-thirds"
      actions={
        <>
          {limits.length > 1 && (
            <SelectInput
              class="input usage-limit"
              aria-label="Limit"
              value={limit ?? ''}
              onChange={setChosen}
              options={limits.map((each) => [each, nameOf(each, known)])}
            />
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
      {usage.data === undefined && <Pending of={usage} lines={6} />}
      {usage.data && limits.length === 0 && (
        <State icon="now" title="Nothing was counted in the last 30 days">
          What this customer does is counted by the hour, a few seconds after it happens.
        </State>
      )}
      {limits.length > 0 && (
        <div class="stack">
          <Sums sum={sum} what={what} />
          <DayBars days={days} what={what} />
          {usage.data && (
            <p class="small soft">
              Complete until <Time at={usage.data.complete_until} />
            </p>
          )}
        </div>
      )}
    </Card>
  )
}

function Sums({ sum, what }: { readonly sum: ReturnType<typeof sumOf>; readonly what: 'requests' | 'cost' }) {
  const isCost = what === 'cost'
  return (
    <dl class="sums">
      <Sum name="Allowed" value={sum.allowed} swatch={isCost ? undefined : 'plot-1'} />
      <Sum name="Refused" value={sum.refused} swatch={isCost ? undefined : 'plot-2'} />
      <Sum name="Cost" value={sum.cost} swatch={isCost ? 'plot-5' : undefined} />
    </dl>
  )
}

function nameOf(limit: string, known: readonly LimitState[]): string {
  const state = known.find(({ domain, rule_id }) => `${domain}/${rule_id}` === limit)
  return state === undefined ? limit : `${state.domain}/${state.rule_name}`
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
