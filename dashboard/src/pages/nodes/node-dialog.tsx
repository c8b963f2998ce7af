import { type ComponentChildren, Fragment } from 'preact'
import { durationText } from 'sluice/internal/core/duration-text'
import type { Node } from '../../api/operations.ts'
import { formatRate } from '../../format/rate.ts'
import { clockTime } from '../../format/time.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { type Column, RecordList } from '../../kit/record-list.tsx'
import { Badge, Notice, State, Time } from '../../ui/parts.tsx'
import { CircuitBadge, StoreBadge } from './badges.tsx'
import { bytesText, hasOtherRules, lagOf, ruleVersionOf } from './fleet.ts'

interface NodeDialogProps {
  /** Undefined: it is not listed any more. */
  readonly node: Node | undefined
  readonly nodes: readonly Node[]
  readonly onClose: () => void
}

/** NodeDialog shows one node and its workers. */
export function NodeDialog({ node, nodes, onClose }: NodeDialogProps) {
  if (node === undefined) {
    return (
      <Dialog title="Node" onClose={onClose}>
        <State icon="nodes" title="This node is unknown">
          Nodes that ended, were unavailable for ten minutes, or were restarted are no longer listed under this id.
        </State>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Node ${node.name}`} isWide onClose={onClose}>
      <NodeNotices node={node} nodes={nodes} />
      <Facts node={node} />
      <div class="node-workers">
        <h3>Workers</h3>
        <RecordList
          label="Workers"
          columns={workerColumns(node.is_away)}
          list={{ data: node.workers }}
          keyOf={({ id }) => id}
          empty={<State icon="nodes" title="It reported no worker" />}
        />
      </div>
    </Dialog>
  )
}

function Facts({ node }: { readonly node: Node }) {
  const { event_loop_delay_ms: delayMs } = node
  const facts: readonly (readonly [name: string, value: ComponentChildren, kind?: 'num' | 'mono'])[] = [
    ['Host', node.host],
    ['Id of this run', node.id, 'mono'],
    ['Version', node.version],
    ['Rules', node.rule_version, 'mono'],
    ['Quotas', `revision ${node.revision.toLocaleString()}`, 'num'],
    ['Store', <StoreBadge key="store" store={node.store} />],
    ['Circuit', <CircuitBadge key="circuit" circuit={node.circuit} />],
    ['Decisions per second', formatRate(node.decisions_per_second), 'num'],
    ['Memory', bytesText(node.memory_bytes), 'num'],
    ['Event loop delay', delayMs === null ? 'unknown' : `${durationText(delayMs)} (p99)`, 'num'],
    ['Admin port', node.admin_address ?? 'unknown', 'mono'],
    ['Started', <Time key="started" at={node.started_at} />],
    ['Seen', <Time key="seen" at={node.seen_at} />],
  ]
  return (
    <dl class="facts node-facts">
      {facts.map(([name, value, kind = '']) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd class={`break ${kind}`}>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

function NodeNotices({ node, nodes }: { readonly node: Node; readonly nodes: readonly Node[] }) {
  if (node.is_away) {
    return (
      <Notice tone="warn">
        Unavailable: it has not reported for five seconds or longer. This is its last report. It may have lost Redis,
        have crashed, or be cut off. It is listed{' '}
        {node.listed_until && `until ${clockTime(Date.parse(node.listed_until))}, or `}until a node of its name starts.
      </Notice>
    )
  }
  const lag = lagOf(node, nodes)
  return (
    <>
      {(node.store === 'away' || node.circuit === 'open') && (
        <Notice tone="bad">
          It cannot reach Redis, and counts locally: callers have a separate budget on this node.
        </Notice>
      )}
      {hasOtherRules(node, ruleVersionOf(nodes)) && (
        <Notice tone="warn">
          It decides by other rules than most nodes. Look whether the new rule files reached it, and at its log.
        </Notice>
      )}
      {lag > 0 && (
        <Notice tone="warn">
          It does not know the last {lag.toLocaleString()} {lag === 1 ? 'change' : 'changes'} of quotas yet.
        </Notice>
      )}
    </>
  )
}

type Worker = Node['workers'][number]

const workerColumns = (isAway: boolean): readonly Column<Worker>[] => [
  { title: 'Worker', cell: ({ id }) => <span class="num">{id}</span> },
  {
    title: 'State',
    cell: ({ state }) => <Badge tone={isAway ? 'plain' : state === 'ready' ? 'good' : 'warn'}>{state}</Badge>,
  },
  { title: 'Process', align: 'right', cell: ({ pid }) => pid ?? '–' },
  {
    title: 'Decisions/s',
    align: 'right',
    cell: ({ decisions_per_second: rate }) => (rate === null ? '–' : formatRate(rate)),
  },
  { title: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
]
