import { got, SluiceError } from '../../../core/errors.ts'
import { StoreFault } from '../../../engine/store-fault.ts'
import type { Args, Asker, RedisConnection, Reply } from './connection.ts'

/** The type of texts in replies, as node-redis calls it in its type mapping: RESP_TYPES.BLOB_STRING. */
const BLOB_STRING = 36
/** AS_BUFFERS has node-redis answer with bytes, not with text. */
const AS_BUFFERS = { typeMapping: { [BLOB_STRING]: Buffer } }

/** Events of a client. A client of the app's own need not have them. */
interface Emitter {
  once?(event: string, listener: () => void): unknown
  removeListener?(event: string, listener: () => void): unknown
}

/** A client of the package `redis` (5 and newer) for one server. */
export interface NodeRedisClient extends Emitter {
  readonly isReady: boolean
  readonly isOpen?: boolean
  sendCommand(args: Args, options?: object): Promise<unknown>
}

/** A client of the package `ioredis` for one server. */
export interface IoredisClient extends Emitter {
  readonly status: string
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>
}

/** A client of an app that is used in place of connections of this library. */
export type RedisClient = NodeRedisClient | IoredisClient

const SHARD = 'redis'
/** What ioredis says of a client that has not been connected yet. */
const FIRST_CONNECTION: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect'])

/**
 * Sends commands through a client that the app already has. The app connects and closes it. A client that resends
 * commands after a connection broke (ioredis, unless autoResendUnfulfilledCommands is false) may charge twice.
 */
export class ClientConnection implements RedisConnection {
  readonly spansPartitions = true
  readonly #send: (args: Args) => Promise<unknown>
  readonly #isReady: () => boolean
  #wasReady = false

  constructor(client: RedisClient) {
    checkClient(client)
    if (isIoredis(client)) {
      this.#isReady = () => this.#isUsable(client.status)
      this.#send = ([command, ...args]) => client.callBuffer(String(command), ...args)
    } else {
      // A client that was closed says so itself.
      this.#isReady = () => client.isReady || client.isOpen === false
      this.#send = (args) => client.sendCommand(args, AS_BUFFERS)
    }
  }

  shardOf(): string {
    return SHARD
  }

  shards(): readonly string[] {
    return [SHARD]
  }

  askShard(_shard: string, args: Args, asker: Asker): void {
    this.ask('', args, asker)
  }

  ask(_key: string, args: Args, asker: Asker): void {
    if (!this.#isReady()) {
      asker.failed(new StoreFault('offline', SHARD, 'not connected'))
      return
    }
    this.#send(args).then(
      (reply) => asker.answered(reply as Reply),
      (error: Error) => asker.failed(error),
    )
  }

  reset(): void {}

  /**
   * Whether a client accepts commands. One that has never been connected is about to be: it sends what it is given once
   * it is. One that lost its connection would queue commands for as long as the server is unavailable. One that was
   * closed reports that.
   */
  #isUsable(status: string): boolean {
    if (status === 'ready') this.#wasReady = true
    return status === 'ready' || status === 'end' || (!this.#wasReady && FIRST_CONNECTION.has(status))
  }

  async close(): Promise<void> {}
}

/** What ends an attempt to connect: it succeeded, it failed and another follows, or it was given up. */
const ATTEMPT_ENDS = ['ready', 'reconnecting', 'close', 'end'] as const

/**
 * Resolves when a client that is connecting has ended its first attempt, and immediately for one that is connected,
 * was never asked to connect, or has no events. One of ioredis that connects with its first command is sent one.
 */
export function clientReady(client: RedisClient): Promise<void> {
  const isConnecting = isIoredis(client)
    ? FIRST_CONNECTION.has(client.status)
    : client.isOpen === true && !client.isReady
  if (!isConnecting || typeof client.once !== 'function') return Promise.resolve()
  if (isIoredis(client) && client.status === 'wait') client.callBuffer('PING').catch(() => {})
  return new Promise((resolve) => {
    const ended = (): void => {
      for (const event of ATTEMPT_ENDS) client.removeListener?.(event, ended)
      resolve()
    }
    for (const event of ATTEMPT_ENDS) client.once?.(event, ended)
  })
}

/** Refuses what is no client of a package that is known here. */
export function checkClient(client: RedisClient): void {
  if (!isIoredis(client) && !isNodeRedis(client)) throw new SluiceError('REDIS_CLIENT_INVALID', 'redis', got(client))
}

function isIoredis(client: RedisClient): client is IoredisClient {
  const { callBuffer, status } = (client ?? {}) as Partial<IoredisClient>
  return typeof callBuffer === 'function' && typeof status === 'string'
}

function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  const { sendCommand, isReady } = (client ?? {}) as Partial<NodeRedisClient>
  return typeof sendCommand === 'function' && typeof isReady === 'boolean'
}
