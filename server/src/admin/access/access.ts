import type { IncomingMessage } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'
import { requireOwnSite } from '../../edge/http/web-pages.ts'
import type { AdminTokens } from './admin-tokens.ts'
import { isFromHere } from './loopback.ts'
import type { Identity } from './roles.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Throttle } from './throttle.ts'

const BEARER = /^Bearer +(\S{1,1024})$/i
/** A CallerToken is what a caller shows that does not speak HTTP. */
export interface CallerToken {
  readonly authorization: string
  readonly address: string
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Identifies callers. It bounds how often they ask, and how often with a wrong token. */
export class Access {
  readonly tokens: AdminTokens
  readonly sessions: Sessions
  readonly #throttle: Throttle

  constructor(tokens: AdminTokens, sessions: Sessions, throttle: Throttle) {
    this.tokens = tokens
    this.sessions = sessions
    this.#throttle = throttle
  }

  /**
   * Counts a request against its address, and throws when there are too many. A request with a session, or with a token
   * that was good lately, is counted against its token alone: clients behind one proxy do not shut each other out.
   */
  count(request: IncomingMessage): void {
    const { authorization = '' } = request.headers
    const isKnown =
      authorization === ''
        ? this.sessionOf(request) !== undefined
        : this.tokens.wasGood(BEARER.exec(authorization)?.[1] ?? '')
    if (!isKnown) this.#throttle.request(request.socket.remoteAddress)
  }

  /**
   * Returns who asks. It throws where a token is required and missing, and when a web page of another site has a
   * browser ask.
   */
  async identify(request: IncomingMessage): Promise<Identity> {
    requireOwnSite(request)
    const { headers, method = '' } = request
    const identity =
      headers.authorization === undefined
        ? ((await this.#bySession(request)) ?? (await this.#fromHere(request, method)))
        : await this.login(request, BEARER.exec(headers.authorization)?.[1])
    if (identity === undefined) throw new SluiceError('ADMIN_TOKEN_REQUIRED', 'authorization', 'no token')
    if (identity.via !== 'session') this.#throttle.token(identity.id, identity.role)
    return identity
  }

  /** Like count and identify for a caller that came over gRPC: there is no page and no session. */
  async identifyCaller({ authorization, address }: CallerToken): Promise<Identity> {
    const token = BEARER.exec(authorization)?.[1]
    if (!this.tokens.wasGood(token ?? '')) this.#throttle.request(address)
    const identity = await this.#loginFrom(address, token)
    this.#throttle.token(identity.id, identity.role)
    return identity
  }

  /**
   * Returns whose a token is. Only a wrong token counts against its address: a good one is admitted however many were
   * wrong.
   */
  login({ socket }: IncomingMessage, token: string | undefined): Promise<Identity> {
    return this.#loginFrom(socket.remoteAddress, token)
  }

  async #loginFrom(address: string | undefined, token: string | undefined): Promise<Identity> {
    const identity = token === undefined ? undefined : await this.tokens.identify(token)
    if (identity !== undefined) return identity
    this.#throttle.failed(address)
    throw new SluiceError('ADMIN_TOKEN_REQUIRED', 'authorization', 'the token is not one of ours, or not any more')
  }

  /** sessionOf is the session of a request's cookie, if that is good. */
  sessionOf({ headers }: IncomingMessage): Session | undefined {
    return this.sessions.read(headers.cookie)
  }

  async #bySession(request: IncomingMessage): Promise<Identity | undefined> {
    const session = this.sessionOf(request)
    if (session === undefined) return undefined
    if (!SAFE.has(request.method ?? '')) requireOwnPage(request)
    // Before the token is looked up: its revocation does not end the cookie.
    this.#throttle.token(session.tokenId)
    const identity = await this.tokens.again(session.tokenId)
    return identity && { ...identity, via: 'session' }
  }

  async #fromHere(request: IncomingMessage, method: string): Promise<Identity | undefined> {
    if (!SAFE.has(method) || !isFromHere(request) || (await this.tokens.hasAny())) return undefined
    return { id: 'loopback', name: 'this machine', role: 'viewer', via: 'loopback' }
  }
}

/**
 * requireOwnPage throws unless a browser says that a page of ours asks. Where a cookie gives the right to change
 * something, saying nothing is not enough: browsers that know SameSite say it.
 */
function requireOwnPage(request: IncomingMessage): void {
  const { 'sec-fetch-site': site, origin } = request.headers
  if (site !== 'same-origin' && origin === undefined) {
    throw new SluiceError('CROSS_SITE_REQUEST', 'origin', 'a change with a cookie says which page it comes from')
  }
}
