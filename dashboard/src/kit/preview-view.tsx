import type { Preview } from '../api/operations.ts'
import { fullTime, utcText } from '../format/time.ts'
import { Count, Notice } from '../ui/parts.tsx'
import { type Difference, differences } from './differences.ts'
import { InForceView } from './in-force-view.tsx'
import { changeTitle, fieldWords, isTime } from './preview-words.ts'
import { type Column, RecordList } from './record-list.tsx'
import { TrafficView } from './traffic-view.tsx'

/** PreviewView shows what would change: each field before and after, who is affected, and what it would have meant for requests. */
export function PreviewView({ preview }: { readonly preview: Preview }) {
  const { changes, affected_customers: affected, traffic, traffic_unknown: unknown, notes } = preview
  return (
    <div class="stack">
      {changes.map((change, i) => (
        <Change key={i} {...change} />
      ))}
      {affected !== null && (
        <p class="small soft">
          Customers affected: <Count of={affected} />
        </p>
      )}
      <InForceView {...preview} />
      {unknown !== null && <p class="small soft">What it means for requests is not known. {unknown}</p>}
      <TrafficView traffic={traffic} />
      {notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
    </div>
  )
}

function Change(change: Preview['changes'][number]) {
  // What is reset is named by the dialog, and counted by a note.
  if (change.kind === 'counters') return null
  const name = changeTitle(change)
  const columns: readonly Column<Difference>[] = [
    { title: 'Field', cell: ({ field }) => fieldWords(field) },
    ...(change.before === null ? [] : [valueColumn('Before', 'was')]),
    ...(change.after === null ? [] : [valueColumn('After', 'will')]),
  ]
  return (
    <div class="changes">
      <h3 class="break">{name}</h3>
      <RecordList
        label={`What changes: ${name}`}
        columns={columns}
        list={{ data: differences(change.before, change.after) }}
        keyOf={({ field }) => field}
        empty={null}
      />
    </div>
  )
}

const valueColumn = (title: string, side: 'was' | 'will'): Column<Difference> => ({
  title,
  cell: (row) => <span class={row[side] === '' ? 'faint' : side}>{shown(row[side])}</span>,
})

/** shown formats a value: times in the zone of the viewer. */
function shown(value: string) {
  if (value === '') return '—'
  if (!isTime(value)) return value
  const ms = Date.parse(value)
  return <time title={utcText(ms)}>{fullTime(ms)}</time>
}
