import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log/log.ts'

type Done = Parameters<SpanExporter['export']>[1]

const SUCCESS = 0
const MAX_REASON = 200

/** Logs when spans cannot be sent, once, and when they can again. */
export class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: Log
  #isFailing = false

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter
    this.#log = log
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === SUCCESS) this.#succeeded()
      else this.#failed(result.error)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }

  #succeeded(): void {
    if (this.#isFailing) this.#log.info('traces.recovered', 'spans are sent again')
    this.#isFailing = false
  }

  #failed(error: Error | undefined): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const reason = reasonOf(error)
    this.#log.warn('traces.failed', `spans cannot be sent, and are dropped: ${reason}`, { reason })
  }
}

/**
 * Returns a short reason, without anything that the other side answered. An error about several addresses has no
 * message.
 */
function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  const text = error?.message || String(error?.code ?? error?.name ?? 'no reason is known')
  return text.slice(0, MAX_REASON)
}
