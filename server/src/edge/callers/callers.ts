import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Call } from '../../grpc/index.ts'

/** Who may call, and who of them is trusted. */
export interface CallerOptions {
  /** The tokens that callers may send. Default: none, and anyone may call. */
  readonly tokens?: readonly string[]
  /** Without tokens: every caller is trusted. Default: false. */
  readonly trustAll?: boolean
}

// Made once: an error with its stack takes as long as many decisions, and strangers may call as often as they like.
const TOKEN_REQUIRED = new SluiceError('TOKEN_REQUIRED', 'authorization', 'the token is missing or unknown')

/**
 * Determines who may call, and which callers are trusted to refund and to bring limits. Tokens are compared by their
 * digests, in constant time.
 */
export class Callers {
  readonly #digests: readonly Buffer[]
  readonly #trustAll: boolean

  constructor({ tokens = [], trustAll = false }: CallerOptions = {}) {
    this.#digests = tokens.map(digestOf)
    this.#trustAll = trustAll
  }

  /** Returns whether a caller has to show one. */
  get asksForToken(): boolean {
    return this.#digests.length > 0
  }

  /** Returns whether the sender of a request is trusted. Throws when it may not call at all. */
  admitRequest({ headers }: IncomingMessage): boolean {
    if (!this.asksForToken) return this.#trustAll
    if (this.#knows(headers.authorization)) return true
    throw TOKEN_REQUIRED
  }

  /** Like admitRequest for gRPC, where a client certificate that was verified is as good as a token. */
  admitCall(call: Call): boolean {
    if (this.#trustAll && !this.asksForToken) return true
    if (call.peer.identity?.authorized === true) return true
    if (!this.asksForToken) return false
    if (this.#knows(call.metadata.get('authorization'))) return true
    throw TOKEN_REQUIRED
  }

  #knows(authorization: string | undefined): boolean {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (token === undefined) return false
    const digest = digestOf(token)
    // All are compared, so that the time does not reveal which one it was.
    return this.#digests.filter((each) => timingSafeEqual(each, digest)).length > 0
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
