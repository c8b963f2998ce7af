import { formatDuration } from './duration.ts'
import { got, SluiceError } from './errors.ts'
import { didYouMean } from './nearest.ts'
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
  const own = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined
  const hint = own !== undefined && known.includes(own.name) ? otherName(own) : didYouMean(name, known)
  return new SluiceError('OPTION_UNKNOWN', at + name, `unknown option${hint}`)
}

interface OwnName {
  readonly name: string
  readonly example: string
}

const WINDOW: OwnName = { name: 'window', example: "'60s'" }
const LIMIT: OwnName = { name: 'limit', example: '100' }

/** What other libraries call our options: people write the names that they know. */
const ELSEWHERE: Readonly<Record<string, OwnName>> = {
  windowMs: WINDOW,
  timeWindow: WINDOW,
  duration: WINDOW,
  interval: WINDOW,
  ttl: WINDOW,
  max: LIMIT,
  points: LIMIT,
  tokens: LIMIT,
}

function otherName({ name, example }: OwnName): string {
  return `, write ${name}: ${example}; options of other libraries are accepted by sluice/compat/…`
}

/** Formats a value for an error, with a hint where the mistake behind it is known. */
export function gotInstead(value: unknown, form: Pick<Form, 'words' | 'isNumber'>): string {
  return got(value) + hintFor(value, form)
}

function hintFor(value: unknown, { words, isNumber }: Pick<Form, 'words' | 'isNumber'>): string {
  if (isNumber === true && Number.isNaN(value)) return '; Number(process.env.X) is NaN when X is not set'
  if (typeof value !== 'string') return ''
  const isDigits = isNumber === true && value.trim() !== '' && !Number.isNaN(Number(value))
  if (isDigits) return '; write Number(process.env.X) to read a number from the environment'
  return didYouMean(value, words ?? [])
}

function wrongValue(value: unknown, form: Form, where: string): SluiceError {
  const { code, expected } = form
  if (form === DURATION && typeof value === 'number') {
    const detail = `${got(value)}; write '${value}s' for seconds, '${formatDuration(value)}' for milliseconds`
    return new SluiceError('DURATION_UNIT_MISSING', where, detail)
  }
  const hint = hintFor(value, form)
  if (code !== undefined) return new SluiceError(code, where, got(value) + hint)
  return new SluiceError('GATE_OPTIONS_INVALID', where, `${got(value)}, expected ${expected}${hint}`)
}
