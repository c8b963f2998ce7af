import { ask } from '../../api/client.ts'
import type { Operations, TierUse } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { place, setQuery } from '../../app/router.ts'
import { Card, Choice, Count, Skeleton } from '../../ui/parts.tsx'
import { Quiet } from './list-card.tsx'

type Period = NonNullable<Operations['readUsageByTier']['query']['period']>

const READ_EVERY_MS = 30_000

const PERIODS = [
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['30d', '30 d'],
] as const satisfies readonly (readonly [Period, string])[]

/** TierUseCard shows what the customers of each tier used, as bars that can be compared. */
export function TierUseCard() {
  const asked = place.value.query.get('tiers')
  const period = PERIODS.find(([each]) => each === asked)?.[0] ?? '24h'
  const read = (signal: AbortSignal) => ask('readUsageByTier', { query: { period }, signal })
  const { data, problem } = useResource(`tiers ${period}`, read, READ_EVERY_MS)
  const tiers = data?.body.tiers
  return (
    <Card
      title="Use by tier"
      span="third"
      isFlush
      beside={
        <Choice
          label="Use by tier: period"
          options={PERIODS}
          value={period}
          onChoose={(each) => setQuery({ tiers: each })}
        />
      }
    >
      <section class="list" aria-label="Use by tier" tabIndex={0}>
        {tiers === undefined ? (
          problem === undefined ? (
            <Skeleton lines={4} />
          ) : (
            <Quiet problem={problem} />
          )
        ) : tiers.length === 0 ? (
          <p class="quiet">No customer used anything in this time.</p>
        ) : (
          <Bars tiers={tiers} />
        )}
      </section>
    </Card>
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
