import { createHash } from 'node:crypto'
import { KeyedHash } from '../core/hash.ts'

/**
 * How many partitions callers are spread over. It is the number of script calls that one turn of the event loop makes
 * at most on a cluster, and the number of nodes that can share the work; it is the same on every node, for ever.
 */
export const PARTITIONS = 32

/** Makes the hash that all nodes with the same secret agree on. */
export function sharedHash(secret: string): KeyedHash {
  const digest = createHash('sha256').update(`sluice ${secret}`).digest()
  return new KeyedHash(digest.readInt32LE(0), digest.readInt32LE(4))
}
