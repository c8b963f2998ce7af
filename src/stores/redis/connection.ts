/** What a connection tells about itself. */
export interface ConnectionEvents {
  connected(shard: string): void
  disconnected(shard: string, reason: string): void
  /** The server is set up in a way that harms: said once, at the start. */
  warned(warning: string): void
}

/** A RedisConnection sends commands to the server that a key lives on. It connects, and reconnects, by itself. */
export interface RedisConnection {
  /** One call may name keys of several partitions: there is one server only. */
  readonly spansPartitions: boolean
  /** shardOf names the server that a key lives on. */
  shardOf(key: string): string
  /** shards names all servers that are known to have keys. */
  shards(): readonly string[]
  /** callShard is call for a server, whatever its keys. */
  callShard(shard: string, args: readonly (string | Buffer)[]): Promise<unknown>
  /** call sends a command at once, or rejects: nothing waits for a connection, and nothing is sent twice. */
  call(key: string, args: readonly (string | Buffer)[]): Promise<unknown>
  /** reset drops a connection that does not answer any more; another one is made. */
  reset(shard: string): void
  close(): Promise<void>
}
