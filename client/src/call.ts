import { RateLimitError } from './errors.ts'
import { type LaneCall, now } from './lane.ts'
import { CALL_KINDS, checkOptions, type FetchInput, type PacedFetchOptions, type PacedInit } from './options.ts'
import type { Cost } from './pacer.ts'
import { LONGEST_TIMER_MS } from './reset-time.ts'

const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']

/** One call on its way, with all its attempts. */
export interface Call extends LaneCall {
  readonly url: URL
  /** Where it waits: by server, and whose budget it takes from. */
  readonly laneName: string
  /** Whether it may be sent again: whether that is safe and its body is still available. */
  isRepeatable(): boolean
  send(): Promise<Response>
  /** Clears the deadline. An answer that has begun to arrive belongs to the caller. */
  end(): void
}

/** Reads what a caller of fetch says. */
export function callOf(options: PacedFetchOptions, order: number, input: FetchInput, paced: PacedInit): Call {
  const { rateLimit = {}, ...init } = paced
  const { cost = 1, deadlineMs = options.deadlineMs ?? 60_000, priority = 0 } = rateLimit
  const costs: Cost = typeof cost === 'object' && cost ? { ...cost } : { requests: cost }
  checkOptions(rateLimit, CALL_KINDS)
  checkOptions(costs)
  const request = typeof input === 'object' && 'headers' in input ? input : undefined
  const url = new URL(request?.url ?? String(input), (globalThis as { location?: { href: string } }).location?.href)
  const headers = new Headers(init.headers ?? request?.headers)
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const mayRepeat = (options.retryMethods ?? IDEMPOTENT).includes(method) || headers.has('idempotency-key')
  const partition = rateLimit.partition ?? options.partition?.(url, headers) ?? credentialOf(headers)
  const late = new AbortController()
  const giveUp = (): void => late.abort(new RateLimitError('timeout', 'no answer by the deadline'))
  const timer = setTimeout(giveUp, Math.min(deadlineMs, LONGEST_TIMER_MS))
  const theirs = init.signal ?? request?.signal
  const signal = theirs ? AbortSignal.any([theirs, late.signal]) : late.signal
  return {
    url,
    laneName: `${url.origin} ${partition}`,
    cost: costs,
    priority,
    order,
    deadlineAtMs: now() + deadlineMs,
    signal,
    isRepeatable: () => mayRepeat && !isOnce(init.body) && !(init.body === undefined && request?.bodyUsed),
    send: () => (options.fetch ?? globalThis.fetch)(input, { ...init, signal }),
    end: () => clearTimeout(timer),
  }
}

/** Returns whether a body can be read once only: streams, and what Node.js takes in their place. */
const isOnce = (body: unknown): boolean => 'getReader' in Object(body) || Symbol.asyncIterator in Object(body)

/** Identifies callers by their credential, without keeping it. */
function credentialOf(headers: Headers): string {
  const text = `${headers.get('authorization')} ${headers.get('x-api-key')}`
  let hash = 1
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return `${hash}`
}
