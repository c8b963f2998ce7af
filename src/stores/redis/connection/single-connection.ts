import { StoreFault } from '../../../engine/store-fault.ts'
import { RespClient } from '../resp/resp-client.ts'
import type { HostPort, RedisAddress } from './address.ts'
import { clientOptions, retryDelayMs } from './client-options.ts'
import type { Args, Asker, ConnectionEvents, RedisConnection } from './connection.ts'
import { evictionWarning } from './eviction-warning.ts'
import { troubleOf } from './server-trouble.ts'

/** Where a server is right now: fixed, or what the sentinels say. */
export type Locate = () => Promise<HostPort | undefined>

/** What a connection is for that does nothing but listen. */
export interface Subscription {
  readonly channel: string
  heard(message: string): void
}

/**
 * Talks to one server. When and where to reconnect is decided here: the server may be another one by then (a failover),
 * and nothing may be queued or sent again meanwhile.
 */
export class SingleConnection implements RedisConnection {
  readonly spansPartitions = true
  readonly #address: RedisAddress
  readonly #locate: Locate
  readonly #events: ConnectionEvents
  #client: RespClient | undefined
  #isClosed = false
  #wake: () => void = () => {}
  #giveUp: () => void = () => {}
  #lastWarning: string | undefined
  /** What is wrong with a server that answers but cannot count. */
  #trouble: string | undefined
  readonly #running: Promise<void>
  readonly #shard: string
  readonly #subscription: Subscription | undefined

  constructor(
    address: RedisAddress,
    locate: Locate,
    events: ConnectionEvents,
    { shard = 'redis', subscription }: { shard?: string; subscription?: Subscription } = {},
  ) {
    this.#shard = shard
    this.#subscription = subscription
    this.#address = address
    this.#locate = locate
    this.#events = events
    this.#running = this.#run()
  }

  shardOf(): string {
    return this.#shard
  }

  shards(): readonly string[] {
    return [this.#shard]
  }

  askShard(_shard: string, args: Args, asker: Asker): void {
    this.ask('', args, asker)
  }

  ask(_key: string, args: Args, asker: Asker): void {
    const client = this.#client
    if (client === undefined || !client.isReady) asker.failed(this.#fault())
    else client.ask(args, asker)
  }

  reset(): void {
    const client = this.#client
    this.#client = undefined
    client?.destroy()
    this.#wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.reset()
    this.#giveUp()
    await this.#running
  }

  /** Keeps a connection up until the store is closed. */
  async #run(): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const reason = await this.#connectOnce(() => {
        attempt = 0
      })
      if (this.#isClosed) return
      this.#events.disconnected(this.#shard, reason)
      await this.#pause(retryDelayMs(attempt))
    }
  }

  /** #connectOnce connects, and returns why the connection ended. */
  async #connectOnce(onConnected: () => void): Promise<string> {
    let client: RespClient | undefined
    let pings: NodeJS.Timeout | undefined
    try {
      const node = await this.#unlessClosed(this.#locate())
      const opening = RespClient.open(clientOptions(this.#address, node), (made) => {
        client = made
      })
      const opened = await this.#unlessClosed(opening)
      // From now on: what is asked first may be what is never answered.
      pings = pingEvery(opened)
      if (this.#subscription === undefined) await this.#checkStanding(opened)
      else await this.#unlessClosed(subscribe(opened, this.#subscription))
      this.#client = opened
      onConnected()
      this.#events.connected(this.#shard)
      if (this.#subscription === undefined) await this.#lookAtSettings(opened)
      return await opened.ended
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== this.#trouble) this.#trouble = undefined
      return reason
    } finally {
      clearInterval(pings)
      client?.destroy()
    }
  }

  #fault(): StoreFault {
    if (this.#trouble === undefined) return new StoreFault('offline', this.#shard, 'not connected')
    return new StoreFault('unavailable', this.#shard, this.#trouble)
  }

  /** Rejects when the server answers, but cannot count. */
  async #checkStanding(client: RespClient): Promise<void> {
    this.#trouble = await this.#unlessClosed(troubleOf(client))
    if (this.#trouble !== undefined) throw new Error(this.#trouble)
  }

  /** Settles like a promise, but rejects immediately when the store is closed. */
  #unlessClosed<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => reject(new Error('closed'))
      promise.then(resolve, reject)
      if (this.#isClosed) this.#giveUp()
    })
  }

  /** Warns about each way to be set up badly once, however often the connection is made. */
  async #lookAtSettings(client: RespClient): Promise<void> {
    const warning = await evictionWarning((args) => client.call(args))
    if (warning !== undefined && warning !== this.#lastWarning) this.#events.warned(warning)
    this.#lastWarning = warning ?? this.#lastWarning
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref?.()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#isClosed) this.#wake()
    })
  }
}

/**
 * Asks the server every second, and gives up one that has been silent for three: a lost machine says nothing. Any reply
 * is a sign of life: of one that is busy, the answer comes after all that was asked before.
 */
function pingEvery(client: RespClient): NodeJS.Timeout {
  let isAsked = false
  let silent = 0
  let heard = 0
  const answered = (): void => {
    isAsked = false
  }
  const pong: Asker = { answered, failed: answered }
  const ping = (): void => {
    if (!isAsked || client.piecesRead !== heard) silent = 0
    heard = client.piecesRead
    if (silent++ >= MAX_SILENT) client.destroy('no answer for three seconds')
    else if (!isAsked) {
      isAsked = true
      client.ask(PING, pong)
    }
  }
  const timer = setInterval(ping, PING_INTERVAL_MS)
  timer.unref?.()
  return timer
}

const PING = ['PING']
const PING_INTERVAL_MS = 1_000
const MAX_SILENT = 3

async function subscribe(client: RespClient, { channel, heard }: Subscription): Promise<void> {
  await client.subscribe(channel, (message) => heard(message))
}
