import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import { compileLimit } from 'sluice/internal/core/limit'
import type { HeldPermits } from 'sluice/internal/engine/ports'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 1

type Packed = readonly [
  version: number,
  id: number | string,
  /** Which process holds it, when no other can release it; '' when all can. */
  holder: string,
  held: readonly (readonly [key: string, limit: number, ttlMs: number])[],
]

/**
 * LeaseTokens turns leases into texts that clients keep, and back. A token holds all that a node needs to release the
 * lease, so that any node with the same secret can, and nodes remember nothing. It is encrypted and authenticated
 * (AES-256-GCM): clients can neither read the counters' keys in it nor make one up.
 */
export class LeaseTokens {
  readonly #key: Buffer
  readonly #holder = randomBytes(8).toString('hex')

  /** secret is what the nodes of a shared store agree on. Without one, tokens are good in this process only. */
  constructor(secret?: string) {
    const base = secret === undefined ? randomBytes(KEY_BYTES) : `sluice ${secret}`
    this.#key = Buffer.from(hkdfSync('sha256', base, '', 'sluice lease tokens', KEY_BYTES))
  }

  /** seal spells a lease as a token. */
  seal({ id, held, isLocal }: HeldPermits): string {
    const packed: Packed = [
      VERSION,
      id,
      isLocal === true ? this.#holder : '',
      held.map(({ key, limit }) => [key, limit.max, limit.windowMs] as const),
    ]
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    const sealed = [nonce, cipher.update(JSON.stringify(packed), 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  /**
   * open returns the lease behind a token. It is undefined for one that another process took while the shared store was
   * away: nobody else can release that, and it comes back by itself when its time is over.
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
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) throw invalid('too short')
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)).toString('utf8') + decipher.final('utf8')
      return JSON.parse(text) as Packed
    } catch {
      // What is authentic was written by a node, and parses.
      throw invalid('not one of ours')
    }
  }
}

function invalid(detail: string): SluiceError {
  return new SluiceError('LEASE_INVALID', 'lease', detail)
}
