import { durationText } from 'sluice/internal/core/duration-text'
import { frames } from '../../api/live.ts'
import type { Node } from '../../api/operations.ts'
import { wholeCount } from '../../format/count.ts'
import { formatRate, formatShare } from '../../format/rate.ts'
import { Figure } from '../../ui/parts.tsx'
import { CircuitBadge, DatabaseBadge, StoreBadge } from '../nodes/badges.tsx'
import { fleetCount, fleetText } from '../nodes/fleet.ts'
import { figuresOf } from './recent.ts'

const NONE = '–'

/** Head is what is looked at first: four figures, and how the parts of the service are. */
export function Head({ nodes }: { readonly nodes: readonly Node[] }) {
  const figures = figuresOf(frames.value)
  const { p50Ms, p99Ms, refusedShare, shadow } = figures ?? {}
  return (
    <>
      <Figure
        label="Allowed"
        value={<Rate of={figures?.allowed} />}
        detail={figures && `${formatRate(figures.hourAllowed)}/s over the last hour`}
      />
      <Figure
        label="Refused"
        value={<Rate of={figures?.refused} tone={figures !== undefined && figures.refused > 0 ? 'bad' : undefined} />}
        detail={
          figures &&
          [
            refusedShare === undefined ? 'no requests' : `${formatShare(refusedShare)} of requests`,
            shadow !== undefined && shadow > 0 && `${formatRate(shadow)}/s more in shadow`,
          ]
            .filter(Boolean)
            .join(' · ')
        }
      />
      <Figure
        label="Decision time, p99"
        value={p99Ms === undefined ? NONE : durationText(p99Ms)}
        detail={figures && (p50Ms === undefined ? 'no requests' : `p50 ${durationText(p50Ms)}`)}
      />
      <Service nodes={nodes} />
    </>
  )
}

function Rate({ of, tone }: { readonly of: number | undefined; readonly tone?: 'bad' | undefined }) {
  if (of === undefined) return <>{NONE}</>
  return (
    <span class={tone} title={`${wholeCount(Math.round(of))} a second, over five seconds`}>
      {formatRate(of)}
      <span class="unit">/s</span>
    </span>
  )
}

const WORST = ['open', 'half_open'] as const

/** Service is the state of what the decisions need. */
function Service({ nodes }: { readonly nodes: readonly Node[] }) {
  const frame = frames.value.at(-1)
  const circuit = WORST.find((state) => nodes.some((node) => !node.is_away && node.circuit === state))
  return (
    <section class="card quarter service" aria-label="Service">
      <dl class="facts">
        <dt>Nodes</dt>
        <dd>
          <a href="/nodes">{frame === undefined ? NONE : fleetText(fleetCount(frame, nodes))}</a>
        </dd>
        <dt>Store</dt>
        <dd class="row wrap">
          {frame === undefined ? NONE : <StoreBadge store={frame.store} />}
          {circuit && frame?.store === 'up' && <CircuitBadge circuit={circuit} />}
        </dd>
        <dt>Database</dt>
        <dd>{frame === undefined ? NONE : <DatabaseBadge database={frame.database} />}</dd>
        <dt>Rules</dt>
        <dd class="clip">
          <a class="mono" href="/rules" title="The version of the rules in force">
            {frame?.rule_version ?? NONE}
          </a>
        </dd>
      </dl>
    </section>
  )
}
