import { computed } from '@preact/signals'
import { ask } from '../../api/client.ts'
import { frames } from '../../api/live.ts'
import type { Operations, TierUse } from '../../api/operations.ts'
import { useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Card, Choice, Count, Skeleton, State } from '../../ui/parts.tsx'
import { Quiet } from './list-card.tsx'

type Period = NonNullable<Operations['readUsageByTier']['query']['period']>

const READ_EVERY_MS = 30_000

const PERIODS = [
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['30d', '30 d'],
] as const satisfies readonly (readonly [Period, string])[]

/** It is not asked for where there is no database to answer. */
const database = computed(() => frames.value.at(-1)?.database)

/** TierUseCard shows what the customers of each tier used, as bars that can be compared. */
export function TierUseCard() {
  const asked = place.value.query.get('tiers')
  const period = PERIODS.find(([each]) => each === asked)?.[0] ?? '24h'
  return (
    <Card
      title="Use by tier"
      span="third"
      isFlush
      actions={
        <Choice
          label="Use by tier: period"
          options={PERIODS}
          value={period}
          onChoose={(each) => setQuery({ tiers: each })}
        />
      }
    >
      <section class="list" aria-label="Use by tier" tabIndex={0}>
        {database.value === undefined && <Skeleton lines={4} />}
        {database.value === 'none' && <p class="quiet">What customers use is kept in a database, and there is none.</p>}
        {database.value === 'away' && <p class="quiet">The database does not answer at the moment.</p>}
        {database.value === 'up' && <Tiers period={period} />}
      </section>
    </Card>
  )
}

function Tiers({ period }: { readonly period: Period }) {
  const read = (signal: AbortSignal) => ask('readUsageByTier', { query: { period }, signal })
  const { data, problem } = useResource(`tiers ${period}`, read, READ_EVERY_MS)
  if (data === undefined) return problem === undefined ? <Skeleton lines={4} /> : <Quiet problem={problem} />
  const { tiers } = data.body
  return tiers.length === 0 ? (
    <State icon="tiers" title="No customer used anything in this time" />
  ) : (
    <Bars tiers={tiers} />
  )
}

function Bars({ tiers }: { readonly tiers: readonly TierUse[] }) {
  const most = Math.max(1, ...tiers.map(({ allowed, refused }) => allowed + refused))
  const widthOf = (count: number): { width: string } => ({ width: `${(count / most) * 100}%` })
  return (
    <ul class="tiers">
      {tiers.map(({ tier, customers, allowed, refused }) => (
        <li key={tier ?? ''}>
          <span class="row apart">
            <span class="clip">
              {tier === null ? <em class="soft">no tier</em> : <strong>{tier}</strong>}{' '}
              <span class="small faint">
                <Count of={customers} /> {customers === 1 ? 'customer' : 'customers'}
              </span>
            </span>
            <span class="small num">
              <Count of={allowed} /> allowed
              <span class={refused > 0 ? 'bad' : 'faint'}>
                {' '}
                · <Count of={refused} /> refused
              </span>
            </span>
          </span>
          <span class="stacked" aria-hidden="true">
            <span class="allowed" style={widthOf(allowed)} />
            <span class="refused" style={widthOf(refused)} />
          </span>
        </li>
      ))}
    </ul>
  )
}
