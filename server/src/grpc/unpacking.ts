import { gunzipSync } from 'node:zlib'
import { networkOf } from '../net/network.ts'
import { RateBudget } from '../net/rate-budget.ts'
import type { GrpcLimits } from './limits.ts'
import { type MessageRefusal, PREFIX_BYTES, tooLarge } from './message-assembly.ts'
import { GrpcStatus } from './status.ts'

/** What messages may be encoded with, as clients are answered that use something else. */
export const ACCEPTED_ENCODINGS = 'identity,gzip'

/** A header of 10 bytes and a trailer of 8 (RFC 1952, 2.3). */
const LEAST_GZIP_BYTES = 18
/**
 * What unpacks to this much, or to so many times what was sent, costs no more than other messages, and is not counted.
 */
const FREE_BYTES = 65_536
const FREE_RATIO = 16
const BLOCK_BYTES = 65_536
/** An address may have four times as much unpacked as a connection, and all of them sixteen times as much. */
const ADDRESS_SHARES = 4
const SERVER_SHARES = 16
const MOST_ADDRESSES = 1_024

const BAD_GZIP: MessageRefusal = {
  status: GrpcStatus.INTERNAL,
  message: 'the message is not one member of gzip, whole and as long as it says',
}
const TOO_MUCH: MessageRefusal = {
  status: GrpcStatus.RESOURCE_EXHAUSTED,
  message: 'messages unpack to too much; send large ones with grpc-encoding: identity',
}

/**
 * Unpacks messages of gzip for all connections of a server. It does so in the event loop: 1 MiB takes 1 to 3 ms, and 64
 * KiB 0.1 ms. A few bytes can unpack to a thousand times as many, so what goes beyond usual ratios has budgets.
 */
export class Unpacking {
  readonly #limits: GrpcLimits
  readonly #nowMs: () => number
  readonly #ofServer: RateBudget
  readonly #ofAddresses = new Map<string, RateBudget>()

  constructor(limits: GrpcLimits, nowMs: () => number) {
    this.#limits = limits
    this.#nowMs = nowMs
    this.#ofServer = this.#budget(SERVER_SHARES)
  }

  /** Returns a budget for one connection. */
  connectionBudget(): RateBudget {
    return this.#budget(1)
  }

  /**
   * Returns what a message unpacks to, or why it is not unpacked. It is never unpacked to more than it says that it is
   * long.
   */
  unpack(message: Uint8Array, budget: RateBudget, address: string): Uint8Array | MessageRefusal {
    if (message.length < LEAST_GZIP_BYTES) return BAD_GZIP
    const sizeBytes = announcedBytes(message)
    const mostBytes = Math.min(this.#limits.maxUnpackedBytes, this.#limits.maxMessageBytes)
    if (sizeBytes > mostBytes) return tooLarge(sizeBytes, mostBytes)
    const beyondBytes = sizeBytes - Math.max(FREE_BYTES, FREE_RATIO * (message.length + PREFIX_BYTES))
    if (beyondBytes > 0 && !this.#spend(Math.ceil(beyondBytes / BLOCK_BYTES), budget, address)) return TOO_MUCH
    try {
      // One piece, with room to see that it has ended.
      return gunzipSync(message, { maxOutputLength: Math.max(1, sizeBytes), chunkSize: sizeBytes + 64 })
    } catch {
      return BAD_GZIP
    }
  }

  #spend(blocks: number, budget: RateBudget, address: string): boolean {
    const nowMs = this.#nowMs()
    const all = [budget, this.#ofAddress(networkOf(address), nowMs), this.#ofServer]
    return all.every((each) => each.spend(nowMs, 0, blocks))
  }

  #ofAddress(network: string, nowMs: number): RateBudget {
    const known = this.#ofAddresses.get(network)
    if (known !== undefined) return known
    if (this.#ofAddresses.size >= MOST_ADDRESSES) this.#forgetFull(nowMs)
    const budget = this.#budget(ADDRESS_SHARES)
    this.#ofAddresses.set(network, budget)
    return budget
  }

  /** Lets go of addresses that spent nothing lately: a new budget is as good. Where all have, the oldest goes. */
  #forgetFull(nowMs: number): void {
    for (const [network, budget] of this.#ofAddresses) if (budget.isFull(nowMs, 0)) this.#ofAddresses.delete(network)
    const [oldest] = this.#ofAddresses.keys()
    if (this.#ofAddresses.size >= MOST_ADDRESSES) this.#ofAddresses.delete(oldest)
  }

  #budget(shares: number): RateBudget {
    const blocks = (shares * this.#limits.unpackRateBytes) / BLOCK_BYTES
    return new RateBudget({ burst: blocks, perSecond: blocks }, this.#nowMs())
  }
}

/** Returns how long a message of gzip says that it is, unpacked: its last four bytes. */
function announcedBytes(message: Uint8Array): number {
  const at = message.length - 4
  return (message[at] | (message[at + 1] << 8) | (message[at + 2] << 16) | (message[at + 3] << 24)) >>> 0
}
