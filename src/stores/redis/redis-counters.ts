import { domainPart } from '../../core/keys.ts'
import type { Notice } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { call, callShard, type RedisConnection } from './connection/connection.ts'
import { encodeNotice, noticeChannel } from './connection/notice-channel.ts'
import { within } from './connection/within.ts'
import { bookKey, counterOf, headKey, type Lent, lentIn } from './formats/exchange-format.ts'
import type { StoredKeys } from './formats/stored-keys.ts'
import { laneOf } from './lane.ts'
import { loadScript } from './scripts/scripts.ts'
import { faultOf, sendScript } from './scripts/send-script.ts'

/** A ResetReport says what a reset came to. */
export interface ResetReport {
  /** How many of the counters there were. */
  readonly counters: number
  /** False when this user may not publish: nodes go on with what they remember. */
  readonly isTold: boolean
}

const RESET = loadScript('reset')
/** No request waits for a reset. */
const TIMEOUT_MS = 1_000
/** How many counters one call forgets at the most: others wait for it. */
const MAX_COUNTERS = 500
/** How many keys a server looks at in one step. */
const SCAN_COUNT = '1000'

/** RedisCounters does with counters what operators want: on a single server and on a cluster alike, whatever the prefix. */
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
   * reset forgets counters by their keys, as storedKey spells them, and what was lent of them, and tells all nodes. Each part is one atomic step.
   * It rejects with a StoreFault when a server does not answer.
   */
  async reset(stored: readonly string[]): Promise<ResetReport> {
    const spelled = new Map(stored.map((key) => [this.#keys.of(key), key]))
    const noticeOf = (name: string): Notice => ({ kind: 'reset', key: spelled.get(name) as string })
    return this.#forget([...spelled.keys()], (names) => names.map(noticeOf))
  }

  /** resetDomain forgets all counters of a domain. It looks at every key that there is. Nodes are told when all are gone. */
  async resetDomain(domain: string): Promise<ResetReport> {
    const key = domainPart(domain)
    let counters = 0
    const shards = this.#connection.shards()
    if (shards.length === 0) throw new StoreFault('offline', 'cluster', 'no server is known yet')
    for (const shard of shards) {
      for await (const stored of this.#scan(shard, key)) counters += (await this.#forget(stored, () => [])).counters
    }
    const [message, channel] = [encodeNotice({ kind: 'reset_domain', key }), noticeChannel(this.#keyPrefix)]
    return { counters, isTold: await this.#tell(key, ['PUBLISH', channel, message]) }
  }

  /** lent says how much of a counter nodes hold, and how many do. */
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

  /** #tell says whether a command was allowed. A server that does not answer is a fault. */
  async #tell(key: string, args: readonly string[]): Promise<boolean> {
    const shard = this.#connection.shardOf(key)
    try {
      await this.#asked(shard, call(this.#connection, key, args))
      return true
    } catch (error) {
      if (error instanceof StoreFault && error.message.includes('NOPERM')) return false
      throw error
    }
  }

  /** #asked is the answer of a server in time, or a StoreFault. */
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
    let isTold = true
    for (const keys of this.#parts(stored)) {
      const args = [noticeChannel(this.#keyPrefix), ...noticesOf(keys).map(encodeNotice)]
      const [gone, told] = await this.#run(
        keys.flatMap((key) => [key, bookKey(key), headKey(key)]),
        args,
      )
      counters += gone
      isTold &&= told === 1
    }
    return { counters, isTold }
  }

  async #run(keys: readonly string[], args: readonly string[]): Promise<readonly number[]> {
    const shard = this.#connection.shardOf(keys[0])
    const startedAt = performance.now()
    const isWorthwhile = (): boolean => performance.now() - startedAt < TIMEOUT_MS
    const run = { connection: this.#connection, shard, script: RESET, keys, args }
    const reply = await within(TIMEOUT_MS, sendScript(run, isWorthwhile), shard)
    return (reply as readonly unknown[]).map(Number)
  }

  /** #parts divides keys into what one script call can reach. */
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

  /** #scan finds the counters of a domain on a server, in parts. */
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
