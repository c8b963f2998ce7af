import { availableParallelism } from 'node:os'
import { parseDuration } from 'sluice/internal/core/duration'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { switchOf } from './flags.ts'

/** The value of a setting, and where it was set. */
export interface Given {
  readonly values: readonly string[]
  /** `--http-port`, `PORT` or `sluice.yaml:3: http_port`. */
  readonly where: string
  readonly source: 'flag' | 'env' | 'file'
}

/** The longest time that a setting may name: timers of Node.js allow no more than 24 days. */
const MAX_DURATION_MS = 20 * 86_400_000
const MAX_WORKERS = 512

/** Returns the value that counts: the last one if a flag is given twice. */
export function lastOf({ values }: Given): string {
  return values.at(-1) ?? ''
}

export function pathsOf({ values, where }: Given): string[] {
  const paths = values.flatMap((list) => list.split(',')).map((path) => path.trim())
  const given = paths.filter((path) => path !== '')
  if (given.length === 0) throw new SluiceError('FLAG_VALUE_MISSING', where, 'no value')
  return given
}

export function portOf(given: Given): number {
  const value = lastOf(given)
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new SluiceError('PORT_INVALID', given.where, got(value))
  return Number(value)
}

/** Reads a switch. Variables may be written as in Go programs: TRUE, True, t. */
export function isOn(given: Given): boolean {
  const value = lastOf(given)
  if (given.source !== 'env') return switchOf(value, given.where)
  const lower = value.toLowerCase()
  if (lower === 't' || lower === 'f') return lower === 't'
  return switchOf(['true', 'false'].includes(lower) ? lower : value, given.where)
}

export function durationOf(given: Given): number {
  const value = lastOf(given)
  const ms = parseDuration(value === '0' ? 0 : value, given.where)
  if (ms > MAX_DURATION_MS) throw new SluiceError('DURATION_TOO_LONG', given.where, got(value))
  return ms
}

export function choiceOf<T extends string>(given: Given, choices: readonly T[]): T {
  const value = lastOf(given).toLowerCase()
  const found = choices.find((choice) => choice === value)
  if (found === undefined) {
    throw new SluiceError('CHOICE_INVALID', given.where, `${got(lastOf(given))}, expected ${choices.join(' or ')}`)
  }
  return found
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The log levels of other loggers, by the name they have here. */
const OTHER_LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ['trace', 'debug'],
  ['warning', 'warn'],
  ['fatal', 'error'],
  ['panic', 'error'],
])

export function levelOf(given: Given): LogLevel {
  return OTHER_LEVELS.get(lastOf(given).toLowerCase()) ?? choiceOf(given, LOG_LEVELS)
}

/** Reads a whole number; 0 stands for the default. */
export function countOf(given: Given): number | undefined {
  const value = lastOf(given)
  if (!/^\d{1,9}$/.test(value)) throw new SluiceError('COUNT_INVALID', given.where, got(value))
  return Number(value) === 0 ? undefined : Number(value)
}

/** Reads a whole number; 0 stands for none. */
export function rateOf(given: Given): number {
  return countOf(given) ?? 0
}

/** Reads a share: a number from 0 to 1. */
export function shareOf(given: Given): number {
  const value = lastOf(given)
  if (!/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(value)) throw new SluiceError('SHARE_INVALID', given.where, got(value))
  return Number(value)
}

/** Returns how many processes are to serve; `auto` is one for each core that this process may use. */
export function workersOf(given: Given): number {
  const value = lastOf(given)
  if (value.toLowerCase() === 'auto') return availableParallelism()
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0
  if (count < 1 || count > MAX_WORKERS) throw new SluiceError('WORKERS_INVALID', given.where, got(value))
  return count
}

/** Reads a field name. Anything else would appear in the answers of a gateway. */
export function headerOf(given: Given): string {
  const value = lastOf(given)
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(value)) {
    throw new SluiceError('HEADER_NAME_INVALID', given.where, got(value))
  }
  return value
}

/** Reads names of hosts, without ports. */
export function hostNamesOf(given: Given): string[] {
  const names = pathsOf(given)
  for (const name of names) {
    if (!/^[0-9A-Za-z_.-]{1,253}$/.test(name)) throw new SluiceError('HOST_NAME_INVALID', given.where, got(name))
  }
  return names
}

/** Reads the name of a node in lists of nodes. */
export function nodeNameOf(given: Given): string {
  const value = lastOf(given)
  if (!/^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/.test(value)) {
    throw new SluiceError('NODE_NAME_INVALID', given.where, got(value))
  }
  return value
}

/** Where something listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, `[::1]:port` or `:port`, which is every address of the machine. */
export function addressOf(given: Given): Address {
  const value = lastOf(given)
  const [, bracketed, host = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(value) ?? []
  if (port === '' || Number(port) > 65_535) throw new SluiceError('PORT_INVALID', given.where, got(value))
  return { host: bracketed ?? (host || '0.0.0.0'), port: Number(port) }
}

/** Reads `key:value,key:value`. Rejects characters that StatsD would misread. */
export function tagsOf(given: Given): Readonly<Record<string, string>> {
  const tags = pathsOf(given).map((pair) => /^([^:=|@#\s]+):([^:=|@#\s]+)$/.exec(pair))
  if (tags.includes(null)) throw new SluiceError('TAGS_INVALID', given.where, got(lastOf(given)))
  return Object.fromEntries(tags.flatMap((tag) => (tag === null ? [] : [[tag[1], tag[2]]])))
}

/** Has a function for each kind of setting, which checks and returns the value. */
export const READERS = {
  address: addressOf,
  choice: choiceOf,
  count: countOf,
  duration: durationOf,
  header: headerOf,
  hosts: hostNamesOf,
  level: levelOf,
  name: nodeNameOf,
  paths: pathsOf,
  port: portOf,
  rate: rateOf,
  share: shareOf,
  switch: isOn,
  tags: tagsOf,
  text: lastOf,
  workers: workersOf,
} as const

export type SettingKind = keyof typeof READERS

/** Returns whether the environment turns on something that is not a setting. */
export function isSwitchedOn(env: NodeJS.ProcessEnv, name: string): boolean {
  const value = env[name] ?? ''
  return value !== '' && isOn({ values: [value], where: name, source: 'env' })
}
