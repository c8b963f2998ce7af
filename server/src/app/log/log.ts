import { withoutCredentials } from 'sluice/internal/core/errors'
import { LOG_LEVELS, type LogLevel } from '../settings/setting-values.ts'
import { BoundedLog } from './log-bound.ts'
import type { LogEntry, LogFields } from './log-entry.ts'
import { formatRecord, type LogRecord } from './log-text.ts'

/** Takes events. Nothing on the path of a request logs. */
export interface Log {
  write(entry: LogEntry): void
  debug(event: string, message: string, fields?: LogFields): void
  info(event: string, message: string, fields?: LogFields): void
  warn(event: string, message: string, fields?: LogFields): void
  error(event: string, message: string, fields?: LogFields): void
  /** Prints a text for people in between the lines. */
  print(text: string): void
  /** Logs what is still being counted, and resolves when all is written, or no one reads it. */
  end(): Promise<void>
}

export interface LogOptions {
  readonly level: LogLevel
  readonly format: 'text' | 'json'
  /** Times of day and colours instead of whole dates. */
  readonly isTerminal: boolean
  /** Texts that are always hidden, whatever an error or a library says. */
  readonly secrets: readonly string[]
  /** Where lines go. Default: standard output. */
  readonly out?: Outlet
}

/** Makes the log of a process: one line per event, without secrets, and bounded. */
export function createLog({ level, format, isTerminal, secrets, out = standardOutput() }: LogOptions): Log {
  const hide = hider(secrets)
  const lowest = LOG_LEVELS.indexOf(level)
  const bound = new BoundedLog((entry) => {
    if (LOG_LEVELS.indexOf(entry.level) < lowest) return
    const record = recordOf(entry, hide)
    out.write(format === 'text' ? formatRecord(record, isTerminal) : `${JSON.stringify(record)}\n`)
  })
  return {
    ...logTo((entry) => bound.write(entry)),
    print: (lines) => out.write(lines),
    end: async () => {
      bound.flush()
      await written(out)
    },
  }
}

/** A line of the log, in the order in which it is read. */
function recordOf({ level, event, message, fields, worker }: LogEntry, hide: (text: string) => string): LogRecord {
  const said = { event, ...hidden(fields, hide), ...(worker !== undefined && { worker }), msg: hide(message) }
  return { level, time: new Date().toISOString(), ...said }
}

/** Makes a Log of a function that takes entries. It prints nothing itself. */
export function logTo(write: (entry: LogEntry) => void): Log {
  const at =
    (level: LogLevel) =>
    (event: string, message: string, fields?: LogFields): void =>
      write({ level, event, message, ...(fields !== undefined && { fields }) })
  const levels = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { ...levels, write, print: () => {}, end: async () => {} }
}

/**
 * How much may wait for a reader of the log that does not read. Whatever comes after that is lost, and nothing waits
 * for it.
 */
const MAX_WAITING_BYTES = 1_048_576

/** How long a process that ends waits for the reader of its log. */
const MAX_WAIT_MS = 500

/** An Outlet is where lines go. */
export interface Outlet {
  write(text: string): void
  /** Calls `done` when all that was written has left this process. */
  flush?(done: () => void): void
}

/** What Node.js does not document of a stream on a pipe: whether a write waits for the reader. */
interface PipeHandle {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void }
}

/** Writes without waiting: a reader that has stopped reading must not stop the service. */
function standardOutput(): Outlet {
  const { stdout } = process
  // A reader that has gone.
  stdout.on('error', () => {})
  if (!stdout.isTTY) (stdout as PipeHandle)._handle?.setBlocking?.(false)
  return {
    write: (text) => {
      if (stdout.writableLength < MAX_WAITING_BYTES) stdout.write(text)
    },
    flush: (done) => void stdout.write('', () => done()),
  }
}

/** Resolves when all that was written has left this process, or no one reads it. */
function written(out: Outlet): Promise<void> {
  return new Promise((resolve) => {
    if (out.flush === undefined) return resolve()
    setTimeout(resolve, MAX_WAIT_MS)
    out.flush(resolve)
  })
}

/** The shortest text that is treated as a secret: anything shorter would hide parts of ordinary words. */
const MIN_SECRET = 4

/** Returns a function that removes the secrets, and the credentials of any address, from a text. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const encodings = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ])
  const known = [...new Set(encodings)].filter(({ length }) => length >= MIN_SECRET)
  known.sort((a, b) => b.length - a.length)
  return (text) => {
    const without = known.reduce((left, secret) => left.replaceAll(secret, '…'), text)
    return withoutCredentials(without)
  }
}

function hidden(fields: LogFields | undefined, hide: (text: string) => string): LogFields {
  const defined = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    defined.map(([name, value]) => {
      if (typeof value === 'string') return [name, hide(value)]
      return [name, Array.isArray(value) ? value.map(hide) : value]
    }),
  )
}
