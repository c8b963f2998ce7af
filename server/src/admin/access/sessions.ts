import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const SESSION_COOKIE = 'sluice_session'
const LASTS_MS = 12 * 3_600_000
/**
 * Sessions that were ended before their time and are remembered until then. More than this, and the oldest are
 * forgotten.
 */
const MAX_ENDED = 10_000

/** A Session is what a cookie says: which token it began with, and until when it is good. */
export interface Session {
  readonly id: string
  readonly tokenId: string
  readonly expiresAtMs: number
}

const COOKIE = /^([A-Za-z0-9_-]{16})\.(\d{1,16})\.([A-Za-z0-9._-]{1,64})\.([A-Za-z0-9_-]{43})$/

/**
 * Sessions makes and reads the cookies of the dashboard. They are signed, not kept: nodes with the same secret take
 * each other's. The token itself is not in them, and is asked for again with every request, so that revoking it ends
 * its sessions.
 */
export class Sessions {
  readonly #secret: Buffer
  readonly #nowMs: () => number
  readonly #ended = new Map<string, number>()

  constructor(secret: string | undefined, nowMs: () => number) {
    this.#secret = createHmac('sha256', secret ?? randomBytes(32))
      .update('sluice admin session')
      .digest()
    this.#nowMs = nowMs
  }

  begin(tokenId: string): { readonly session: Session; readonly value: string } {
    const session = { id: randomBytes(12).toString('base64url'), tokenId, expiresAtMs: this.#nowMs() + LASTS_MS }
    const text = `${session.id}.${session.expiresAtMs}.${tokenId}`
    return { session, value: `${text}.${this.#sign(text).toString('base64url')}` }
  }

  /** read returns the session of a Cookie header; undefined where there is none that is good. */
  read(cookies: string | undefined): Session | undefined {
    const [, id, expires, tokenId, signature] = COOKIE.exec(cookieOf(cookies, SESSION_COOKIE) ?? '') ?? []
    if (id === undefined) return undefined
    const expected = this.#sign(`${id}.${expires}.${tokenId}`)
    if (!timingSafeEqual(expected, Buffer.from(signature, 'base64url'))) return undefined
    const session = { id, tokenId, expiresAtMs: Number(expires) }
    return session.expiresAtMs > this.#nowMs() && !this.#ended.has(id) ? session : undefined
  }

  /** end makes a session's cookie worthless, here. */
  end({ id, expiresAtMs }: Session): void {
    this.#ended.set(id, expiresAtMs)
    for (const [other, untilMs] of this.#ended) {
      if (untilMs > this.#nowMs() && this.#ended.size <= MAX_ENDED) break
      this.#ended.delete(other)
    }
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text).digest()
  }
}

/** Formats a Set-Cookie header. `isSecure`: the browser came by https, if only to a proxy before us. */
export function setCookie(value: string, maxAgeMs: number, isSecure: boolean): string {
  const parts = [`${SESSION_COOKIE}=${value}`, 'Path=/', `Max-Age=${Math.floor(maxAgeMs / 1000)}`, 'HttpOnly']
  return [...parts, 'SameSite=Strict', ...(isSecure ? ['Secure'] : [])].join('; ')
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  const parts = (header ?? '').split(';').map((part) => part.trim())
  const found = parts.filter((part) => part.startsWith(`${name}=`))
  // Two of one name: a site on a neighbouring name planted one, and it cannot be known which.
  return found.length === 1 ? found[0].slice(name.length + 1) : undefined
}
