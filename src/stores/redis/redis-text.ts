import type { RedisConnection } from './connection/connection.ts'
import { within } from './connection/within.ts'
import { askForNote } from './redis-notes.ts'
import { loadScript } from './scripts/scripts.ts'
import { sendScript } from './scripts/send-script.ts'

const REPLACE = loadScript('replace')
const TIMEOUT_MS = 1_000

/** One short text that nodes share and that stays. It takes no other rights than counters do. */
export class RedisText {
  readonly key: string
  readonly #connection: RedisConnection

  constructor(connection: RedisConnection, keyPrefix: string, name: string) {
    this.key = `${keyPrefix}sluice:${name}:1`
    this.#connection = connection
  }

  /** Returns the text, '' where there is none. Rejects with a StoreFault when Redis does not answer. */
  async read(): Promise<string> {
    return String((await askForNote(this.#connection, this.key, ['GET', this.key])) ?? '')
  }

  /** Replaces the text that was read, and returns false if it has changed since. */
  async replace(before: string, after: string): Promise<boolean> {
    const shard = this.#connection.shardOf(this.key)
    const run = { connection: this.#connection, shard, script: REPLACE, keys: [this.key], args: [before, after] }
    return (
      (await within(
        TIMEOUT_MS,
        sendScript(run, () => true),
        shard,
      )) === 1
    )
  }
}
