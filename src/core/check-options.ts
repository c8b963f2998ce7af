import { formatDuration } from './duration.ts'
import { got, SluiceError } from './errors.ts'
import type { Expected } from './hints.ts'
import { expectedHint, nameHint, valueHint } from './hints-code.ts'
import { DURATION, type Form, type Forms } from './option-forms.ts'

/**
 * Holds options to their names, types and values: a typo must not switch a limit off. Undefined is not given. `at` is
 * what stands before a name in errors: `limits[0].`.
 */
export function checkOptions(options: unknown, forms: Forms, at = ''): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new SluiceError('GATE_OPTIONS_INVALID', at.slice(0, -1) || 'options', `${got(options)}, expected an object`)
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(forms, name)) throw unknownOption(name, Object.keys(forms), at)
    if (value !== undefined) checkOption(value, forms[name], at + name)
  }
}

/** Holds one value to its form. `where` is the option. */
export function checkOption(value: unknown, form: Form, where: string): void {
  if (!form.is(value)) throw wrongValue(value, form, where)
  if (form.each !== undefined && Array.isArray(value)) {
    for (const [i, element] of value.entries()) checkOption(element, form.each, `${where}[${i}]`)
    return
  }
  const inside = typeof value === 'object' && value !== null ? form.inside?.(value) : undefined
  if (inside !== undefined) checkOptions(value, inside, `${where}.`)
}

export function unknownOption(name: string, known: readonly string[], at = ''): SluiceError {
  return new SluiceError('OPTION_UNKNOWN', at + name, `unknown option${nameHint(name, known)}`)
}

/** Formats a value for an error, with a hint where the mistake behind it is known. */
export function gotInstead(value: unknown, form: Expected): string {
  return got(value) + valueHint(value, form)
}

function wrongValue(value: unknown, form: Form, where: string): SluiceError {
  const { code } = form
  if (form === DURATION && typeof value === 'number') {
    const detail = `${got(value)}; write '${value}s' for seconds, '${formatDuration(value)}' for milliseconds`
    return new SluiceError('DURATION_UNIT_MISSING', where, detail)
  }
  if (code !== undefined) return new SluiceError(code, where, gotInstead(value, form))
  return new SluiceError('GATE_OPTIONS_INVALID', where, got(value) + expectedHint(value, form))
}
