import type { Preview } from '../../api/operations.ts'
import { fullTime, utcText } from '../../format/time.ts'
import { Count, Notice } from '../../ui/parts.tsx'
import { InForceView } from './in-force-view.tsx'
import { changeTitle, fieldWords, isTime } from './preview-words.ts'
import { TrafficView } from './traffic-view.tsx'

/** Fields that every record has, and that say nothing about a change. */
const UNTOLD = ['version', 'created_at', 'updated_at', 'id', 'hash']

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
  const rows = differences(change.before, change.after)
  const isNew = change.before === null
  const isGone = change.after === null
  return (
    <div class="changes">
      <h3 class="break">{name}</h3>
      {rows.length > 0 && (
        <div class="table-box" role="region" aria-label={`What changes: ${name}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Field</th>
                {!isNew && <th scope="col">Before</th>}
                {!isGone && <th scope="col">After</th>}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ field, was, will }) => (
                <tr key={field}>
                  <td>{fieldWords(field)}</td>
                  {!isNew && <td class={was === '' ? 'faint' : 'was'}>{shown(was)}</td>}
                  {!isGone && <td class={will === '' ? 'faint' : 'will'}>{shown(will)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}

/** shown formats a value: times in the zone of the viewer. */
function shown(value: string) {
  if (value === '') return '—'
  if (!isTime(value)) return value
  const ms = Date.parse(value)
  return <time title={utcText(ms)}>{fullTime(ms)}</time>
}

interface Difference {
  readonly field: string
  readonly was: string
  readonly will: string
}

/** differences lists the fields that differ. A value that is no record is one field. */
export function differences(before: unknown, after: unknown): Difference[] {
  if (!isRecord(before ?? after) || !isRecord(after ?? before)) {
    return [{ field: 'value', was: textOf(before), will: textOf(after) }].filter(({ was, will }) => was !== will)
  }
  const [was, will] = [(before ?? {}) as Record<string, unknown>, (after ?? {}) as Record<string, unknown>]
  return [...new Set([...Object.keys(was), ...Object.keys(will)])]
    .filter((field) => !UNTOLD.includes(field))
    .map((field) => ({ field, was: textOf(was[field]), will: textOf(will[field]) }))
    .filter((each) => each.was !== each.will)
}

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
