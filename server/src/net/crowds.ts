import { networkOf } from './network.ts'

/** A Member is a connection, or one that is about to be. */
export interface Member {
  /** use is what it is good for: nobody has ever asked anything of it; nobody does now; somebody waits for an answer. */
  readonly use: 'none' | 'idle' | 'busy'
  /** leave ends it soon. */
  leave(): void
}

/** Of so many connections that there may be, one is asked to leave at once: looking for them takes a look at all. */
const SHARE = 128

/**
 * Crowds bounds how many connections there are, so that no address keeps the others out by holding on to all of them. By
 * default there is no bound for a single address: proxies come from few addresses with many connections. Only when all places are taken
 * do some have to go, and they are of the address with the most: those that nobody ever asked anything of, the newest
 * first. Where there are none, those that wait go for the sake of another address, and those with a call under way for the
 * sake of one that has less than half as many. What has been of use never goes for a newcomer of its own address. Unix sockets have no address, and the permissions of their file say who may
 * connect: theirs never have to leave.
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

  /** admits says whether there is room for one more from an address, and makes some if there is none. */
  admits(address: string, isProxy = false): boolean {
    const isBounded = !isProxy && this.#mostOfOne < this.#most
    if (isBounded && this.of(address) >= this.#mostOfOne) return false
    return this.#size < this.#most || this.#makeRoom(networkOf(address))
  }

  /** of counts those of an address. */
  of(address: string): number {
    return this.#members.get(networkOf(address))?.size ?? 0
  }

  /** add counts a member, and returns what takes that back: once, whenever it leaves. */
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
