import { checkOptions, unknownOption } from '../core/check-options.ts'
import { SluiceError } from '../core/errors.ts'
import type { Forms } from '../core/option-forms.ts'

/**
 * An OptionKind tells the plain options from those of a library that people come from, and refuses a mixture: half of it
 * would be ignored.
 */
export class OptionKind {
  readonly #library: string
  readonly #plain: Forms
  readonly #other: Forms

  constructor(library: string, plain: Forms, other: Forms) {
    this.#library = library
    this.#plain = plain
    this.#other = other
  }

  /** isPlain says of which kind options are: plain where any is of those alone. */
  isPlain(options: object): boolean {
    const names = namesOf(options)
    const plain = names.find((name) => isIn(this.#plain, name) && !isIn(this.#other, name))
    if (plain === undefined) return false
    const other = names.find((name) => isIn(this.#other, name) && !isIn(this.#plain, name))
    if (other !== undefined) {
      const detail = `it does not go with ${plain}: one is of ${this.#library}`
      throw new SluiceError('GATE_OPTIONS_INVALID', other, detail)
    }
    return true
  }

  /** isOther says whether any option is of the other library alone. */
  isOther(options: object): boolean {
    return namesOf(options).some((name) => isIn(this.#other, name) && !isIn(this.#plain, name))
  }

  /** checkOther holds options of the other library to their names and values. A name may be meant to be one of either kind. */
  checkOther(options: object, forms: Forms = this.#other): void {
    this.checkNames(options)
    checkOptions(options, forms)
  }

  checkNames(options: object): void {
    const both = { ...this.#other, ...this.#plain }
    const unknown = Object.keys(options).find((name) => !isIn(both, name))
    if (unknown !== undefined) throw unknownOption(unknown, Object.keys(both))
  }

  /** expectPlain refuses options of the other kind where those before were plain, as of a route and its plugin. */
  expectPlain(options: object, isExpected: boolean): void {
    if (this.isPlain(options) ? isExpected : !isExpected || !this.isOther(options)) return
    const forms = isExpected ? this.#plain : this.#other
    const name = namesOf(options).find((each) => !isIn(forms, each)) as string
    const detail = `the options before are ${isExpected ? 'plain' : `those of ${this.#library}`}, and these must be, too`
    throw new SluiceError('GATE_OPTIONS_INVALID', name, detail)
  }
}

function namesOf(options: object): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}

function isIn(forms: Forms, name: string): boolean {
  return Object.hasOwn(forms, name)
}
