import { ask } from '../../api/client.ts'
import type { Operations, TopKey } from '../../api/operations.ts'
import type { Column } from '../../kit/record-list.tsx'
import { useResource } from '../../kit/use-resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { Card, Choice, Count } from '../../ui/parts.tsx'
import { Actions, callerKey, RuleName, ShareBar, Who } from './caller-cells.tsx'
import { madeOf } from './fleet-text.ts'
import { List } from './list-card.tsx'

type By = NonNullable<Operations['listTop']['query']['by']>
type Period = NonNullable<Operations['listTop']['query']['period']>

const READ_EVERY_MS = 5_000

const PERIODS = [
  ['5m', '5 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
] as const satisfies readonly (readonly [Period, string])[]

const WORDS = {
  refused: { title: 'Most refused', count: 'Refused', none: 'No refusals', of: 'of all refusals by the rule' },
  used: { title: 'Most active', count: 'Requests', none: 'No requests', of: 'of all requests to the rule' },
} as const

/** TopCallers lists who is refused most, or asks most, of all rules and nodes. */
export function TopCallers({ by }: { readonly by: By }) {
  const asked = place.value.query.get(by)
  const period = PERIODS.find(([each]) => each === asked)?.[0] ?? '5m'
  const name = `${by} ${period}`
  const read = (signal: AbortSignal) => ask('listTop', { query: { by, period }, signal })
  const { data, problem } = useResource(name, read, READ_EVERY_MS)
  const { title, none } = WORDS[by]
  const text = PERIODS.find(([each]) => each === period)?.[1]
  return (
    <Card
      title={title}
      span="two-thirds"
      isFlush
      actions={
        <Choice
          label={`${title}: period`}
          options={PERIODS}
          value={period}
          onChoose={(each) => setQuery({ [by]: each })}
        />
      }
    >
      <List
        label={title}
        name={name}
        kind="top"
        columns={columnsOf(by)}
        rows={data?.body.items}
        keyOf={callerKey}
        problem={problem}
        empty={`${none} in the last ${text}`}
        foot={data === undefined ? '' : madeOf(data.body)}
      />
    </Card>
  )
}

function columnsOf(by: By): readonly Column<TopKey>[] {
  const { count, of } = WORDS[by]
  const canBlock = may('operator')
  return [
    { title: 'Who', cell: (row) => <Who caller={row} /> },
    {
      title: 'Rule',
      cell: ({ domain, rule, rule_name, is_shadow }) => (
        <RuleName domain={domain} id={rule} name={rule_name} isShadow={is_shadow} />
      ),
    },
    { title: count, align: 'right', cell: (row) => <Count of={row.count} /> },
    {
      title: 'Share',
      cell: ({ share }) => <ShareBar share={share} tone={by === 'refused' ? 'bad' : 'plain'} title={of} />,
    },
    { title: 'Actions', isTitleHidden: true, cell: (row) => <Actions caller={row} canBlock={canBlock} /> },
  ]
}
