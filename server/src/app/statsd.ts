import { type CountsReport, linesOf, StatsdCounts } from '../observe/statsd/statsd-counts.ts'
import { sendLines } from '../observe/statsd/statsd-sender.ts'
import type { Log } from './log/log.ts'
import type { StatsdConfig } from './settings/metrics-settings.ts'

/** What a StatsdExport needs of the service. */
export interface StatsdSources {
  reports(): Promise<readonly CountsReport[]>
  readonly log: Log
}

/**
 * Sends increments to StatsD at intervals. While StatsD is unreachable, increments are dropped, and logged once: StatsD
 * is for looking, and nothing waits for it.
 */
export class StatsdExport {
  readonly #config: StatsdConfig
  readonly #sources: StatsdSources
  readonly #counts = new StatsdCounts()
  readonly #timer: NodeJS.Timeout
  #sending: Promise<void> | undefined
  #isAway = false

  constructor(config: StatsdConfig, sources: StatsdSources) {
    this.#config = config
    this.#sources = sources
    this.#timer = setInterval(() => void this.flush(), config.intervalMs).unref()
  }

  /** Sends the increments since the last time. One flush at a time: calls in between wait for the one in progress. */
  flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  /** Sends the rest. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
    await this.flush()
  }

  async #send(): Promise<void> {
    const { host, port } = this.#config
    try {
      const reports = await this.#sources.reports()
      const grown = this.#counts.grown(reports)
      if (grown.size > 0) await sendLines(linesOf(grown, this.#config), this.#config)
      if (this.#isAway) this.#sources.log.info('statsd.connected', `counts are sent to ${host}:${port} again`)
      this.#isAway = false
    } catch (error) {
      if (!this.#isAway) {
        const reason = (error as Error).message
        this.#sources.log.warn('statsd.lost', `counts are not sent to ${host}:${port}: ${reason}`, { reason })
      }
      this.#isAway = true
    }
  }
}
