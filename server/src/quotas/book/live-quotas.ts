import { setImmediate as turn } from 'node:timers/promises'
import type { QuotaChange, QuotaSnapshot } from '../model.ts'
import { QuotaBook, type QuotaBookOptions } from './quota-book.ts'
import { quotaParts, takePart } from './quota-parts.ts'

/** A QuotaSink takes what there is about customers, and what changes. */
export interface QuotaSink {
  /** Replaces everything. It resolves when that is in force. */
  load(snapshot: QuotaSnapshot): Promise<void>
  /** Applies changes. They are in force when it returns. */
  apply(changes: readonly QuotaChange[]): void
}

/** A QuotaOrigin is where records come from. */
export interface QuotaOrigin {
  /** The secret that API keys are hashed under; '' until the first set is delivered. */
  keySecret(): string
  /**
   * Delivers everything, and then every change, until the function that it returns is called. Resolves when the first
   * set was delivered, or is not available for now.
   */
  follow(sink: QuotaSink): Promise<() => void>
}

/**
 * Holds the book in force. A new one is made next to it, between decisions, and takes its place in one step; changes
 * that come meanwhile are made in both. What was taken from `current` stays as it is.
 */
export class LiveQuotas implements QuotaSink {
  readonly #options: QuotaBookOptions
  #book: QuotaBook
  #isLoaded = false
  #making: { readonly changes: QuotaChange[] } | undefined

  constructor(options: QuotaBookOptions) {
    this.#options = options
    this.#book = new QuotaBook(options)
  }

  readonly current = (): QuotaBook => this.#book

  /** The revision of the records in force; -1: there are none yet. */
  get revision(): number {
    return this.#isLoaded ? this.#book.revision : -1
  }

  async load(snapshot: QuotaSnapshot): Promise<void> {
    // Nothing was missed.
    if (this.#isLoaded && snapshot.revision === this.#book.revision) return
    const making = { changes: [] }
    this.#making = making
    const book = new QuotaBook(this.#options)
    for (const part of quotaParts(snapshot)) {
      takePart(book, part)
      await turn()
      // A newer set is on its way.
      if (this.#making !== making) return
    }
    book.arriveAt(snapshot.revision)
    book.apply(making.changes)
    this.#book = book
    this.#making = undefined
    this.#isLoaded = true
  }

  apply(changes: readonly QuotaChange[]): void {
    this.#book.apply(changes)
    this.#making?.changes.push(...changes)
  }
}

/** Calls back whenever a sink has put something in force. */
export function watchedSink(sink: QuotaSink, changed: () => void): QuotaSink {
  return {
    load: async (snapshot) => {
      await sink.load(snapshot)
      changed()
    },
    apply: (changes) => {
      sink.apply(changes)
      changed()
    },
  }
}

/** Delivers the same to two sinks. */
export function bothSinks(a: QuotaSink, b: QuotaSink): QuotaSink {
  return {
    load: async (snapshot) => {
      await Promise.all([a.load(snapshot), b.load(snapshot)])
    },
    apply: (changes) => {
      a.apply(changes)
      b.apply(changes)
    },
  }
}
