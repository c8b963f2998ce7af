import { type ErrorCode, SluiceError } from '../errors.ts'

/** A longer list does not help; a file of another kind, given by mistake, has hundreds of thousands of errors. */
const MAX_ERRORS = 1_000

/** Everything that is wrong with a set of rules, not only the first thing. */
export class RulesError extends Error {
  override readonly name = 'RulesError'
  readonly errors: readonly SluiceError[]
  /** How many more there are than `errors` holds. */
  readonly omitted: number

  constructor(errors: readonly SluiceError[], omitted = 0) {
    const ordered = inOrder(errors)
    const shown = ordered.slice(0, MAX_ERRORS)
    const left = omitted + ordered.length - shown.length
    super([...shown.map(({ message }) => message), ...(left > 0 ? [`… and ${left} more`] : [])].join('\n'))
    this.errors = shown
    this.omitted = left
  }
}

/** Where an error is. Line and column begin at 1, and are 0 for errors about a whole file. */
export interface ErrorPlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

/**
 * Sorts errors in reading order: by file, line and column. Errors of objects stay in the order in which they were
 * found.
 */
function inOrder(errors: readonly SluiceError[]): readonly SluiceError[] {
  const placed = errors.map((error) => ({ error, place: placeOf(error) }))
  if (placed.every(({ place }) => place.line === 0)) return errors
  return placed.sort((a, b) => byPlace(a.place, b.place)).map(({ error }) => error)
}

function byPlace(a: ErrorPlace, b: ErrorPlace): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** Reads `rules/api.yaml:14:5`. What is about a whole file comes before its first line. */
export function placeOf({ where }: SluiceError): ErrorPlace {
  const match = /^(.*):(\d+):(\d+)$/s.exec(where)
  if (match === null) return { file: where, line: 0, column: 0 }
  return { file: match[1], line: Number(match[2]), column: Number(match[3]) }
}

/** Collects errors while rules are compiled. */
export class Problems {
  readonly #errors: SluiceError[] = []
  readonly #messages = new Set<string>()
  #omitted = 0

  /** Returns how many were reported so far. */
  get count(): number {
    return this.#errors.length + this.#omitted
  }

  /** Reports an error, once: what an alias or a tier puts in several places is wrong in one. */
  add(code: ErrorCode, where: string, detail: string): void {
    if (this.#errors.length >= MAX_ERRORS) {
      this.#omitted++
      return
    }
    const error = new SluiceError(code, where, detail)
    if (this.#messages.has(error.message)) return
    this.#messages.add(error.message)
    this.#errors.push(error)
  }

  /** Counts errors that are not worth reporting. */
  omit(count: number): void {
    this.#omitted += count
  }

  /** Ends the compilation when there was anything to report. */
  throwIfAny(): void {
    if (this.#errors.length > 0) throw new RulesError(this.#errors, this.#omitted)
  }
}
