import { got, SluiceError } from 'sluice/internal/core/errors'
import { didYouMean } from 'sluice/internal/core/nearest'
import { CsvLines, csvColumns } from './csv-lines.ts'
import { EnvoyLines } from './envoy-lines.ts'
import { JsonLines, wantedMembers } from './json-lines.ts'
import { FIELD_SOURCES, type FieldName, type LineReader, type Slots } from './line-reader.ts'
import { NginxLines } from './nginx-lines.ts'

export const FORMATS = ['nginx', 'envoy', 'json', 'csv', 'decisions'] as const

export type Format = (typeof FORMATS)[number]

/** Where fields of JSON and CSV logs come from, where it is not one of the names that are known. */
export type GivenSources = ReadonlyMap<string, string>

/** The fields of a decision log of the service that a replay needs. */
export const DECISION_FIELDS = ['domain', 'key_kind', 'key', 'cost', 'outcome'] as const

/** How a log is read. */
export interface OpenedFormat {
  readonly format: Format
  readonly reader: LineReader
  /** The place of each field in the values of a line. */
  readonly slots: Slots
  /** How many lines at the start are no requests. */
  readonly headerLines: number
}

/** Which fields a log has, before any of them is wanted. */
export interface FormatFields {
  readonly format: Format
  readonly header: string
}

const SAMPLE_LINES = 50

/** Recognises the format of a log by its first lines. */
export function detectFormat(name: string, text: string): Format {
  const lines = text.split('\n', SAMPLE_LINES).map((line) => line.trim())
  const votes = new Map<Format, number>()
  for (const line of lines) {
    const format = formatOf(line)
    if (format !== undefined) votes.set(format, (votes.get(format) ?? 0) + 1)
  }
  const [best] = [...votes].sort(([, a], [, b]) => b - a)
  if (best !== undefined) return best[0]
  if (timeColumn(csvColumns(lines[0] ?? '').names) !== undefined) return 'csv'
  throw new SluiceError('TRAFFIC_FORMAT_UNKNOWN', name, 'none of its first lines is in a known format')
}

function formatOf(line: string): Format | undefined {
  if (line.startsWith('{')) return line.includes('"key_kind":') ? 'decisions' : 'json'
  if (/^\[\d{4}-/.test(line)) return 'envoy'
  return /^\S+ .* \[\d\d\/\w{3}\/\d{4}:/.test(line) ? 'nginx' : undefined
}

function timeColumn(names: readonly string[]): string | undefined {
  return FIELD_SOURCES.time.find((name) => names.includes(name))
}

/** The fields of a log by their names. */
export interface KnownFields {
  /** Undefined where any name may be a field (JSON). */
  readonly names: ReadonlySet<string> | undefined
  /** Fields that are taken as they are, although others could be put together for them. */
  readonly direct: ReadonlySet<string>
}

/** Returns which fields a format has. */
export function fieldsOf({ format, header }: FormatFields, given: GivenSources): KnownFields {
  const direct = new Set(given.keys())
  if (format === 'json') return { names: undefined, direct }
  if (format === 'decisions') return { names: new Set(DECISION_FIELDS), direct }
  if (format !== 'csv') return { names: new Set(format === 'envoy' ? ENVOY_FIELDS : NGINX_FIELDS), direct }
  const { names } = csvColumns(header)
  if (names.includes('endpoint')) direct.add('endpoint')
  const known = Object.entries(FIELD_SOURCES).filter(([, sources]) => sources.some((name) => names.includes(name)))
  const fields = known.map(([field]) => field)
  const parts = fields.includes('request') ? ['method', 'target'] : []
  return { names: new Set([...names, ...fields, ...given.keys(), ...parts]), direct }
}

const ENVOY_FIELDS = ['forwarded_for', 'method', 'target', 'host', 'status', 'user_agent']
const NGINX_FIELDS = ['address', 'forwarded_for', 'user', 'method', 'target', 'status', 'user_agent', 'referer']

/** Opens a format for the fields that are wanted. */
export function openFormat(
  { format, header }: FormatFields,
  fields: Iterable<string>,
  given: GivenSources,
): OpenedFormat {
  const names = new Set(['time', 'status', ...fields])
  const needsRequest = names.has('method') || names.has('target')
  if (needsRequest && (format === 'json' || format === 'csv')) names.add('request')
  const slots: Slots = new Map([...names].map((name, i) => [name, i]))
  if (format === 'nginx') return { format, reader: new NginxLines(slots), slots, headerLines: 0 }
  if (format === 'envoy') return { format, reader: new EnvoyLines(slots), slots, headerLines: 0 }
  if (format === 'csv') return { format, reader: openCsv(header, slots, given), slots, headerLines: 1 }
  const sources = [...slots].flatMap(([name, slot]) =>
    sourcesOf(name, given).map((path, rank) => ({ path, slot, rank })),
  )
  return { format, reader: new JsonLines(slots, wantedMembers(sources)), slots, headerLines: 0 }
}

/** Returns under which names a field is looked for, the best first. */
function sourcesOf(field: string, given: GivenSources): readonly string[] {
  const own = given.get(field)
  if (own !== undefined) return [own]
  return Object.hasOwn(FIELD_SOURCES, field) ? FIELD_SOURCES[field as FieldName] : [field]
}

function openCsv(header: string, slots: Slots, given: GivenSources): CsvLines {
  const columns = csvColumns(header)
  const { names } = columns
  for (const [field, column] of given) {
    if (names.includes(column)) continue
    throw new SluiceError('FIELD_INVALID', `--field ${field}`, `${got(column)}${didYouMean(column, names)}`)
  }
  const columnOf = new Map<number, number>()
  for (const [name, slot] of slots) {
    const source = sourcesOf(name, given).find((each) => names.includes(each))
    columnOf.set(slot, source === undefined ? -1 : names.indexOf(source))
  }
  if (columnOf.get(slots.get('time') as number) === -1) {
    throw new SluiceError('FIELD_INVALID', '--field time', 'no column of the file is known to be the time')
  }
  return new CsvLines(slots, columns, columnOf)
}
