/** Why a call was given up. */
export type GiveUpReason =
  /** It would have to wait beyond its deadline. */
  | 'deadline'
  /** It was sent, and no answer came by its deadline. */
  | 'timeout'
  /** Too many wait already. */
  | 'queue_full'
  /**
   * The server refused, and it is not tried again: too often, more than the share of retries, or it cannot be repeated.
   */
  | 'refused'
  /** The server has refused so much of late that the call was not sent. */
  | 'throttled'

/**
 * Says why a call was given up, and when to retry. It is thrown for a timeout, and for the rest with `throwOnGiveUp`.
 */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError'
  declare readonly reason: GiveUpReason
  /** How long to wait before trying again makes sense. Undefined: unknown. */
  declare readonly retryAfterMs: number | undefined
  /** The same as a time. */
  declare readonly retryAt: Date | undefined
  /** The server's refusal, unread, if it came to one. */
  declare readonly response: Response | undefined

  constructor(reason: GiveUpReason, message: string, retryAfterMs?: number, response?: Response) {
    super(message)
    const retryAt = retryAfterMs === undefined ? undefined : new Date(Date.now() + retryAfterMs)
    Object.assign(this, { reason, retryAfterMs, retryAt, response })
  }
}

/** Returns what a call resolves with that was given up: the server's refusal, or a 429 where it was not sent. */
export function responseOf({ reason, message, retryAfterMs, response }: RateLimitError): Response {
  if (response) return response
  const headers = new Headers({ 'content-type': 'application/problem+json' })
  if (retryAfterMs !== undefined) headers.set('retry-after', `${Math.ceil(retryAfterMs / 1_000)}`)
  const body = { status: 429, title: 'not sent', detail: message, reason, retryAfterMs }
  return new Response(JSON.stringify(body), { status: 429, headers })
}
