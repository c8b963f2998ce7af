import { networkOf } from './network.ts'

/** A connection, or one that is about to be. */
export interface Member {
  /** none: it has never made a request. idle: it has none in flight. busy: a request waits for an answer. */
  readonly use: 'none' | 'idle' | 'busy'
  /** Ends it soon. */
  leave(): void
}

/** Of this many allowed connections, one is asked to close in advance: finding it takes a look at all of them. */
const SHARE = 128

/**
 * Bounds the number of connections, so that no address keeps the others out by holding all of them. By default there is
 * no bound for a single address: proxies have few addresses and many connections. Only when the limit is reached must
 * some close, and they are of the address with the most: first those without any request, the newest first; then
 * waiting ones, in favour of another address; then those with a call in flight, in favour of an address with less than
 * half as many. A connection that has been used never closes in favour of a new one of the same address. Unix sockets
 * have no address, and the permissions of their file control who may connect: theirs are never closed.
 */
export class Crowds {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #members = new Map<string, Set<Member>>()
  #size = 0
  /** A network for which no room was found, and how many of it are turned away before the next look at all. */
  #turnedAway = { network: '', left: 0 }

  /** `mostOfOne` bounds a single address too, for servers that know which of their clients are proxies. */
  constructor(most: number, mostOfOne = most) {
    this.#most = most
    this.#mostOfOne = mostOfOne
  }

  get size(): number {
    return this.#size
  }

  /** Returns whether there is room for one more from an address, and makes some if there is none. */
  admits(address: string, isProxy = false): boolean {
    const isBounded = !isProxy && this.#mostOfOne < this.#most
    if (isBounded && this.of(address) >= this.#mostOfOne) return false
    return this.#size < this.#most || this.#makeRoom(networkOf(address))
  }

  /** Returns how many belong to an address. */
  of(address: string): number {
    return this.#members.get(networkOf(address))?.size ?? 0
  }

  /** Counts a member, and returns what takes that back: once, whenever it leaves. */
  add(address: string, member: Member): () => void {
    const network = networkOf(address)
    const crowd = this.#members.get(network) ?? new Set()
    this.#members.set(network, crowd)
    crowd.add(member)
    this.#size++
    return () => {
      if (!crowd.delete(member)) return
      this.#size--
      if (crowd.size === 0 && this.#members.get(network) === crowd) this.#members.delete(network)
    }
  }

  #makeRoom(network: string): boolean {
    if (this.#turnedAway.network === network && this.#turnedAway.left-- > 0) return false
    const [largest, crowd] = this.#largest()
    const own = this.#members.get(network)?.size ?? 0
    const candidates = [...crowd].reverse()
    let leaving = candidates.filter(({ use }) => use === 'none')
    const isOther = largest !== network
    if (leaving.length === 0 && isOther) leaving = candidates.filter(({ use }) => use === 'idle')
    if (leaving.length === 0 && isOther && 2 * own < crowd.size) leaving = candidates
    const chosen = leaving.slice(0, Math.ceil(this.#most / SHARE))
    // They count no more from now on, however long their sockets take to close.
    for (const member of chosen) if (crowd.delete(member)) this.#size--
    for (const member of chosen) member.leave()
    if (chosen.length === 0) this.#turnedAway = { network, left: Math.floor(this.#most / SHARE) }
    return chosen.length > 0
  }

  #largest(): [network: string, crowd: Set<Member>] {
    let most: [string, Set<Member>] = ['', new Set()]
    for (const each of this.#members) if (each[0] !== '' && each[1].size > most[1].size) most = each
    return most
  }
}
