/** A DiffLine is one line of a difference, with its number in the text before, in the one after, or in both. */
export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
  readonly before: number | undefined
  readonly after: number | undefined
}

/** A Hunk is lines that follow each other. `skipped` is how many like before were left out in front of it. */
export interface Hunk {
  readonly skipped: number
  readonly lines: readonly DiffLine[]
}

/** Above so many cells of the table, what lies between the first and the last change is shown as replaced. */
const MOST_CELLS = 16_000_000
const CONTEXT = 3

/** linesOf splits a text. A line feed at its end begins no line. */
export function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** diffLines says which lines are gone and which are new, as few of them as there can be. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [was, will] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < was.length && head < will.length && was[head] === will[head]) head++
  let tail = 0
  while (
    tail < was.length - head &&
    tail < will.length - head &&
    was[was.length - 1 - tail] === will[will.length - 1 - tail]
  )
    tail++
  const lines: DiffLine[] = []
  const same = (a: number, b: number): void => {
    lines.push({ kind: 'same', text: was[a], before: a + 1, after: b + 1 })
  }
  for (let i = 0; i < head; i++) same(i, i)
  const [lastWas, lastWill] = [was.length - tail, will.length - tail]
  const kept = commonLines(was.slice(head, lastWas), will.slice(head, lastWill))
  let [a, b] = [head, head]
  for (const [atWas, atWill] of [...kept, [lastWas - head, lastWill - head] as const]) {
    for (; a < head + atWas; a++) lines.push({ kind: 'gone', text: was[a], before: a + 1, after: undefined })
    for (; b < head + atWill; b++) lines.push({ kind: 'new', text: will[b], before: undefined, after: b + 1 })
    if (a < lastWas && b < lastWill) same(a++, b++)
  }
  for (let i = 0; i < tail; i++) same(lastWas + i, lastWill + i)
  return lines
}

/** commonLines is the longest list of lines that both have in the same order, as pairs of positions. */
function commonLines(was: readonly string[], will: readonly string[]): (readonly [number, number])[] {
  const width = will.length + 1
  if (was.length === 0 || will.length === 0 || (was.length + 1) * width > MOST_CELLS) return []
  // lengths[i][j] is how many lines was[i…] and will[j…] have in common.
  const lengths = new Uint16Array((was.length + 1) * width)
  for (let i = was.length - 1; i >= 0; i--) {
    for (let j = will.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        was[i] === will[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1])
    }
  }
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < was.length && j < will.length; ) {
    if (was[i] === will[j]) pairs.push([i++, j++])
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++
    else j++
  }
  return pairs
}

/** hunksOf leaves out what is far from any change. Without a change there are none. */
export function hunksOf(lines: readonly DiffLine[], context = CONTEXT): Hunk[] {
  const hunks: { skipped: number; lines: DiffLine[] }[] = []
  let shownTo = 0
  for (let i = 0; i < lines.length; i++) {
    if (lines[i].kind === 'same') continue
    const from = Math.max(shownTo, i - context)
    const to = Math.min(lines.length, i + 1 + context)
    if (hunks.length === 0 || from > shownTo) hunks.push({ skipped: from - shownTo, lines: [] })
    hunks.at(-1)?.lines.push(...lines.slice(from, to))
    shownTo = Math.max(shownTo, to)
  }
  return hunks
}

/** changeCount is how many lines are new and how many are gone. */
export function changeCount(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length
  return { added: count('new'), removed: count('gone') }
}
