import { QuotaBook, type QuotaBookOptions } from '../../quotas/book/quota-book.ts'
import { takePart } from '../../quotas/book/quota-parts.ts'
import type { QuotaChange } from '../../quotas/model.ts'
import type { QuotaNews } from './quota-feed.ts'

/** How to ask for the part at a position of a version. */
type Ask = (version: number, at: number) => void

/** How many parts are requested at the same time: on a busy machine, most of the time goes into waiting for a turn. */
const AT_ONCE = 4

/**
 * The quotas in force in a worker. They come in parts, a few at a time, and requests in between are answered by the
 * previous ones; the last part puts all into force in one step. Changes apply immediately, also to a set that is still
 * arriving.
 */
export class WorkerQuotas {
  readonly #options: QuotaBookOptions
  readonly #ask: Ask
  #book: QuotaBook
  #making:
    | { readonly version: number; readonly book: QuotaBook; readonly changes: QuotaChange[]; asked: number }
    | undefined
  #isLoaded = false
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

  /** The revision of the records in force; -1: the primary has none yet. */
  get revision(): number {
    return this.#isLoaded ? this.#book.revision : -1
  }

  hear(news: QuotaNews): void {
    if (news.type === 'quotas') this.#announced(news.version)
    else if (news.type === 'quota-changes') this.#changed(news.changes)
    else if (news.version === this.#making?.version) this.#take(news)
  }

  #announced(version: number): void {
    this.#making = { version, book: new QuotaBook(this.#options), changes: [], asked: AT_ONCE }
    for (let at = 0; at < AT_ONCE; at++) this.#ask(version, at)
  }

  #changed(changes: readonly QuotaChange[]): void {
    this.#book.apply(changes)
    this.#making?.changes.push(...changes)
  }

  #take(news: Extract<QuotaNews, { type: 'quota-part' | 'quota-end' }>): void {
    const making = this.#making
    if (making === undefined) return
    if (news.type === 'quota-part') {
      this.#ask(making.version, making.asked++)
      takePart(making.book, news.part)
      return
    }
    // Requests after the last part are answered like this: the first answer is taken. Changes since then are in the
    // order of their revisions, and changes that arrived meanwhile are among them or later.
    for (const change of news.changes) making.book.put(change.table, change.id, change.record)
    making.book.arriveAt(news.revision)
    making.book.apply(making.changes)
    this.#book = making.book
    // Version 0 is that of a primary that has read nothing.
    this.#isLoaded = making.version > 0
    this.#making = undefined
    this.#arrive()
  }
}
