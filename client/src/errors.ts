/** Why a call was given up. */
export type GiveUpReason =
  /** It would have to wait beyond its deadline. */
  | 'deadline'
  /** Too many wait already. */
  | 'queue_full'
  /** The server refused, and it is not tried again: too often, more than the share of retries, or it cannot be repeated. */
  | 'refused'
  /** The server has refused so much of late that the call was not sent. */
  | 'throttled'

/** Thrown for a call that was given up. It says when to retry. */
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
