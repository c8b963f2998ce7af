import { got, SluiceError } from '../errors.ts'
import { forwardedFor } from './forwarded.ts'
import { type Cidr, type IpAddress, maskIp, parseCidr } from './ip.ts'
import { parseNode } from './ip-key.ts'

/** Names of blocks, as in Express's `trust proxy`. */
const NAMED_BLOCKS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
])

const MAX_HOPS = 32

export interface ProxyTrustOptions {
  /**
   * Whose word about the client counts: how many proxies stand in front of this server, or their addresses, blocks and
   * names (`loopback`, `linklocal`, `uniquelocal`). There is no "all of them": that would be the client's word.
   */
  readonly trustedProxies: number | readonly string[]
  /** The field that those proxies add to. Only this one is read. Default: `x-forwarded-for`. */
  readonly forwardedHeader?: 'x-forwarded-for' | 'forwarded'
}

/**
 * Finds the client's address behind proxies. Walks from the peer of the socket to the left over trusted proxies and
 * stops at the first address that is not trusted: anything left of that may be forged.
 */
export class ProxyTrust {
  readonly header: 'x-forwarded-for' | 'forwarded'
  readonly #hops: number
  readonly #blocks: readonly Cidr[]

  constructor({ trustedProxies, forwardedHeader = 'x-forwarded-for' }: ProxyTrustOptions) {
    if (forwardedHeader !== 'x-forwarded-for' && forwardedHeader !== 'forwarded') {
      throw new SluiceError('PROXY_TRUST_INVALID', 'forwardedHeader', got(forwardedHeader))
    }
    this.header = forwardedHeader
    this.#hops = typeof trustedProxies === 'number' ? checkHops(trustedProxies) : 0
    this.#blocks = typeof trustedProxies === 'number' ? [] : blocksOf(trustedProxies)
  }

  /** Returns the client's address, of the peer's and of what the trusted proxies wrote into the field. */
  clientAddress(peer: string | undefined, field: string | undefined): string | undefined {
    if (peer === undefined || field === undefined || field === '') return peer
    const nodes = this.header === 'forwarded' ? forwardedFor(field) : undefined
    let client = peer
    let end = nodes === undefined ? field.length : nodes.length
    for (let hop = 0; end > 0 && this.#trusts(client, hop); hop++) {
      const comma = nodes === undefined ? field.lastIndexOf(',', end - 1) : end - 2
      const node = nodes === undefined ? field.slice(comma + 1, end).trim() : nodes[end - 1]
      // Unknown, obfuscated or nonsense: the proxy before it is the last one that is known.
      if (node === undefined || parseNode(node) === undefined) break
      client = node
      end = nodes === undefined ? comma : end - 1
    }
    return client
  }

  /** Returns whether a peer is a proxy whose word about others counts. */
  trusts(peer: string): boolean {
    return this.#trusts(peer, 0)
  }

  /** Whether an address is one of the named proxies. Always false where proxies are counted. */
  knows(address: string): boolean {
    const ip = parseNode(address)
    return ip !== undefined && this.#blocks.some((block) => isInside(ip, block))
  }

  #trusts(address: string, hop: number): boolean {
    if (this.#hops > 0) return hop < this.#hops
    return this.knows(address)
  }
}

function checkHops(hops: number): number {
  if (!Number.isInteger(hops) || hops < 0 || hops > MAX_HOPS) {
    throw new SluiceError('PROXY_TRUST_INVALID', 'trustedProxies', got(hops))
  }
  return hops
}

function blocksOf(texts: readonly string[]): readonly Cidr[] {
  if (!Array.isArray(texts)) throw new SluiceError('PROXY_TRUST_INVALID', 'trustedProxies', got(texts))
  return texts
    .flatMap((text) => NAMED_BLOCKS.get(text) ?? [text])
    .map((text) => {
      const block = typeof text === 'string' ? parseCidr(text) : undefined
      if (block === undefined) throw new SluiceError('PROXY_TRUST_INVALID', 'trustedProxies', got(text))
      return block
    })
}

function isInside(ip: IpAddress, { base, bits }: Cidr): boolean {
  const masked = maskIp(ip, bits)
  return masked[0] === base[0] && masked[1] === base[1] && masked[2] === base[2] && masked[3] === base[3]
}
