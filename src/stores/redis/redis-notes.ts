import { call, type RedisConnection } from './connection/connection.ts'
import { within } from './connection/within.ts'
import { faultOf } from './scripts/send-script.ts'

const TIMEOUT_MS = 1_000
/** Who has not written for this long is taken off the list, by the clock of who writes. */
const FORGOTTEN_MS = 600_000
/** The most notes that are read. */
const MAX_READ = 64
/** A longer note is none of ours. */
export const MAX_NOTE = 524_288

/** The notes of others, and how many there are that were not read. */
export interface ReadNotes {
  readonly notes: ReadonlyMap<string, string>
  readonly leftOut: number
}

/**
 * Lets nodes publish something of temporary interest: each has one note, which expires some time after it was last
 * written. A hash lists the writers. Needs no other permissions than slices do.
 */
export class RedisNotes {
  readonly #connection: RedisConnection
  readonly #index: string

  constructor(connection: RedisConnection, keyPrefix: string, subject: string) {
    this.#connection = connection
    this.#index = `${keyPrefix}sluice:${subject}:1`
  }

  /** Writes the note of a node. It rejects with a StoreFault when Redis does not take it. */
  async put(node: string, text: string, ttlMs: number, nowMs: number): Promise<void> {
    await this.#ask(this.#keyOf(node), 'SET', this.#keyOf(node), text, 'PX', String(ttlMs))
    await this.#ask(this.#index, 'HSET', this.#index, node, String(nowMs))
    await this.#ask(this.#index, 'PEXPIRE', this.#index, String(FORGOTTEN_MS))
    const gone = [...(await this.#nodes())].filter(([, atMs]) => !(nowMs - atMs < FORGOTTEN_MS)).map(([id]) => id)
    if (gone.length > 0) await this.#ask(this.#index, 'HDEL', this.#index, ...gone.slice(0, MAX_READ))
  }

  /** Returns the notes of all nodes but one: the most recent ones, if there are many. */
  async others(node: string): Promise<ReadNotes> {
    const nodes = [...(await this.#nodes())].filter(([id]) => id !== node).sort(([, a], [, b]) => b - a)
    const read = nodes.slice(0, MAX_READ).map(async ([id]): Promise<[string, string] | undefined> => {
      const text = await this.#ask(this.#keyOf(id), 'GET', this.#keyOf(id))
      return text === null ? undefined : [id, String(text)]
    })
    const there = (await Promise.all(read)).filter((note) => note !== undefined)
    return {
      notes: new Map(there.filter(([, text]) => text.length <= MAX_NOTE)),
      leftOut: Math.max(0, nodes.length - MAX_READ),
    }
  }

  async #nodes(): Promise<ReadonlyMap<string, number>> {
    const fields = (await this.#ask(this.#index, 'HGETALL', this.#index)) as readonly unknown[]
    const nodes = new Map<string, number>()
    for (let i = 0; i + 1 < fields.length; i += 2) nodes.set(String(fields[i]), Number(String(fields[i + 1])))
    return nodes
  }

  #keyOf(node: string): string {
    return `${this.#index}:${node}`
  }

  #ask(key: string, ...args: string[]): Promise<unknown> {
    return askForNote(this.#connection, key, args)
  }
}

/** Sends a command about a note. It rejects with a StoreFault when Redis does not answer in time. */
export async function askForNote(connection: RedisConnection, key: string, args: string[]): Promise<unknown> {
  const shard = connection.shardOf(key)
  try {
    return await within(TIMEOUT_MS, call(connection, key, args), shard)
  } catch (error) {
    throw faultOf(error, connection, shard)
  }
}
