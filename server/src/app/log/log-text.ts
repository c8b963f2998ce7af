/** A line of the log in its JSON form. */
export interface LogRecord {
  readonly level: string
  /** An ISO 8601 time in UTC. */
  readonly time: string
  readonly event: string
  readonly msg: string
  readonly [field: string]: unknown
}

const COLOURS: ReadonlyMap<string, string> = new Map([
  ['debug', '\u001b[2m'],
  ['warn', '\u001b[33m'],
  ['error', '\u001b[31m'],
])
const PLAIN = '\u001b[0m'
const DIM = '\u001b[2m'

/** Characters that would move a terminal's cursor, or pretend to be something else. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\0-\x09\x0b-\x1f\x7f-\x9f]/g

/**
 * Formats a record for people: time, level, message, then its fields as name=value. Lines after the first are indented,
 * so that none can pass for a separate record.
 */
export function formatRecord(record: LogRecord, isTerminal: boolean): string {
  const { level, time, event: _, msg, ...fields } = record
  // Lists are for machines: the message has what people need of them.
  const shown = Object.entries(fields).filter(([, value]) => !Array.isArray(value))
  const rest = shown.map(([name, value]) => ` ${name}=${valueText(value)}`)
  const message = msg.replace(CONTROL, escaped).replaceAll('\n', '\n  ')
  if (!isTerminal) return `${time} ${level.padEnd(5)} ${message}${rest.join('')}\n`
  const line = `${level.padEnd(5)} ${message}`
  const clock = new Date(time).toTimeString().slice(0, 8)
  if (process.env.NO_COLOR) return `${clock} ${line}${rest.join('')}\n`
  const painted = COLOURS.has(level) ? `${COLOURS.get(level)}${line}${PLAIN}` : line
  return `${DIM}${clock}${PLAIN} ${painted}${rest.length === 0 ? '' : `${DIM}${rest.join('')}${PLAIN}`}\n`
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w.:/@…+,-]+$/.test(text) ? text : JSON.stringify(text)
}

function escaped(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}
