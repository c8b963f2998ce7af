import { SluiceError } from '../core/errors.ts'
import { GATE_OPTIONS } from '../http-door/gate.ts'

/**
 * An OptionKind tells the plain options from those of a library that people come from, and refuses a mixture: half of it
 * would be ignored. `shared` are the names that both have, `added` those that a framework adds to the plain ones.
 */
export class OptionKind {
  readonly #library: string
  readonly #shared: ReadonlySet<string>
  readonly #plain: ReadonlySet<string>

  constructor(library: string, shared: readonly string[], added: readonly string[] = []) {
    this.#library = library
    this.#shared = new Set([...shared, 'observer'])
    this.#plain = new Set([...GATE_OPTIONS, ...added].filter((name) => !this.#shared.has(name)))
  }

  isPlain(options: object): boolean {
    const names = Object.keys(options).filter((name) => (options as Record<string, unknown>)[name] !== undefined)
    const plain = names.find((name) => this.#plain.has(name))
    if (plain === undefined) return false
    const other = names.find((name) => !this.#plain.has(name) && !this.#shared.has(name))
    if (other !== undefined) {
      const detail = `it does not go with ${plain}: one is of ${this.#library}`
      throw new SluiceError('GATE_OPTIONS_INVALID', other, detail)
    }
    return true
  }
}
