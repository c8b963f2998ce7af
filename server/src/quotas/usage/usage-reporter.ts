import type { UsageCounter } from './usage-counter.ts'
import type { UsageNews } from './usage-news.ts'

/** How often a process reports what was used. What it has not reported is lost when it is killed. */
export const REPORT_EVERY_MS = 1_000

/** Receives news. It resolves when there may be more, and never rejects. */
export type ReportUsage = (news: UsageNews) => Promise<void>

/**
 * Reports what a counter has counted, even if that is nothing, at the beginning of each second of the clock: so an hour
 * ends with its last second, and it is known up to when everything was reported. While a report is in flight, the
 * counter goes on counting.
 */
export class UsageReporter {
  readonly #counter: UsageCounter
  readonly #report: ReportUsage
  #timer: NodeJS.Timeout | undefined
  #inFlight: Promise<void> | undefined

  constructor(counter: UsageCounter, report: ReportUsage) {
    this.#counter = counter
    this.#report = report
    this.#wait()
  }

  /** Reports now, unless the last report is still in flight. */
  now(): void {
    if (this.#inFlight !== undefined) return
    this.#inFlight = this.#report(this.#counter.take()).finally(() => {
      this.#inFlight = undefined
    })
  }

  /** Reports the rest. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#inFlight
    this.now()
    await this.#inFlight
  }

  #wait(): void {
    this.#timer = setTimeout(
      () => {
        this.now()
        this.#wait()
      },
      REPORT_EVERY_MS - (Date.now() % REPORT_EVERY_MS),
    ).unref()
  }
}
