import { formatDuration } from './duration.ts'
import { got, SluiceError } from './errors.ts'
import { didYouMean } from './nearest.ts'
import { DURATION, type Form, type Forms } from './option-forms.ts'

/**
 * checkOptions holds options to their names, types and values: a typo must not switch a limit off. Undefined is not given.
 * `at` is what stands before a name in errors: `limits[0].`.
 */
export function checkOptions(options: unknown, forms: Forms, at = ''): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new SluiceError('GATE_OPTIONS_INVALID', at.slice(0, -1) || 'options', `${got(options)}; it is an object`)
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(forms, name)) throw unknownOption(name, Object.keys(forms), at)
    if (value !== undefined) checkOption(value, forms[name], at + name)
  }
}

/** checkOption holds one value to its form. `where` is the option. */
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
  return new SluiceError('OPTION_UNKNOWN', at + name, `no such option${hint}`)
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
  return `, write ${name}: ${example}; the options of other libraries go with sluice/compat/…`
}

/** gotInstead spells a value, and the mistake behind it where that is known. */
export function gotInstead(value: unknown, { words, isNumber }: Pick<Form, 'words' | 'isNumber'>): string {
  if (isNumber === true && Number.isNaN(value))
    return `${got(value)}, which Number(process.env.X) is where X is not set`
  if (typeof value !== 'string') return got(value)
  const isDigits = isNumber === true && value.trim() !== '' && !Number.isNaN(Number(value))
  if (isDigits) return `${got(value)}, a text: write Number(process.env.X) for a number of the environment`
  return got(value) + didYouMean(value, words ?? [])
}

/** wrongValue says what is wrong; what is right, the rule of a code that is the option's own says by itself. */
function wrongValue(value: unknown, form: Form, where: string): SluiceError {
  const { code, expected } = form
  if (form === DURATION && typeof value === 'number') {
    const detail = `${got(value)}; write '${value}s' for seconds, '${formatDuration(value)}' for milliseconds`
    return new SluiceError('DURATION_UNIT_MISSING', where, detail)
  }
  const instead = gotInstead(value, form)
  if (code !== undefined) return new SluiceError(code, where, instead)
  return new SluiceError('GATE_OPTIONS_INVALID', where, `${instead}; it is ${expected}`)
}
