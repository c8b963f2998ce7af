import { parseArgs } from 'node:util'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { nearest } from 'sluice/internal/core/nearest'

/** One flag of a command. Without `value` it is a switch. */
export interface FlagSpec {
  readonly flag: string
  /** What the help calls the value. */
  readonly value?: string
  /** Its variable, which may be mistaken for the flag's name. */
  readonly env?: string
}

/** A parsed command line: each flag with its values in order, and everything else. */
export interface Flags {
  all(flag: string): readonly string[]
  last(flag: string): string | undefined
  has(flag: string): boolean
  /** Returns whether a switch is: `--switch` and `--switch=true` are on, `--switch=false` is off. */
  isOn(flag: string): boolean
  readonly rest: readonly string[]
}

/** Reads a command line. A flag that the command does not have, or one without its value, is an error. */
export function parseFlags(command: string, specs: readonly FlagSpec[], args: readonly string[]): Flags {
  const options = Object.fromEntries(
    specs.map(({ flag, value }) => [flag, { type: value === undefined ? ('boolean' as const) : ('string' as const) }]),
  )
  // Not strict: the parser's own errors span several lines and mention its options.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const values = new Map<string, string[]>()
  const rest: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') rest.push(token.value)
    else if (!Object.hasOwn(options, token.name)) {
      throw new SluiceError('FLAG_UNKNOWN', command, `${got(token.rawName)}${meantBy(token.rawName, specs)}`)
    } else if (options[token.name].type === 'string' && !token.value) {
      throw new SluiceError('FLAG_VALUE_MISSING', token.rawName, 'no value')
    } else values.set(token.name, [...(values.get(token.name) ?? []), token.value ?? 'true'])
  }
  return {
    all: (flag) => values.get(flag) ?? [],
    last: (flag) => values.get(flag)?.at(-1),
    has: (flag) => values.has(flag),
    isOn: (flag) => switchOf(values.get(flag)?.at(-1) ?? 'false', `--${flag}`),
    rest,
  }
}

/**
 * Suggests the flag of that name, or of a variable of that name: PORT is also called `--port`, and sets --http-port.
 */
function meantBy(name: string, specs: readonly FlagSpec[]): string {
  const flags = new Map(specs.map(({ flag }) => [`--${flag}`, `--${flag}`]))
  for (const { flag, env } of specs) {
    const alias = `--${env?.toLowerCase().replaceAll('_', '-')}`
    if (env !== undefined && !flags.has(alias)) flags.set(alias, `--${flag}`)
  }
  const meant = flags.get(nearest(name, flags.keys()) ?? '')
  return meant === undefined ? '' : `, did you mean "${meant}"?`
}

/** Reads the value of a switch. */
export function switchOf(value: string, where: string): boolean {
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new SluiceError('SWITCH_INVALID', where, got(value))
}
