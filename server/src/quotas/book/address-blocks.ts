import { type IpAddress, isV4, maskIp, parseCidr, parseIp } from 'sluice/internal/core/identity/ip'
import type { BlockRecord } from './block-record.ts'

/**
 * Finds the blocks of an address by its prefix, for each length of prefix that any of them has. Unlike CidrIndex it
 * finds the wider ones too: a narrow block that has ended hides none. To add or remove one costs the same however many
 * there are.
 */
export class AddressBlocks {
  /** By the length of the prefix, the longest first. IPv6 and IPv4 apart: `::/0` is not about IPv4. */
  readonly #v4 = new Map<number, Map<string, BlockRecord[]>>()
  readonly #v6 = new Map<number, Map<string, BlockRecord[]>>()

  get isEmpty(): boolean {
    return this.#v4.size === 0 && this.#v6.size === 0
  }

  /** Adds a block. What is no address range blocks no one. */
  add(cidr: string, block: BlockRecord): void {
    const place = this.#placeOf(cidr)
    if (place === undefined) return
    const { lengths, bits, prefix } = place
    const prefixes = lengths.get(bits) ?? new Map<string, BlockRecord[]>()
    lengths.set(bits, prefixes)
    prefixes.set(prefix, [...(prefixes.get(prefix) ?? []), block])
  }

  remove(cidr: string, block: BlockRecord): void {
    const place = this.#placeOf(cidr)
    const prefixes = place?.lengths.get(place.bits)
    if (place === undefined || prefixes === undefined) return
    const left = (prefixes.get(place.prefix) ?? []).filter((each) => each !== block)
    if (left.length > 0) prefixes.set(place.prefix, left)
    else prefixes.delete(place.prefix)
    if (prefixes.size === 0) place.lengths.delete(place.bits)
  }

  /** Returns a block of an address that is in force; undefined for a value that is no address. */
  find(value: string, nowMs: number): BlockRecord | undefined {
    const ip = parseIp(value)
    if (ip === undefined) return undefined
    for (const [bits, prefixes] of isV4(ip) ? this.#v4 : this.#v6) {
      const blocks = prefixes.get(prefixOf(ip, bits))
      const block = blocks?.find((each) => each.isInForce(nowMs))
      if (block !== undefined) return block
    }
    return undefined
  }

  #placeOf(cidr: string) {
    const parsed = parseCidr(cidr)
    if (parsed === undefined) return undefined
    const { base, bits } = parsed
    return { lengths: isV4(base) && bits >= 96 ? this.#v4 : this.#v6, bits, prefix: prefixOf(base, bits) }
  }
}

function prefixOf(ip: IpAddress, bits: number): string {
  return maskIp(ip, bits).join(' ')
}
