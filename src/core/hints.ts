import { didYouMean } from './nearest.ts'

/** What hints need to know of a value. */
export interface Expected {
  /** What it may be, in words. */
  readonly expected?: string
  /** The words that it may be. */
  readonly words?: readonly string[]
  readonly isNumber?: boolean
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

/** Returns what an error about an unknown option ends with. */
export function nameHint(name: string, known: readonly string[]): string {
  const own = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined
  return own !== undefined && known.includes(own.name) ? otherName(own) : didYouMean(name, known)
}

function otherName({ name, example }: OwnName): string {
  return `, write ${name}: ${example}; options of other libraries are accepted by sluice/compat/…`
}

/** Returns what an error about a value ends with, whose sentence says what was expected. */
export function valueHint(value: unknown, { words, isNumber }: Expected): string {
  if (isNumber === true && Number.isNaN(value)) return '; Number(process.env.X) is NaN when X is not set'
  if (typeof value !== 'string') return ''
  const isDigits = isNumber === true && value.trim() !== '' && !Number.isNaN(Number(value))
  if (isDigits) return '; write Number(process.env.X) to read a number from the environment'
  return didYouMean(value, words ?? [])
}

/** The same, where no sentence says it. */
export function expectedHint(value: unknown, form: Expected): string {
  return `, expected ${form.expected}${valueHint(value, form)}`
}
