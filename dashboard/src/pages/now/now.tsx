import { computed } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import { frames } from '../../api/live.ts'
import type { Node } from '../../api/operations.ts'
import { useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Badge, Choice, Notice, PageHead } from '../../ui/parts.tsx'
import { troublesOf } from '../nodes/fleet.ts'
import { Changes } from './changes.tsx'
import { Head } from './head.tsx'
import { markersOf } from './markers.ts'
import { NearLimits } from './near-limits.tsx'
import { Plots } from './plots.tsx'
import { RulesNow } from './rules-now.tsx'
import { RANGES, type RangeName } from './series.ts'
import { TierUseCard } from './tier-use.tsx'
import { TopCallers } from './top-callers.tsx'
import './now.css'

const NODES_EVERY_MS = 5_000
const CHANGES_EVERY_MS = 10_000
const ruleVersion = computed(() => frames.value.at(-1)?.rule_version)
/** The number of nodes, and of those unavailable: when it changes, their list is read immediately. */
const fleet = computed(() => `${frames.value.at(-1)?.nodes} ${frames.value.at(-1)?.nodes_away}`)
const NO_NODES: readonly Node[] = []

const RANGE_OPTIONS = Object.entries(RANGES).map(([name, { text }]) => [name as RangeName, text] as const)

/** Now is what an operator looks at first: is it well, who is refused, by which rule, and what was changed. */
export function Now() {
  const nodes = useResource('nodes', (signal) => ask('listNodes', { signal }), NODES_EVERY_MS)
  const changes = useResource('changes', (signal) => ask('listChanges', { signal }), CHANGES_EVERY_MS)
  const list = changes.data?.body.changes
  // Other rules are in force: their author is read immediately.
  const version = ruleVersion.value
  useEffect(changes.reload, [version])
  const count = fleet.value
  useEffect(nodes.reload, [count])
  const markers = useMemo(() => markersOf(list ?? []), [JSON.stringify(list)])
  const asked = place.value.query.get('range')
  const range = asked !== null && asked in RANGES ? (asked as RangeName) : '15m'
  const known = nodes.data?.body.nodes ?? NO_NODES
  return (
    <div class="now">
      <PageHead title="Now" about={<Health nodes={known} />}>
        <Choice
          label="Time shown in the plots"
          options={RANGE_OPTIONS}
          value={range}
          onChoose={(each) => setQuery({ range: each })}
        />
      </PageHead>
      <Troubles nodes={known} />
      <div class="grid">
        <Head nodes={known} />
        <Plots range={range} markers={markers} />
        <TopCallers by="refused" />
        <Changes changes={list} problem={changes.problem} />
        <RulesNow />
        <NearLimits />
        <TopCallers by="used" />
        <TierUseCard />
      </div>
    </div>
  )
}

type WithNodes = { readonly nodes: readonly Node[] }

function Health({ nodes }: WithNodes) {
  const frame = frames.value.at(-1)
  if (frame === undefined) return <Badge hasDot>Waiting for the first figures</Badge>
  const troubles = troublesOf(frame, nodes)
  if (troubles.length === 0) {
    return (
      <Badge tone="good" hasDot>
        All is well
      </Badge>
    )
  }
  return (
    <Badge tone={troubles[0].tone} hasDot>
      {troubles.length === 1 ? 'One thing needs attention' : `${troubles.length} things need attention`}
    </Badge>
  )
}

function Troubles({ nodes }: WithNodes) {
  const troubles = troublesOf(frames.value.at(-1), nodes)
  if (troubles.length === 0) return null
  return (
    <div class="stack close troubles">
      {troubles.map(({ id, tone, title, text, href, link }) => (
        <Notice key={id} tone={tone}>
          <strong>{title}.</strong> {text} <a href={href}>{link}</a>
        </Notice>
      ))}
    </div>
  )
}
