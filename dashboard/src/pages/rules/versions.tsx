import { useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { RuleVersion } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { may } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Count, PageHead, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { RollBackDialog } from './roll-back-dialog.tsx'
import './rules.css'
import { isWithoutDatabase } from './rules-data.ts'

const addressOf = ({ version }: RuleVersion): string => `/rules/versions/${version}`

/** Versions lists every set of rules that was put through the API, the newest first. */
export function Versions() {
  const [cursors, setCursors] = useState<readonly string[]>([])
  const [chosen, setChosen] = useState<RuleVersion>()
  const cursor = cursors.at(-1)
  const page = useResource(`versions ${cursor ?? ''}`, (signal) =>
    ask('listRuleVersions', { query: { cursor }, signal }).then(({ body }) => body),
  )
  const next = page.data?.next_cursor
  const columns: Column<RuleVersion>[] = [
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
      title: 'Why',
      cell: ({ comment }) => <span class="break">{comment ?? <span class="faint">not said</span>}</span>,
    },
    { title: 'Domains', cell: ({ domains }) => <span class="break">{domains.join(', ')}</span> },
    { title: 'Limits', align: 'right', cell: ({ limits }) => <Count of={limits} /> },
    ...(may('admin') ? [{ title: 'Roll back', isTitleHidden: true, isTight: true, cell: rollBackButton }] : []),
  ]
  function rollBackButton(row: RuleVersion) {
    if (row.is_active) return null
    return (
      <Button isSmall icon="undo" label={`Roll back to version ${row.version}`} onClick={() => setChosen(row)}>
        Roll back
      </Button>
    )
  }
  return (
    <>
      <PageHead
        title="Versions of the rules"
        about="Each set of rules that was put through the API. Nothing is lost: going back makes a new version."
      >
        <a class="button" href="/rules/edit">
          {may('admin') ? 'Edit as YAML' : 'See the YAML'}
        </a>
      </PageHead>
      <Card isFlush>
        {isWithoutDatabase(page.problem) ? (
          <State icon="rules" title="Rules come from files alone">
            There is no database to keep versions in.
          </State>
        ) : (
          <Table
            label="Versions of the rules"
            columns={columns}
            rows={page.data?.items}
            keyOf={({ version }) => String(version)}
            hrefOf={addressOf}
            problem={page.problem}
            reload={page.reload}
            empty={
              <State icon="rules" title="No rules were put through the API yet">
                Rules of files have their versions where the files are kept. <a href="/rules/edit">Put rules here</a>
              </State>
            }
          />
        )}
        {(cursors.length > 0 || next) && (
          <div class="row apart pager">
            <Button isSmall isDisabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
              Newer
            </Button>
            <Button isSmall isDisabled={!next} onClick={() => next && setCursors([...cursors, next])}>
              Older
            </Button>
          </div>
        )}
      </Card>
      {chosen && <RollBackDialog version={chosen.version} onClose={() => setChosen(undefined)} onDone={page.reload} />}
    </>
  )
}
