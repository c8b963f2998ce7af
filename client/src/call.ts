import { RateLimitError } from './errors.ts'
import { type LaneCall, LONGEST_TIMER_MS, now } from './lane.ts'
import { checkAmounts, type FetchInput, type PacedFetchOptions, type PacedInit } from './options.ts'

const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']

/** A Call is one call on its way, with all its attempts. */
export interface Call extends LaneCall {
  readonly url: string
  /** Where it waits: by server, and whose budget it takes from. */
  readonly laneName: string
  /** isRepeatable says whether it may be sent once more: whether that does no harm, and its body is still there. */
  isRepeatable(): boolean
  /** send sends it, and gives up at the deadline. */
  send(): Promise<Response>
}

/** callOf reads what a caller of fetch says. */
export function callOf(options: PacedFetchOptions, order: number, input: FetchInput, paced: PacedInit): Call {
  const { rateLimit = {}, ...init } = paced
  const { cost = 1, deadlineMs = options.deadlineMs ?? 60_000, priority = 0 } = rateLimit
  const costs = typeof cost === 'number' ? { requests: cost } : { ...cost }
  checkAmounts({ deadlineMs, ...costs })
  const request = typeof input === 'object' && 'headers' in input ? input : undefined
  const url = new URL(request?.url ?? String(input), globalThis.location?.href)
  const headers = new Headers(init.headers ?? request?.headers)
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const mayRepeat = (options.retryMethods ?? IDEMPOTENT).includes(method) || headers.has('idempotency-key')
  const partition = rateLimit.partition ?? options.partition?.(url, headers) ?? credentialOf(headers)
  const signal = init.signal ?? request?.signal
  const deadlineAtMs = now() + deadlineMs
  return {
    url: url.href,
    laneName: `${url.origin} ${partition}`,
    cost: costs,
    priority,
    order,
    deadlineAtMs,
    signal,
    isRepeatable: () => mayRepeat && !isOnce(init.body) && !(init.body === undefined && request?.bodyUsed),
    send: () =>
      within(deadlineAtMs, signal, (either) => (options.fetch ?? globalThis.fetch)(input, { ...init, signal: either })),
  }
}

/** isOnce says whether a body can be read once only: streams, and what Node.js takes in their place. */
const isOnce = (body: unknown): boolean =>
  body instanceof ReadableStream || (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)

/** within ends what takes until the deadline. What has begun to arrive is the caller's. */
async function within(
  deadlineAtMs: number,
  signal: AbortSignal | undefined,
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const late = new AbortController()
  const leftMs = deadlineAtMs - now()
  const give = (): void => late.abort(new RateLimitError('deadline', 'no answer came before the deadline'))
  const timer = leftMs > LONGEST_TIMER_MS ? undefined : setTimeout(give, leftMs)
  try {
    return await send(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
  } catch (error) {
    late.signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** credentialOf tells callers apart by what they show, without keeping it. */
function credentialOf(headers: Headers): string {
  const text = `${headers.get('authorization')} ${headers.get('x-api-key')}`
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}
