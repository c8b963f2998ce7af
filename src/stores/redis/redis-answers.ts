import type { RedisConnection } from './connection/connection.ts'
import { askForNote, MAX_NOTE } from './redis-notes.ts'

/** Who asked has given up long before. */
const TTL_MS = 10_000

/** Holds what nodes answer to a question, for seconds: a note for each node. It takes no other rights than notes do. */
export class RedisAnswers {
  readonly #connection: RedisConnection
  readonly #keyPrefix: string

  constructor(connection: RedisConnection, keyPrefix: string) {
    this.#connection = connection
    this.#keyPrefix = keyPrefix
  }

  /** Writes the answer of a node. It rejects with a StoreFault when Redis does not take it. */
  async put(question: string, node: string, text: string): Promise<void> {
    const key = this.#keyOf(question, node)
    await askForNote(this.#connection, key, ['SET', key, text, 'PX', String(TTL_MS)])
  }

  /** Returns the answer of a node; undefined while there is none. */
  async read(question: string, node: string): Promise<string | undefined> {
    const key = this.#keyOf(question, node)
    const text = await askForNote(this.#connection, key, ['GET', key])
    return text === null || String(text).length > MAX_NOTE ? undefined : String(text)
  }

  #keyOf(question: string, node: string): string {
    return `${this.#keyPrefix}sluice:answers:1:${question}:${node}`
  }
}
