import { ask } from '../../api/client.ts'
import type { Node } from '../../api/operations.ts'
import { formatRate } from '../../format/rate.ts'
import { clockTime } from '../../format/time.ts'
import { type Column, RecordList } from '../../kit/record-list.tsx'
import { useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Badge, Card, Count, PageHead, State, Time } from '../../ui/parts.tsx'
import { CircuitBadge, StoreBadge } from './badges.tsx'
import { bytesText, fleetCount, hasOtherRules, lagOf, nodeHref, ruleVersionOf } from './fleet.ts'
import { NodeDialog } from './node-dialog.tsx'
import './nodes.css'

const READ_EVERY_MS = 2_000

/** Nodes lists every process that decides: what it decides by, how it is, and when it was last heard of. */
export function Nodes() {
  const list = useResource('nodes', async (signal) => (await ask('listNodes', { signal })).body.nodes, READ_EVERY_MS)
  const nodes = list.data
  const open = place.value.query.get('node')
  const shown = nodes?.find(({ id }) => id === open)
  return (
    <>
      <PageHead title="Nodes" about={nodes && summaryOf(nodes)} />
      <Card title="All nodes" isFlush>
        <RecordList
          label="Nodes"
          columns={columnsOf(nodes ?? [])}
          list={{ ...list, data: nodes?.toSorted(byName) }}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => nodeHref(id)}
          empty={<State icon="nodes" title="No node is known" />}
        />
      </Card>
      {nodes !== undefined && open !== null && (
        <NodeDialog node={shown} nodes={nodes} onClose={() => setQuery({ node: undefined })} />
      )}
    </>
  )
}

/** Names do not change, so rows stay where they are. */
const byName = (a: Node, b: Node): number => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1)

function summaryOf(nodes: readonly Node[]): string {
  const { all, away } = fleetCount(undefined, nodes)
  const workers = nodes.reduce((sum, each) => sum + (each.is_away ? 0 : each.workers.length), 0)
  const there = all - away
  const text = `${there} ${there === 1 ? 'node' : 'nodes'} with ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  return away === 0 ? `${text}.` : `${text}, ${away} away.`
}

function columnsOf(nodes: readonly Node[]): readonly Column<Node>[] {
  const common = ruleVersionOf(nodes)
  return [
    { title: 'Node', cell: (node) => <NodeName node={node} /> },
    { title: 'State', isTight: true, cell: (node) => <NodeState node={node} /> },
    {
      title: 'Decisions/s',
      align: 'right',
      isTight: true,
      cell: (node) => unlessAway(node, formatRate(node.decisions_per_second)),
    },
    {
      title: 'Rules',
      isTight: true,
      cell: (node) => (
        <span
          class={hasOtherRules(node, common) ? 'differs mono' : 'mono'}
          title={hasOtherRules(node, common) ? 'Other rules than most nodes' : undefined}
        >
          {node.rule_version}
        </span>
      ),
    },
    {
      title: 'Quotas',
      align: 'right',
      isTight: true,
      cell: (node) => <Revision node={node} lag={lagOf(node, nodes)} />,
    },
    { title: 'Store and circuit', isTight: true, cell: (node) => unlessAway(node, <StoreAndCircuit node={node} />) },
    { title: 'Memory', align: 'right', isTight: true, cell: (node) => unlessAway(node, bytesText(node.memory_bytes)) },
    { title: 'Version', isTight: true, cell: (node) => <span class="num">{node.version}</span> },
    { title: 'Started', isTight: true, cell: (node) => <Time at={node.started_at} /> },
    { title: 'Seen', isTight: true, cell: (node) => <Seen node={node} /> },
  ]
}

function unlessAway<T>(node: Node, shown: T): T | string {
  return node.is_away ? '–' : shown
}

function NodeName({ node }: { readonly node: Node }) {
  return (
    <span class="node-name">
      <a class="clip" href={nodeHref(node.id)} title={`${node.name} on ${node.host}`}>
        {node.name}
      </a>
      {node.is_here && <Badge tone="accent">this one</Badge>}
    </span>
  )
}

function Seen({ node }: { readonly node: Node }) {
  if (node.listed_until === null) return <Time at={node.seen_at} />
  return (
    <span class="seen">
      <Time at={node.seen_at} />
      <span class="small faint">listed until {clockTime(Date.parse(node.listed_until))}</span>
    </span>
  )
}

/** A closed circuit goes without saying, and so does an open one where there is no connection. */
function StoreAndCircuit({ node: { store, circuit } }: { readonly node: Node }) {
  return (
    <span class="row">
      <StoreBadge store={store} />
      {circuit !== null && circuit !== (store === 'away' ? 'open' : 'closed') && <CircuitBadge circuit={circuit} />}
    </span>
  )
}

function NodeState({ node }: { readonly node: Node }) {
  if (node.is_away) {
    return (
      <Badge tone="bad" hasDot>
        Away
      </Badge>
    )
  }
  const ready = node.workers.filter(({ state }) => state === 'ready').length
  const isWhole = ready === node.workers.length
  return (
    <Badge tone={isWhole ? 'good' : 'warn'} hasDot>
      {isWhole ? `${ready} ${ready === 1 ? 'worker' : 'workers'}` : `${ready} of ${node.workers.length} workers`}
    </Badge>
  )
}

function Revision({ node, lag }: { readonly node: Node; readonly lag: number }) {
  if (node.is_away || lag === 0) return <Count of={node.revision} />
  return (
    <span class="differs" title={`Revision ${node.revision.toLocaleString()}`}>
      {lag.toLocaleString()} behind
    </span>
  )
}
