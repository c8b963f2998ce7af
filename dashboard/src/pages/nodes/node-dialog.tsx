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
      <dl class="facts node-facts">
        <dt>Host</dt>
        <dd class="break">{node.host}</dd>
        <dt>Id of this run</dt>
        <dd class="mono break">{node.id}</dd>
        <dt>Version</dt>
        <dd>{node.version}</dd>
        <dt>Rules</dt>
        <dd class="mono break">{node.rule_version}</dd>
        <dt>Quotas</dt>
        <dd class="num">revision {node.revision.toLocaleString()}</dd>
        <dt>Store</dt>
        <dd>
          <StoreBadge store={node.store} />
        </dd>
        <dt>Circuit</dt>
        <dd>
          <CircuitBadge circuit={node.circuit} />
        </dd>
        <dt>Decisions a second</dt>
        <dd class="num">{formatRate(node.decisions_per_second)}</dd>
        <dt>Memory</dt>
        <dd class="num">{bytesText(node.memory_bytes)}</dd>
        <dt>Event loop delay</dt>
        <dd class="num">
          {node.event_loop_delay_ms === null ? 'not known' : `${durationText(node.event_loop_delay_ms)} (p99)`}
        </dd>
        <dt>Admin port</dt>
        <dd class="mono break">{node.admin_address ?? 'not known'}</dd>
        <dt>Started</dt>
        <dd>
          <Time at={node.started_at} />
        </dd>
        <dt>Seen</dt>
        <dd>
          <Time at={node.seen_at} />
        </dd>
      </dl>
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
