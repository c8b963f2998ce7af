import type { LogLevel } from '../settings/setting-values.ts'

/** What belongs to an event beside its message. */
export type LogFields = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** A LogEntry is one event, in words for people and with a name for machines. It is plain data: workers send theirs. */
export interface LogEntry {
  readonly level: LogLevel
  /** A stable name such as `rules.refused`. */
  readonly event: string
  readonly message: string
  readonly fields?: LogFields
  /** The worker that it happened in. */
  readonly worker?: number
}
