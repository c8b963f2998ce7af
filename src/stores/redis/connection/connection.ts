import type { Asker } from '../resp/asker-queue.ts'
import type { Reply } from '../resp/reply.ts'

export type { Asker } from '../resp/asker-queue.ts'
export type { Reply } from '../resp/reply.ts'

/** A command's name and arguments. */
export type Args = readonly (string | Buffer)[]

/** What a connection tells about itself. */
export interface ConnectionEvents {
  /** A server of a cluster has keys, and is connected to for the first time: `connected` or `disconnected` follows. */
  connecting?(shard: string): void
  connected(shard: string): void
  disconnected(shard: string, reason: string): void
  /** A server of a cluster has no keys any more: nobody is to wait for it. */
  retired?(shard: string): void
  /** The server is set up in a way that harms: said once, at the start. */
  warned(warning: string): void
}

/** A RedisConnection sends commands to the server that a key lives on. It connects, and reconnects, by itself. */
export interface RedisConnection {
  /** One call may name keys of several partitions: there is one server only. */
  readonly spansPartitions: boolean
  /** shardOf names the server that a key lives on. */
  shardOf(key: string): string
  /**
   * nodeOf names the server that takes calls about keys of several partitions, this one among them; undefined where there is
   * none. Without it, calls name keys of one partition, or of all.
   */
  nodeOf?(partition: string): string | undefined
  /** shards names all servers that are known to have keys. */
  shards(): readonly string[]
  /** askShard is ask for a server, whatever its keys. */
  askShard(shard: string, args: Args, asker: Asker): void
  /**
   * ask sends a command at once, or fails: nothing waits for a connection, and nothing is sent twice. The asker may be told
   * before ask returns. The arguments stay as they are until it is.
   */
  ask(key: string, args: Args, asker: Asker): void
  /** reset drops a connection that does not answer any more; another one is made. */
  reset(shard: string): void
  close(): Promise<void>
}

/** call asks, and promises the answer: for what is not asked for every request. */
export function call(connection: Pick<RedisConnection, 'ask'>, key: string, args: Args): Promise<Reply> {
  return new Promise((resolve, reject) => {
    connection.ask(key, args, { answered: resolve, failed: reject })
  })
}

/** callShard is call for a server, whatever its keys. */
export function callShard(connection: RedisConnection, shard: string, args: Args): Promise<Reply> {
  return new Promise((resolve, reject) => {
    connection.askShard(shard, args, { answered: resolve, failed: reject })
  })
}
