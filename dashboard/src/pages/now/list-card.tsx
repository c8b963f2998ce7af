import type { ApiProblem } from '../../api/problem.ts'
import { type Column, RecordList } from '../../kit/record-list.tsx'
import { Skeleton, State } from '../../ui/parts.tsx'
import { useHeld } from './held.ts'

interface ListProps<Row> {
  readonly label: string
  /** Which rows: rows of another name are shown immediately, even while rows are held. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[] | undefined
  readonly keyOf: (row: Row) => string
  readonly problem?: ApiProblem | undefined
  readonly empty: string
  /** How its columns are laid out: a class of now.css. */
  readonly kind: string
  /** What stands below the rows. Its place is kept for the word that the order is held. */
  readonly foot: string
}

/** List is a table of a height that stays: rows scroll in it, and keep their places while the pointer or the focus is on them. */
export function List<Row>({ label, name, columns, rows, keyOf, problem, empty, kind, foot }: ListProps<Row>) {
  const held = useHeld(name, rows, keyOf)
  const shown = held.rows
  return (
    <div class={`list ${kind}`} {...held.listeners}>
      {shown === undefined ? (
        problem === undefined ? (
          <Skeleton lines={6} />
        ) : (
          <Quiet problem={problem} />
        )
      ) : (
        <RecordList
          label={label}
          columns={columns}
          list={{ data: shown }}
          keyOf={keyOf}
          empty={<State icon="check" title={empty} />}
        />
      )}
      {shown !== undefined && shown.length > 0 && (
        <p class="list-foot">{held.isHeld ? 'The order is kept while you are here' : foot}</p>
      )}
    </div>
  )
}

/** Quiet says in one line why a part of the page has nothing to show. The rest of the page does without it. */
export function Quiet({ problem }: { readonly problem: ApiProblem }) {
  return <p class="quiet">{quietText(problem)}</p>
}

function quietText({ code, isOffline, message }: ApiProblem): string {
  if (code === 'QUOTAS_UNAVAILABLE') return 'This needs a database, and there is none, or it is not there yet.'
  return isOffline ? 'The server cannot be reached.' : message
}
