import { useRef } from 'preact/hooks'
import { frames } from '../../api/live.ts'
import { formatRate } from '../../format/rate.ts'
import type { Column } from '../../kit/record-list.tsx'
import { Card } from '../../ui/parts.tsx'
import { RuleName, ShareBar } from './caller-cells.tsx'
import { heldRows } from './callers.ts'
import { List } from './list-card.tsx'
import { type BusyRule, busiestRules } from './recent.ts'

const SHOWN_RULES = 12
/** Figures change every second, their order less often. */
const ORDER_EVERY_MS = 5_000

const COLUMNS: readonly Column<BusyRule>[] = [
  { title: 'Rule', cell: ({ domain, id, name }) => <RuleName domain={domain} id={id} name={name} /> },
  { title: 'Allowed/s', align: 'right', cell: ({ allowed }) => formatRate(allowed) },
  {
    title: 'Refused/s',
    align: 'right',
    cell: ({ refused }) => <span class={refused > 0 ? 'bad' : ''}>{formatRate(refused)}</span>,
  },
  { title: 'Shadow/s', align: 'right', cell: ({ shadow }) => formatRate(shadow) },
  {
    title: 'Refused share',
    cell: ({ allowed, refused }) => (
      <ShareBar share={refused / Math.max(allowed + refused, 1e-9)} tone="bad" title="of what the rule was asked" />
    ),
  },
]

const nameOf = ({ domain, id }: BusyRule): string => `${domain}\n${id}`

/** RulesNow lists the rules that decide now; the ones that refuse come first. */
export function RulesNow() {
  const fresh = busiestRules(frames.value, SHOWN_RULES)
  const shown = useRef<{ rows: readonly BusyRule[]; sortedMs: number }>({ rows: [], sortedMs: 0 })
  const nowMs = frames.value.at(-1)?.at_ms ?? 0
  const isDue = nowMs - shown.current.sortedMs >= ORDER_EVERY_MS || shown.current.rows.length === 0
  const idle = shown.current.rows.map((rule) => ({ ...rule, allowed: 0, refused: 0, shadow: 0 }))
  shown.current = isDue
    ? { rows: fresh, sortedMs: nowMs }
    : { rows: heldRows(idle, fresh, nameOf), sortedMs: shown.current.sortedMs }
  return (
    <Card
      title="Busiest rules"
      span="half"
      isFlush
      actions={
        <a class="small" href="/rules">
          All rules
        </a>
      }
    >
      <List
        label="Busiest rules"
        name="rules"
        kind="rules"
        columns={COLUMNS}
        rows={frames.value.length === 0 ? undefined : shown.current.rows}
        keyOf={nameOf}
        empty="No rule was asked in the last ten seconds"
        foot="Means of the last ten seconds"
      />
    </Card>
  )
}
