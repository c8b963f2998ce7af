import type { Ref } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import type { RuleProblem } from '../../api/problem.ts'

interface EditorProps {
  readonly text: string
  readonly problems: readonly RuleProblem[]
  readonly isReadOnly: boolean
  readonly describedBy: string
  readonly area: Ref<HTMLTextAreaElement>
  readonly onInput: (text: string) => void
}

/** YamlEditor is a plain text area with numbers of lines. Lines that are wrong are marked. */
export function YamlEditor({ text, problems, isReadOnly, describedBy, area, onInput }: EditorProps) {
  const gutter = useRef<HTMLDivElement>(null)
  const marks = useRef<HTMLDivElement>(null)
  const numbers = useMemo(() => {
    const count = text.split('\n').length
    return Array.from({ length: count }, (_, i) => i + 1).join('\n')
  }, [text])
  const lines = useMemo(() => [...new Set(problems.map(({ line }) => line))], [problems])
  const scroll = ({ currentTarget: { scrollTop } }: { currentTarget: HTMLTextAreaElement }): void => {
    for (const { current } of [gutter, marks]) current?.style.setProperty('transform', `translateY(${-scrollTop}px)`)
  }
  return (
    <div class="editor">
      <div class="editor-gutter" aria-hidden="true">
        <div ref={gutter}>
          <pre>{numbers}</pre>
        </div>
      </div>
      <div class="editor-page">
        <div class="editor-marks" aria-hidden="true">
          <div ref={marks}>
            {lines.map((line) => (
              <span key={line} style={{ top: `calc(${line - 1} * var(--line-height))` }} />
            ))}
          </div>
        </div>
        <textarea
          ref={area}
          aria-label="Rules as YAML"
          aria-invalid={problems.length > 0 ? 'true' : undefined}
          aria-describedby={describedBy}
          wrap="off"
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          readOnly={isReadOnly}
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={keepIndent}
          onScroll={scroll}
        />
      </div>
    </div>
  )
}

/** keepIndent begins a new line where the one before began. Tab goes on to the next control, as everywhere. */
function keepIndent(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || event.isComposing || event.ctrlKey || event.metaKey) return
  const area = event.currentTarget as HTMLTextAreaElement
  if (area.readOnly) return
  const before = area.value.slice(0, area.selectionStart)
  const [indent] = /^[ ]*(?:- )?/.exec(before.slice(before.lastIndexOf('\n') + 1)) ?? ['']
  if (indent === '') return
  event.preventDefault()
  // The one way that the browser's own undo knows of.
  document.execCommand('insertText', false, `\n${' '.repeat(indent.length)}`)
}

/** showLine puts the cursor to a place in the text, and scrolls there. Both count from 1. */
export function showLine(area: HTMLTextAreaElement, line: number, column: number): void {
  const lines = area.value.split('\n')
  const from = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
  area.focus()
  area.setSelectionRange(from + column - 1, from + (lines[line - 1]?.length ?? 0))
  const height = Number.parseFloat(getComputedStyle(area).lineHeight)
  area.scrollTop = Math.max(0, (line - 5) * height)
}
