import type { CheckRequest } from 'sluice/internal/core/request'

/** Who sent a request, as reports count callers. */
export interface LineCaller {
  readonly key: string
  readonly value: string
}

/** Makes the requests that a service would have been sent for the lines of a log. */
export interface RequestMaker {
  /** Returns undefined for a line about which no service would have been asked. */
  request(values: readonly string[]): CheckRequest | undefined
  /** Returns the value of the entry that says who is calling; '' where the line has none. `at` is one of callerKeys. */
  callerValue(values: readonly string[], at: number): string
  /** The entries that may say who is calling, the best first. */
  readonly callerKeys: readonly string[]
  /** What is said of lines without a descriptor. */
  readonly needs: string
}
