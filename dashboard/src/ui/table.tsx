import type { ComponentChildren } from 'preact'
import type { ApiProblem } from '../api/problem.ts'
import { go } from '../app/router.ts'
import { Skeleton, Trouble } from './parts.tsx'

/** A Column says what a cell of it shows. Figures stand at the right; a tight column is as wide as it must be. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly align?: 'right'
  readonly isTight?: boolean
  /** For sentences: they are not squeezed to a word a line. */
  readonly isWordy?: boolean
  /** The title is for screen readers only: for columns of buttons. */
  readonly isTitleHidden?: boolean
}

interface TableProps<Row> {
  /** What a screen reader calls it. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[] | undefined
  readonly keyOf: (row: Row) => string
  readonly hrefOf?: (row: Row) => string | undefined
  readonly problem?: ApiProblem | undefined
  readonly reload?: () => void
  /** What stands there without a row. */
  readonly empty: ComponentChildren
}

/** Table shows rows, or why there are none: they are loading, there are none, or reading them failed. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, hrefOf, problem, reload, empty } = props
  if (rows === undefined) {
    if (problem === undefined) return <Skeleton />
    return <Trouble problem={problem} {...(reload && { retry: reload })} />
  }
  if (rows.length === 0) return <>{empty}</>
  return (
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.isTitleHidden ? <span class="hidden-text">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={keyOf(row)} row={row} columns={columns} href={hrefOf?.(row)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row<T>({ row, columns, href }: { row: T; columns: readonly Column<T>[]; href: string | undefined }) {
  // The first cell holds a link for the keyboard; a click anywhere in the row follows it.
  const open = (event: MouseEvent): void => {
    if (href === undefined || (event.target as Element).closest('a, button, input, summary') !== null) return
    go(href)
  }
  return (
    <tr class={href === undefined ? undefined : 'link'} onClick={open}>
      {columns.map((column) => (
        <td key={column.title} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
}

function classOf({ align, isTight, isWordy }: Column<never>): string | undefined {
  const names = [align, isTight && 'tight', isWordy && 'wordy'].filter(Boolean)
  return names.length === 0 ? undefined : names.join(' ')
}
