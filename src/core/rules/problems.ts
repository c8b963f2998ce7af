import { type ErrorCode, SluiceError } from '../errors.ts'

/** More errors than this help nobody; a file of another kind, given by mistake, has hundreds of thousands. */
const MAX_ERRORS = 1_000

/** A RulesError is everything that is wrong with a set of rules, not only the first thing. */
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

/** A Place is where an error is. Line and column begin at 1, and are 0 for what is about a whole file. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** inOrder sorts errors as one reads: by file, line and column. Those of objects stay in the order of their finding. */
function inOrder(errors: readonly SluiceError[]): readonly SluiceError[] {
  const placed = errors.map((error) => ({ error, place: placeOf(error) }))
  if (placed.every(({ place }) => place.line === 0)) return errors
  return placed.sort((a, b) => byPlace(a.place, b.place)).map(({ error }) => error)
}

function byPlace(a: Place, b: Place): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** placeOf reads `rules/api.yaml:14:5`. What is about a whole file comes before its first line. */
export function placeOf({ where }: SluiceError): Place {
  const match = /^(.*):(\d+):(\d+)$/s.exec(where)
  if (match === null) return { file: where, line: 0, column: 0 }
  return { file: match[1], line: Number(match[2]), column: Number(match[3]) }
}

/** Problems collects errors while rules are compiled. */
export class Problems {
  readonly #errors: SluiceError[] = []
  readonly #messages = new Set<string>()
  #omitted = 0

  /** count is how many were reported so far. */
  get count(): number {
    return this.#errors.length + this.#omitted
  }

  /** add reports an error, once: what an alias or a tier puts in several places is wrong in one. */
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

  /** omit counts errors that are not worth telling. */
  omit(count: number): void {
    this.#omitted += count
  }

  /** throwIfAny ends the compilation when there was anything to report. */
  throwIfAny(): void {
    if (this.#errors.length > 0) throw new RulesError(this.#errors, this.#omitted)
  }
}
