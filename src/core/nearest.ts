/**
 * Returns the known name that a misspelled one probably means, or undefined. Case, `-` and `_` do not count. A letter
 * added, removed, replaced or swapped with the next is one edit; one edit for each three letters is near.
 */
export function nearest(name: string, known: Iterable<string>, maxEdits = editsFor(name)): string | undefined {
  const wanted = plain(name)
  let best: string | undefined
  let fewest = maxEdits + 1
  for (const candidate of known) {
    const text = plain(candidate)
    if (Math.abs(text.length - wanted.length) >= fewest) continue
    const edits = editsBetween(wanted, text, fewest)
    // A name of which no letter stays is another name.
    if (edits >= fewest || edits >= Math.max(wanted.length, 1)) continue
    best = candidate
    fewest = edits
  }
  return best
}

/** Returns what an error about an unknown name ends with: a suggestion, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known)
  return meant === undefined ? '' : `, did you mean "${meant}"?`
}

function editsFor(name: string): number {
  return Math.max(1, Math.floor(plain(name).length / 3))
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/**
 * Counts how many letters are to be added, removed, replaced or swapped to get from one to the other. It counts no
 * further than `enough`: nearly all names are far from each other, and that shows within a few letters.
 */
function editsBetween(a: string, b: string, enough: number): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1)
    }
    // A swap looks back by two rows.
    if (Math.min(...row) >= enough && Math.min(...last) >= enough) return enough
    before = last
    last = row
  }
  return last[b.length]
}
