import { randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import { compileLimit } from 'sluice/internal/core/limit'
import type { HeldPermits } from 'sluice/internal/engine/ports'
import { SealedTexts } from './sealed-texts.ts'

const VERSION = 1
/** Nonce and tag alone have 28 bytes. */
const SHORTEST = 38

type Packed = readonly [
  version: number,
  id: number | string,
  /** Which process holds it, when no other can release it; '' when all can. */
  holder: string,
  held: readonly (readonly [key: string, limit: number, ttlMs: number])[],
]

/**
 * Turns leases into texts that clients keep, and back. A token holds all that a node needs to release the lease, so
 * that any node with the same secret can, and nodes remember nothing. It is encrypted and authenticated (AES-256-GCM):
 * clients can neither read the counters' keys in it nor make one up.
 */
export class LeaseTokens {
  readonly #texts: SealedTexts
  readonly #holder = randomBytes(8).toString('hex')

  /** secret is what the nodes of a shared store agree on. Without one, tokens are good in this process only. */
  constructor(secret?: string) {
    this.#texts = new SealedTexts('sluice lease tokens', secret)
  }

  /** Encodes a lease as a token. */
  seal({ id, held, isLocal }: HeldPermits): string {
    const packed: Packed = [
      VERSION,
      id,
      isLocal === true ? this.#holder : '',
      held.map(({ key, limit }) => [key, limit.max, limit.windowMs] as const),
    ]
    return this.#texts.seal(JSON.stringify(packed))
  }

  /**
   * Returns the lease behind a token; undefined for one that another process granted while the shared store was
   * unavailable: only that process can release it, and it expires.
   */
  open(token: string): HeldPermits | undefined {
    const [, id, holder, held] = this.#unpack(token)
    if (holder !== '' && holder !== this.#holder) return undefined
    return {
      id,
      held: held.map(([key, limit, ttlMs]) => ({
        key,
        limit: compileLimit({ algorithm: 'concurrency', limit, leaseTtl: ttlMs }),
      })),
      ...(holder !== '' && { isLocal: true }),
    }
  }

  #unpack(token: string): Packed {
    if (token.length < SHORTEST) throw invalid('too short')
    const text = this.#texts.open(token)
    if (text === undefined) throw invalid('unknown lease')
    // What is authentic was written by a node, and parses.
    return JSON.parse(text) as Packed
  }
}

function invalid(detail: string): SluiceError {
  return new SluiceError('LEASE_INVALID', 'lease', detail)
}
