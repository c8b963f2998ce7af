import { KeyedHash } from 'sluice/internal/core/hash'

/**
 * How many parts callers are spread over, each of which one node owns: it is the same on every node, for ever. All
 * rules of one caller meet in one partition.
 */
export const PEER_PARTITIONS = 256

const HEAD = 'sluice:{'
const CLOSING = 0x7d
const ZERO = 0x30

/** Returns the partition in a key as KeyEncoder builds it: `sluice:{17}:…`. */
export function partitionOf(key: string): number {
  let partition = 0
  for (let at = HEAD.length; key.charCodeAt(at) !== CLOSING; at++)
    partition = 10 * partition + key.charCodeAt(at) - ZERO
  return partition
}

/**
 * Returns the owner of each partition, by rendezvous hashing: the member whose name and the partition hash highest. A
 * member that joins takes its share from all others, and one that leaves gives its share to all of them; nothing else
 * moves. Names count, not their order.
 */
export function ownersOf(members: readonly string[]): readonly (string | undefined)[] {
  const hash = new KeyedHash(0x5eed, 0x9ee5)
  return Array.from({ length: PEER_PARTITIONS }, (_, partition) => {
    let owner: string | undefined
    let best = -1
    for (const name of members) {
      hash.of(`${partition} ${name}`, 0)
      const score = (hash.high >>> 0) * 0x200000 + (hash.low >>> 11)
      if (score > best || (score === best && name < String(owner))) {
        best = score
        owner = name
      }
    }
    return owner
  })
}
