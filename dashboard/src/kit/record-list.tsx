import type { ComponentChildren } from 'preact'
import type { ApiProblem } from '../api/problem.ts'
import { go } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Button } from '../ui/button.tsx'
import type { IconName } from '../ui/icon.tsx'
import { Notice, Skeleton, Trouble } from '../ui/parts.tsx'

/** A Column says what a cell of it shows. Figures are aligned right; a tight column is as wide as it must be. */
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

/** A Listing is the rows of a list: a resource, or pages of one. */
export interface Listing<Row> {
  readonly data: readonly Row[] | undefined
  readonly problem?: ApiProblem | undefined
  readonly isOld?: boolean
  readonly hasMore?: boolean
  readonly isLoadingMore?: boolean
  reload?(): void
  more?(): void
}

interface ListProps<Row> {
  /** What a screen reader calls it. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly list: Listing<Row>
  readonly keyOf: (row: Row) => string
  readonly hrefOf?: (row: Row) => string | undefined
  /** Shown without a row. */
  readonly empty: ComponentChildren
}

/** RecordList shows records and a button for more, or why there are none: they are loading, there are none, or reading them failed. */
export function RecordList<Row>({ label, columns, list, keyOf, hrefOf, empty }: ListProps<Row>) {
  const { data: rows, problem, isOld = false, hasMore, isLoadingMore, reload, more } = list
  if (rows === undefined) {
    return problem === undefined ? <Skeleton /> : <Trouble problem={problem} {...(reload && { retry: reload })} />
  }
  if (rows.length === 0) return <>{empty}</>
  return (
    <>
      <div
        class={isOld ? 'table-box old' : 'table-box'}
        role="region"
        aria-label={label}
        tabIndex={0}
        aria-busy={isOld}
      >
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
      {problem && <Notice tone="bad">{problem.message}</Notice>}
      {hasMore && more && (
        <div class="more">
          <Button isDisabled={isLoadingMore} onClick={more}>
            {isLoadingMore ? 'Loading…' : 'Show more'}
          </Button>
        </div>
      )}
    </>
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

interface ActionProps<Row> {
  readonly title: string
  /** The name of the button, which says what it is about. */
  readonly label: (row: Row) => string
  /** With an icon, the button has no text. */
  readonly icon?: IconName
  readonly why?: string | undefined
  readonly isOffered?: (row: Row) => boolean
  readonly run: (row: Row) => void
}

/** actionColumn is a column of buttons for operators. With `why`, they are shown to all, and say why they cannot be used. */
export function actionColumn<Row>(action: ActionProps<Row>): Column<Row> {
  const { title, label, icon, why, isOffered = () => true, run } = action
  return {
    title,
    isTitleHidden: true,
    isTight: true,
    align: 'right',
    cell: (row) =>
      isOffered(row) &&
      ('why' in action || may('operator')) && (
        <Button
          isSmall
          kind={icon ? 'quiet' : 'plain'}
          icon={icon}
          why={why}
          label={label(row)}
          onClick={() => run(row)}
        >
          {icon === undefined && title}
        </Button>
      ),
  }
}
