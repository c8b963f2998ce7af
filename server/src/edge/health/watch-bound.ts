import type { Peer } from '../../grpc/index.ts'

/**
 * One client watches one service on a connection, or a few. Calls that never end are a way to hold memory for nothing:
 * many on one connection, or on many connections, are an attack or a mistake.
 */
export const MAX_WATCHES_OF_A_CONNECTION = 16
export const MAX_WATCHES = 4_096

/** Counts calls that do not end, of each connection and of the process. */
export class WatchBound {
  readonly #ofPeers = new WeakMap<Peer, number>()
  #all = 0

  /** Counts one more of a peer, which stands for its connection, or says what there are too many of. */
  admit(peer: Peer): 'admitted' | 'too many on a connection' | 'too many' {
    const own = this.#ofPeers.get(peer) ?? 0
    if (own >= MAX_WATCHES_OF_A_CONNECTION) return 'too many on a connection'
    if (this.#all >= MAX_WATCHES) return 'too many'
    this.#ofPeers.set(peer, own + 1)
    this.#all++
    return 'admitted'
  }

  /** Must be called for each admitted watch when it ends. */
  leave(peer: Peer): void {
    this.#ofPeers.set(peer, (this.#ofPeers.get(peer) ?? 1) - 1)
    this.#all--
  }
}
