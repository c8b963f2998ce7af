import { ask } from '../../api/client.ts'
import type { RuleVersion } from '../../api/operations.ts'
import { actionColumn, type Column, RecordList } from '../../kit/record-list.tsx'
import { usePages } from '../../kit/use-pages.ts'
import { may } from '../../state/session.ts'
import { Badge, Card, Count, PageHead, State, Time } from '../../ui/parts.tsx'
import { rollBack } from './rule-changes.tsx'
import './rules.css'
import { isWithoutDatabase } from './rules-data.ts'

const addressOf = ({ version }: RuleVersion): string => `/rules/versions/${version}`

const COLUMNS: readonly Column<RuleVersion>[] = [
  {
    title: 'Version',
    isTight: true,
    cell: (row) => (
      <span class="row">
        <a href={addressOf(row)}>Version {row.version}</a>
        {row.is_active && <Badge tone="good">in force</Badge>}
      </span>
    ),
  },
  { title: 'When', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: 'Who', cell: ({ by }) => <span class="break">{by}</span> },
  {
    title: 'Reason',
    cell: ({ comment }) => <span class="break">{comment ?? <span class="faint">none given</span>}</span>,
  },
  { title: 'Domains', cell: ({ domains }) => <span class="break">{domains.join(', ')}</span> },
  { title: 'Limits', align: 'right', cell: ({ limits }) => <Count of={limits} /> },
]

/** Versions lists every set of rules that was set through the API, the newest first. */
export function Versions() {
  const list = usePages('versions', (cursor, signal) =>
    ask('listRuleVersions', { query: { cursor }, signal }).then(({ body }) => body),
  )
  const rollingBack = actionColumn<RuleVersion>({
    title: 'Roll back',
    label: ({ version }) => `Roll back to version ${version}`,
    isOffered: ({ is_active }) => !is_active,
    run: ({ version }) => rollBack(version, list.reload),
  })
  return (
    <>
      <PageHead
        title="Versions of the rules"
        about="Each set of rules that was set through the API. Nothing is lost: going back creates a new version."
      >
        <a class="button" href="/rules/edit">
          {may('admin') ? 'Edit as YAML' : 'See the YAML'}
        </a>
      </PageHead>
      <Card isFlush>
        {isWithoutDatabase(list.problem) ? (
          <State icon="rules" title="Rules come from files alone">
            There is no database to keep versions in.
          </State>
        ) : (
          <RecordList
            label="Versions of the rules"
            columns={may('admin') ? [...COLUMNS, rollingBack] : COLUMNS}
            list={list}
            keyOf={({ version }) => String(version)}
            hrefOf={addressOf}
            empty={
              <State icon="rules" title="No rules were set through the API yet">
                Rules of files have their versions where the files are kept. <a href="/rules/edit">Add rules here</a>
              </State>
            }
          />
        )}
      </Card>
    </>
  )
}
