import type { RedisConnection } from './connection/connection.ts'

/** Names what a key can share a call with: everything on a single server, its partition on a cluster. */
export function laneOf(connection: Pick<RedisConnection, 'spansPartitions'>, key: string): string {
  return connection.spansPartitions ? '' : key.slice(key.indexOf('{'), key.indexOf('}') + 1)
}
