import { domainPart } from '../../core/keys.ts'
import type { Notice } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { call, callShard, type RedisConnection } from './connection/connection.ts'
import { encodeNotice, noticeChannel } from './connection/notice-channel.ts'
import { within } from './connection/within.ts'
import { bookKey, counterOf, headKey, type Lent, lentIn, rateKey } from './formats/exchange-format.ts'
import type { StoredKeys } from './formats/stored-keys.ts'
import { laneOf } from './lane.ts'
import { loadScript } from './scripts/scripts.ts'
import { faultOf, sendScript } from './scripts/send-script.ts'

/** A ResetReport says what a reset came to. */
export interface ResetReport {
  /** How many of the counters there were. */
  readonly counters: number
  /** False when this user may not publish: nodes continue with what they remember. */
  readonly isPublished: boolean
}

const RESET = loadScript('reset')
/** No request waits for a reset. */
const TIMEOUT_MS = 1_000
/** The most counters that one call resets, because other commands wait for it. */
const MAX_COUNTERS = 500
/** How many keys a server looks at in one step. */
const SCAN_COUNT = '1000'

/** Does with counters what operators want: on a single server and on a cluster alike, whatever the prefix. */
export class RedisCounters {
  readonly #connection: RedisConnection
  readonly #keyPrefix: string
  readonly #keys: StoredKeys

  constructor(connection: RedisConnection, keyPrefix: string, keys: StoredKeys) {
    this.#connection = connection
    this.#keyPrefix = keyPrefix
    this.#keys = keys
  }

  /**
   * Resets counters by their keys, as storedKey formats them, with what was lent of them, and notifies all nodes. Each
   * part is one atomic step. Rejects with a StoreFault when a server does not answer.
   */
  async reset(stored: readonly string[]): Promise<ResetReport> {
    const byName = new Map(stored.map((key) => [this.#keys.of(key), key]))
    const noticeOf = (name: string): Notice => ({ kind: 'reset', key: byName.get(name) as string })
    return this.#forget([...byName.keys()], (names) => names.map(noticeOf))
  }

  /** Resets all counters of a domain. Scans every key in Redis. Nodes are notified when all counters are gone. */
  async resetDomain(domain: string): Promise<ResetReport> {
    const key = domainPart(domain)
    let counters = 0
    const shards = this.#connection.shards()
    if (shards.length === 0) throw new StoreFault('offline', 'cluster', 'no server is known yet')
    for (const shard of shards) {
      for await (const stored of this.#scan(shard, key)) counters += (await this.#forget(stored, () => [])).counters
    }
    const [message, channel] = [encodeNotice({ kind: 'reset_domain', key }), noticeChannel(this.#keyPrefix)]
    return { counters, isPublished: await this.#publish(key, ['PUBLISH', channel, message]) }
  }

  /** Returns how much of a counter nodes hold, and how many do. */
  async lent(stored: string): Promise<Lent> {
    const shard = this.#connection.shardOf(stored)
    const ask = (...args: string[]): Promise<unknown> => this.#asked(shard, call(this.#connection, stored, args))
    const [fields, time] = (await Promise.all([
      ask('HGETALL', bookKey(this.#keys.of(stored))),
      ask('TIME'),
    ])) as unknown[][]
    const [seconds, micros] = time.map((part) => Number(String(part)))
    return lentIn(fields as Buffer[], seconds * 1_000 + micros / 1_000)
  }

  /** Publishes, and returns whether that was allowed. A server that does not answer is a fault. */
  async #publish(key: string, args: readonly string[]): Promise<boolean> {
    const shard = this.#connection.shardOf(key)
    try {
      await this.#asked(shard, call(this.#connection, key, args))
      return true
    } catch (error) {
      if (error instanceof StoreFault && error.message.includes('NOPERM')) return false
      throw error
    }
  }

  /** Returns the answer of a server in time, or a StoreFault. */
  async #asked(shard: string, answer: Promise<unknown>): Promise<unknown> {
    try {
      return await within(TIMEOUT_MS, answer, shard)
    } catch (error) {
      throw faultOf(error, this.#connection, shard)
    }
  }

  async #forget(
    stored: readonly string[],
    noticesOf: (keys: readonly string[]) => readonly Notice[],
  ): Promise<ResetReport> {
    let counters = 0
    let isPublished = true
    for (const keys of this.#parts(stored)) {
      const args = [noticeChannel(this.#keyPrefix), ...noticesOf(keys).map(encodeNotice)]
      const [gone, published] = await this.#run(
        keys.flatMap((key) => [key, bookKey(key), headKey(key), rateKey(key)]),
        args,
      )
      counters += gone
      isPublished &&= published === 1
    }
    return { counters, isPublished }
  }

  async #run(keys: readonly string[], args: readonly string[]): Promise<readonly number[]> {
    const shard = this.#connection.shardOf(keys[0])
    const startedAt = performance.now()
    const isWorthwhile = (): boolean => performance.now() - startedAt < TIMEOUT_MS
    const run = { connection: this.#connection, shard, script: RESET, keys, args }
    const reply = await within(TIMEOUT_MS, sendScript(run, isWorthwhile), shard)
    return (reply as readonly unknown[]).map(Number)
  }

  /** Divides keys into what one script call can reach. */
  *#parts(stored: readonly string[]): Generator<readonly string[]> {
    const lanes = new Map<string, string[]>()
    for (const key of stored) {
      const lane = laneOf(this.#connection, key)
      lanes.set(lane, [...(lanes.get(lane) ?? []), key])
    }
    for (const keys of lanes.values()) {
      for (let at = 0; at < keys.length; at += MAX_COUNTERS) yield keys.slice(at, at + MAX_COUNTERS)
    }
  }

  /** Finds the counters of a domain on a server, in parts. */
  async *#scan(shard: string, domain: string): AsyncGenerator<readonly string[]> {
    const pattern = this.#keys.patternOf(domain)
    let cursor = '0'
    do {
      const step = callShard(this.#connection, shard, ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT])
      const [next, keys] = (await this.#asked(shard, step)) as readonly [unknown, readonly unknown[]]
      cursor = String(next)
      const stored = new Set(keys.map((key) => counterOf(String(key))))
      if (stored.size > 0) yield [...stored]
    } while (cursor !== '0')
  }
}
