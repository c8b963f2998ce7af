import type { Asker } from '../resp/asker-queue.ts'
import type { Reply } from '../resp/reply.ts'

export type { Asker } from '../resp/asker-queue.ts'
export type { Reply } from '../resp/reply.ts'

/** A command's name and arguments. */
export type Args = readonly (string | Buffer)[]

/** Events of a connection. */
export interface ConnectionEvents {
  /** A server of a cluster has keys, and is connected to for the first time: `connected` or `disconnected` follows. */
  connecting?(shard: string): void
  connected(shard: string): void
  disconnected(shard: string, reason: string): void
  /** A server of a cluster has no keys any more, so no caller should wait for it. */
  retired?(shard: string): void
  /** The server is set up in a way that harms: said once, at the start. */
  warned(warning: string): void
}

/** Sends commands to the server that a key lives on. Connects and reconnects automatically. */
export interface RedisConnection {
  /** One call may name keys of several partitions: there is one server only. */
  readonly spansPartitions: boolean
  /** Names the server that a key lives on. */
  shardOf(key: string): string
  /**
   * Names the server that takes calls about keys of several partitions, this one among them; undefined where there is
   * none. Without it, calls name keys of one partition, or of all.
   */
  nodeOf?(partition: string): string | undefined
  /** Names all servers that are known to have keys. */
  shards(): readonly string[]
  /** Like ask for a server, whatever its keys. */
  askShard(shard: string, args: Args, asker: Asker): void
  /**
   * Sends a command immediately, or fails: nothing waits for a connection, and nothing is sent twice. The asker may be
   * called before ask returns; until it is called, the arguments must not change.
   */
  ask(key: string, args: Args, asker: Asker): void
  /** Drops a connection that does not answer any more; another one is made. */
  reset(shard: string): void
  close(): Promise<void>
}

/** call asks, and promises the answer: for what is not asked for every request. */
export function call(connection: Pick<RedisConnection, 'ask'>, key: string, args: Args): Promise<Reply> {
  return new Promise((resolve, reject) => {
    connection.ask(key, args, { answered: resolve, failed: reject })
  })
}

/** Like call for a server, whatever its keys. */
export function callShard(connection: RedisConnection, shard: string, args: Args): Promise<Reply> {
  return new Promise((resolve, reject) => {
    connection.askShard(shard, args, { answered: resolve, failed: reject })
  })
}
