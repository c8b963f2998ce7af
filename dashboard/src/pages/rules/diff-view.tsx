import { useMemo, useState } from 'preact/hooks'
import { Button } from '../../ui/button.tsx'
import { State } from '../../ui/parts.tsx'
import { changeCount, type DiffLine, diffLines, hunksOf } from './line-diff.ts'

const SIGNS = { same: ' ', gone: '−', new: '+' }
const SPOKEN = { same: '', gone: 'removed: ', new: 'added: ' }
const MOST_LINES = 400

/** DiffView shows the lines that differ, with those around them. */
export function DiffView({
  before,
  after,
  label,
}: {
  readonly before: string
  readonly after: string
  readonly label: string
}) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const hunks = useMemo(() => hunksOf(lines), [lines])
  const [most, setMost] = useState(MOST_LINES)
  if (hunks.length === 0) return <State icon="check" title="No difference" />
  let left = most
  return (
    <div class="diff" role="region" aria-label={label} tabIndex={0}>
      {hunks.map(({ skipped, lines: inside }, i) => {
        const shown = inside.slice(0, Math.max(0, left))
        left -= inside.length
        return (
          <div key={i}>
            {skipped > 0 && shown.length > 0 && <Skipped count={skipped} />}
            {shown.map((line, j) => (
              <Line key={j} line={line} />
            ))}
          </div>
        )
      })}
      {left < 0 && (
        <div class="diff-more">
          <Button isSmall onClick={() => setMost(most * 5)}>
            Show more lines
          </Button>
        </div>
      )}
    </div>
  )
}

const Skipped = ({ count }: { readonly count: number }) => (
  <div class="diff-skipped">
    {count} {count === 1 ? 'line' : 'lines'} as before
  </div>
)

function Line({ line: { kind, text, before, after } }: { readonly line: DiffLine }) {
  return (
    <div class={`diff-line ${kind}`}>
      <span class="diff-number" aria-hidden="true">
        {before ?? ''}
      </span>
      <span class="diff-number" aria-hidden="true">
        {after ?? ''}
      </span>
      <span class="diff-sign" aria-hidden="true">
        {SIGNS[kind]}
      </span>
      <span class="diff-text">
        {kind !== 'same' && <span class="hidden-text">{SPOKEN[kind]}</span>}
        {text === '' ? ' ' : text}
      </span>
    </div>
  )
}

/** ChangeCount says how many lines were added and removed. */
export function ChangeCount({ before, after }: { readonly before: string; readonly after: string }) {
  const { added, removed } = useMemo(() => changeCount(diffLines(before, after)), [before, after])
  if (added + removed === 0) return <span class="faint small">no change</span>
  return (
    <span class="small num">
      <span class="diff-added">+{added}</span> <span class="diff-removed">−{removed}</span> lines
    </span>
  )
}
