import { ask } from '../../api/client.ts'
import type { NearLimit } from '../../api/operations.ts'
import type { Column } from '../../kit/record-list.tsx'
import { useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { Card, Choice, Count, Meter, Time } from '../../ui/parts.tsx'
import { callerKey, RuleName, Who } from './caller-cells.tsx'
import { madeOf } from './fleet-text.ts'
import { List } from './list-card.tsx'

const READ_EVERY_MS = 5_000
const HOUR_MS = 3_600_000

const WINDOWS = [
  ['any', 'All'],
  ['long', '1 h and longer'],
] as const

const COLUMNS: readonly Column<NearLimit>[] = [
  { title: 'Who', cell: (row) => <Who caller={row} /> },
  { title: 'Rule', cell: ({ domain, rule, rule_name }) => <RuleName domain={domain} id={rule} name={rule_name} /> },
  {
    title: 'Used',
    cell: ({ limit, remaining, key }) => (
      <span class="used">
        <span class="num">
          <Count of={limit - remaining} /> of <Count of={limit} />
        </span>
        <Meter used={limit - remaining} limit={limit} label={`Used by ${key}`} />
      </span>
    ),
  },
  { title: 'Resets', align: 'right', cell: ({ resets_at }) => <Time at={resets_at} /> },
]

/** NearLimits lists who has used 80 % of a limit or more. */
export function NearLimits() {
  const window = place.value.query.get('near') === 'long' ? 'long' : 'any'
  const least = window === 'long' ? HOUR_MS : undefined
  const read = (signal: AbortSignal) => ask('listNearLimits', { query: { min_window_ms: least }, signal })
  const { data, problem } = useResource(`near ${window}`, read, READ_EVERY_MS)
  return (
    <Card
      title="Above 80 % of a limit"
      span="half"
      isFlush
      actions={
        <Choice
          label="Windows of the limits"
          options={WINDOWS}
          value={window}
          onChoose={(each) => setQuery({ near: each === 'any' ? undefined : each })}
        />
      }
    >
      <List
        label="Callers above 80 % of a limit"
        name={window}
        kind="near"
        columns={COLUMNS}
        rows={data?.body.callers}
        keyOf={callerKey}
        problem={problem}
        empty="No caller is near a limit"
        foot={data === undefined ? '' : madeOf(data.body)}
      />
    </Card>
  )
}
