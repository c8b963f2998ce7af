import { QuotaBook, type QuotaBookOptions } from '../../quotas/book/quota-book.ts'
import { takePart } from '../../quotas/book/quota-parts.ts'
import type { QuotaChange } from '../../quotas/model.ts'
import type { QuotaNews } from './quota-feed.ts'

/** How to ask for the part at a position of a version. */
type Ask = (version: number, at: number) => void

/**
 * WorkerQuotas are the quotas in force in a worker. They come in parts, one at a time, between which requests are answered by
 * those before; the last one puts all into force in one step. Changes are made at once, and in what is on its way.
 */
export class WorkerQuotas {
  readonly #options: QuotaBookOptions
  readonly #ask: Ask
  #book: QuotaBook
  #making:
    | { readonly version: number; readonly book: QuotaBook; readonly changes: QuotaChange[]; taken: number }
    | undefined
  #arrive = (): void => {}
  /** Resolves when the first set is in force. */
  readonly arrived = new Promise<void>((resolve) => {
    this.#arrive = resolve
  })

  constructor(options: QuotaBookOptions, ask: Ask) {
    this.#options = options
    this.#ask = ask
    this.#book = new QuotaBook(options)
  }

  readonly current = (): QuotaBook => this.#book

  hear(news: QuotaNews): void {
    if (news.type === 'quotas') this.#announced(news.version)
    else if (news.type === 'quota-changes') this.#changed(news.changes)
    else if (news.version === this.#making?.version) this.#take(news)
  }

  #announced(version: number): void {
    this.#making = { version, book: new QuotaBook(this.#options), changes: [], taken: 0 }
    this.#ask(version, 0)
  }

  #changed(changes: readonly QuotaChange[]): void {
    this.#book.apply(changes)
    this.#making?.changes.push(...changes)
  }

  #take(news: Extract<QuotaNews, { type: 'quota-part' | 'quota-end' }>): void {
    const making = this.#making
    if (making === undefined) return
    if (news.type === 'quota-part') {
      takePart(making.book, news.part)
      making.taken++
      // Requests have their turn first.
      setImmediate(() => {
        if (this.#making === making) this.#ask(making.version, making.taken)
      })
      return
    }
    // What changed since is in the order of its revisions, and what came meanwhile is among it or later.
    for (const change of news.changes) making.book.put(change.table, change.id, change.record)
    making.book.arriveAt(news.revision)
    making.book.apply(making.changes)
    this.#book = making.book
    this.#making = undefined
    this.#arrive()
  }
}
