import { StoreFault } from '../../engine/store-fault.ts'
import type { HostPort, RedisAddress } from './address.ts'
import { AS_BUFFERS, type ClientOptions, clientOptions, retryDelayMs } from './client-options.ts'
import type { ConnectionEvents, RedisConnection } from './connection.ts'
import { evictionWarning } from './eviction-warning.ts'
import { type PackageClient as Client, destroy, loadRedisPackage } from './redis-package.ts'
import { troubleOf } from './server-trouble.ts'

/** Where a server is right now: fixed, or what the sentinels say. */
export type Locate = () => Promise<HostPort | undefined>

/** A Subscription is what a connection is for that does nothing but listen. */
export interface Subscription {
  readonly channel: string
  heard(message: string): void
}

/**
 * SingleConnection talks to one server. The client library connects; when and where to reconnect is decided here, because
 * the server may be another one by then (a failover), and because nothing may be queued or sent again meanwhile.
 */
export class SingleConnection implements RedisConnection {
  readonly spansPartitions = true
  readonly #address: RedisAddress
  readonly #locate: Locate
  readonly #events: ConnectionEvents
  #client: Client | undefined
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

  callShard(_shard: string, args: readonly (string | Buffer)[]): Promise<unknown> {
    return this.call('', args)
  }

  call(_key: string, args: readonly (string | Buffer)[]): Promise<unknown> {
    const client = this.#client
    if (client === undefined || !client.isReady) return Promise.reject(this.#fault())
    return client.sendCommand(args, AS_BUFFERS)
  }

  reset(): void {
    const client = this.#client
    this.#client = undefined
    if (client?.isOpen) destroy(client)
    this.#wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.reset()
    this.#giveUp()
    await this.#running
  }

  /** #run keeps a connection up until the store is closed. */
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
    let client: Client | undefined
    let pings: NodeJS.Timeout | undefined
    try {
      const { createClient } = await this.#unlessClosed(loadRedisPackage())
      const node = await this.#unlessClosed(this.#locate())
      client = createClient(this.#options(node))
      if (this.#address.keepAlive === false) client.unref()
      const ended = endOf(client)
      await this.#unlessClosed(this.#connect(client))
      if (this.#subscription === undefined) await this.#checkStanding(client)
      else await this.#unlessClosed(subscribe(client, this.#subscription))
      this.#client = client
      pings = pingEvery(client)
      onConnected()
      this.#events.connected(this.#shard)
      if (this.#subscription === undefined) await this.#lookAtSettings(client)
      return await ended
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== this.#trouble) this.#trouble = undefined
      return reason
    } finally {
      clearInterval(pings)
      // Also when it has ended by itself: it still has a timer, and the library a record of it.
      if (client !== undefined) destroy(client)
    }
  }

  #fault(): StoreFault {
    if (this.#trouble === undefined) return new StoreFault('offline', this.#shard, 'not connected')
    return new StoreFault('unavailable', this.#shard, this.#trouble)
  }

  /** #checkStanding rejects when the server answers, but cannot count. */
  async #checkStanding(client: Client): Promise<void> {
    this.#trouble = await this.#unlessClosed(troubleOf(client))
    if (this.#trouble !== undefined) throw new Error(this.#trouble)
  }

  /** #connect connects. A client that is destroyed before its socket is there connects all the same, and has to go then. */
  async #connect(client: Client): Promise<void> {
    await client.connect()
    if (this.#isClosed) destroy(client)
  }

  /** #unlessClosed resolves as a promise does, and rejects at once when the store is closed. */
  #unlessClosed<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => reject(new Error('closed'))
      promise.then(resolve, reject)
      if (this.#isClosed) this.#giveUp()
    })
  }

  /** #lookAtSettings warns about each way to be set up badly once, however often the connection is made. */
  async #lookAtSettings(client: Client): Promise<void> {
    const warning = await evictionWarning((args) => client.sendCommand(args))
    if (warning !== undefined && warning !== this.#lastWarning) this.#events.warned(warning)
    this.#lastWarning = warning ?? this.#lastWarning
  }

  #options(node: HostPort | undefined): ClientOptions {
    const { socketPath } = this.#address
    const options = clientOptions(this.#address)
    if (socketPath !== undefined)
      return { ...options, socket: { ...options.socket, path: socketPath, tls: false } } as ClientOptions
    return { ...options, socket: { ...options.socket, ...node } } as ClientOptions
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#isClosed) this.#wake()
    })
  }
}

/**
 * pingEvery asks the server every second, so that one that is gone is noticed. The client's own timer keeps processes
 * alive. A ping that was not answered is the last one: each write would prolong the life of a silent connection.
 */
function pingEvery(client: Client): NodeJS.Timeout {
  let isAnswered = true
  const answered = (): void => {
    isAnswered = true
  }
  const ping = (): void => {
    if (!client.isReady || !isAnswered) return
    isAnswered = false
    client.sendCommand(['PING']).then(answered, answered)
  }
  return setInterval(ping, PING_INTERVAL_MS).unref()
}

const PING_INTERVAL_MS = 1_000

async function subscribe(client: Client, { channel, heard }: Subscription): Promise<void> {
  await client.subscribe(channel, (message) => heard(message))
}

/** endOf resolves with the reason when the client's connection has ended. */
function endOf(client: Client): Promise<string> {
  return new Promise((resolve) => {
    client.on('error', (error: Error) => {
      if (!client.isOpen || !client.isReady) resolve(error.message)
    })
    client.on('end', () => resolve('closed'))
  })
}
