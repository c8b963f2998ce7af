import type { LogLevel } from '../settings/setting-values.ts'

/** What belongs to an event in addition to its message. */
export type LogFields = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** One event, with a message for people and a name for machines. Plain data: workers send theirs. */
export interface LogEntry {
  readonly level: LogLevel
  /** A stable name such as `rules.refused`. */
  readonly event: string
  readonly message: string
  readonly fields?: LogFields
  /** The worker that it happened in. */
  readonly worker?: number
}
