import { Accepts } from './accepts.ts'
import { RateLimitError } from './errors.ts'
import { Lane } from './lane.ts'
import type { Cost } from './pacer.ts'
import { parseRateLimits, type RateLimits } from './rate-limits.ts'
import { backoffMs, jittered, RetryBudget } from './retries.ts'
import { Tabs } from './tabs.ts'

type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]

/** CallOptions are what one call may say, as `rateLimit` in its init. */
export interface CallOptions {
  /** What it takes of the budget, as a number of requests or by unit: `{ requests: 1, tokens: 2000 }`. Default: 1. */
  readonly cost?: number | Cost
  /** Higher goes first. Default: 0. */
  readonly priority?: number
  /** How long it may take in all, waiting and retries included. Default: what createFetch was told. */
  readonly deadlineMs?: number
  /** Whose budget it takes from, where one server counts several callers. Default: what createFetch was told. */
  readonly partition?: string
}

/** A PacedInit is the init of fetch, with what concerns the limits. */
export interface PacedInit extends RequestInit {
  readonly rateLimit?: CallOptions
}

export interface PacedFetchOptions {
  /** Default: the global fetch. */
  readonly fetch?: Fetch
  /** How long a call may take in all, waiting and retries included. Default: 60,000. */
  readonly deadlineMs?: number
  /** How often a refused call is tried again at the most. Default: 5. */
  readonly retries?: number
  /** How many retries each call makes room for. Default: 0.2, so that retries are at most a fifth of the calls. */
  readonly retryShare?: number
  /** Methods that may be sent twice. Others are, when they carry an `Idempotency-Key`. Default: the idempotent ones. */
  readonly retryMethods?: readonly string[]
  /** How many calls may wait for one server and partition. Default: 10,000. */
  readonly maxWaiting?: number
  /** Whose budget a call takes from. Default: by the `Authorization` and `X-API-Key` of the call, hashed. */
  readonly partition?: (url: URL, headers: Headers) => string
  /** Drop calls at random when a server that tells no limits refuses many. Default: false. */
  readonly throttle?: boolean
  /** The name of a BroadcastChannel that tabs share what they know through. Default: none. */
  readonly channel?: string
  /** Hears what happens. */
  readonly on?: PacedFetchEvents
}

/** PacedFetchEvents are hooks. They are told, and decide nothing. */
export interface PacedFetchEvents {
  /** A call was held back for so long before it was sent. */
  waited?(event: { readonly url: string; readonly waitedMs: number }): void
  /** A server refused. `retryInMs` is undefined when it is not tried again. */
  refused?(event: { readonly url: string; readonly status: number; readonly retryInMs: number | undefined }): void
}

/** PacedFetchCounts count calls since the start. */
export interface PacedFetchCounts {
  readonly calls: number
  readonly sent: number
  readonly refused: number
  readonly retried: number
  readonly gaveUp: number
  readonly waiting: number
}

/** A PacedFetch is fetch, and what it has counted. */
export interface PacedFetch {
  (input: Input, init?: PacedInit): Promise<Response>
  counts(): PacedFetchCounts
  /** close ends what is shared with other tabs. */
  close(): void
}

const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']
const MAX_LANES = 1_000
const SAVED_RETRIES = 10

/**
 * createFetch wraps fetch so that it keeps to what servers say of their limits: it spreads calls over what is left, waits as it is
 * told, and tries again what was refused, within a deadline and a share of the traffic.
 */
export function createFetch(options: PacedFetchOptions = {}): PacedFetch {
  const paced = new Paced(options)
  return Object.assign((input: Input, init?: PacedInit) => paced.call(input, init), {
    counts: () => paced.counts(),
    close: () => paced.close(),
  })
}

/** A Call is one call on its way, with all its attempts. */
interface Call {
  readonly url: string
  readonly laneName: string
  readonly lane: PacedLane
  readonly cost: Cost
  readonly priority: number
  readonly deadlineAtMs: number
  readonly signal: AbortSignal | undefined
  readonly isRepeatable: boolean
  send(): Promise<Response>
}

class PacedLane extends Lane {
  readonly accepts = new Accepts()
}

class Paced {
  readonly #options: PacedFetchOptions
  readonly #lanes = new Map<string, PacedLane>()
  readonly #retries: RetryBudget
  readonly #tabs: Tabs
  readonly #counts = { calls: 0, sent: 0, refused: 0, retried: 0, gaveUp: 0 }

  constructor(options: PacedFetchOptions) {
    this.#options = options
    this.#retries = new RetryBudget(options.retryShare ?? 0.2, SAVED_RETRIES)
    this.#tabs = new Tabs(options.channel, ({ lane, budgets, pauseMs }) =>
      this.#learn(this.#lane(lane), budgets, pauseMs),
    )
  }

  counts(): PacedFetchCounts {
    let waiting = 0
    for (const lane of this.#lanes.values()) waiting += lane.waiting
    return { ...this.#counts, waiting }
  }

  close(): void {
    this.#tabs.close()
  }

  async call(input: Input, init: PacedInit = {}): Promise<Response> {
    this.#counts.calls++
    this.#retries.called()
    try {
      return await this.#attempts(this.#callOf(input, init))
    } catch (error) {
      if (error instanceof RateLimitError) this.#counts.gaveUp++
      throw error
    }
  }

  async #attempts(call: Call): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const response = await this.#attempt(call)
      const limits = parseRateLimits(response.headers)
      this.#answered(call, limits)
      if (!isRefusal(response, limits)) return response
      this.#counts.refused++
      const waitMs = this.#pauseOf(limits, attempt)
      this.#learn(call.lane, [], waitMs)
      this.#tabs.tell({ lane: call.laneName, budgets: limits.budgets, pauseMs: waitMs })
      const isAgain = this.#isTriedAgain(call, limits, attempt, waitMs)
      this.#options.on?.refused?.({ url: call.url, status: response.status, retryInMs: isAgain ? waitMs : undefined })
      if (!isAgain) {
        const reason = call.isRepeatable && Date.now() + waitMs > call.deadlineAtMs ? 'deadline' : 'refused'
        throw new RateLimitError(reason, `${new URL(call.url).host} answered ${response.status}`, waitMs, response)
      }
      this.#counts.retried++
      await response.body?.cancel()
    }
  }

  /** #attempt waits for its turn, and sends. */
  async #attempt(call: Call): Promise<Response> {
    const { lane, cost, signal } = call
    if (this.#options.throttle === true && !lane.pacer.isPaced && !lane.accepts.mayGo(Date.now(), Math.random())) {
      throw new RateLimitError('throttled', 'the server has refused too much of late')
    }
    signal?.throwIfAborted()
    const askedMs = Date.now()
    await lane.enter(call)
    const waitedMs = Date.now() - askedMs
    if (waitedMs > 0) this.#options.on?.waited?.({ url: call.url, waitedMs })
    this.#counts.sent++
    try {
      return await call.send()
    } catch (error) {
      lane.pacer.ended(Date.now(), cost)
      lane.look()
      throw error
    }
  }

  #answered({ lane, laneName, cost }: Call, { budgets }: RateLimits): void {
    const nowMs = Date.now()
    lane.pacer.ended(nowMs, cost, budgets)
    lane.accepts.accepted(nowMs)
    if (budgets.length > 0) this.#tabs.tell({ lane: laneName, budgets, pauseMs: 0 })
    lane.look()
  }

  #learn(lane: PacedLane, budgets: RateLimits['budgets'], pauseMs: number): void {
    const nowMs = Date.now()
    lane.pacer.told(nowMs, budgets)
    if (pauseMs > 0) lane.pacer.pause(nowMs + pauseMs)
    lane.look()
  }

  /** #pauseOf is how long to wait after a refusal: as the server says, else longer each time. */
  #pauseOf({ retryAfterMs, budgets }: RateLimits, attempt: number): number {
    const resets = budgets.flatMap(({ remaining, resetMs }) =>
      remaining === 0 && resetMs !== undefined ? [resetMs] : [],
    )
    const toldMs = retryAfterMs ?? (resets.length > 0 ? Math.max(...resets) : undefined)
    return toldMs === undefined ? backoffMs(attempt, Math.random()) : jittered(toldMs, Math.random())
  }

  #isTriedAgain(call: Call, { shouldRetry }: RateLimits, attempt: number, waitMs: number): boolean {
    if (!call.isRepeatable || shouldRetry === false || attempt >= (this.#options.retries ?? 5)) return false
    return Date.now() + waitMs <= call.deadlineAtMs && this.#retries.take()
  }

  #callOf(input: Input, { rateLimit = {}, ...init }: PacedInit): Call {
    const request = typeof input === 'object' && 'headers' in input ? input : undefined
    const url = new URL(request?.url ?? String(input), globalThis.location?.href)
    const headers = new Headers(init.headers ?? request?.headers)
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
    const partition = rateLimit.partition ?? this.#options.partition?.(url, headers) ?? credentialOf(headers)
    const laneName = `${url.origin} ${partition}`
    const { cost = 1 } = rateLimit
    const methods = this.#options.retryMethods ?? IDEMPOTENT
    const isStream =
      init.body instanceof ReadableStream || (init.body === undefined && (request?.body ?? null) !== null)
    return {
      url: url.href,
      laneName,
      lane: this.#lane(laneName),
      cost: typeof cost === 'number' ? { requests: cost } : cost,
      priority: rateLimit.priority ?? 0,
      deadlineAtMs: Date.now() + (rateLimit.deadlineMs ?? this.#options.deadlineMs ?? 60_000),
      signal: init.signal ?? request?.signal,
      isRepeatable: (methods.includes(method) || headers.has('idempotency-key')) && !isStream,
      send: () => (this.#options.fetch ?? globalThis.fetch)(input, init),
    }
  }

  /** #lane finds where calls wait. Those that nobody needs are forgotten when there are very many. */
  #lane(name: string): PacedLane {
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    if (this.#lanes.size >= MAX_LANES) {
      for (const [key, lane] of this.#lanes) if (lane.isIdle) this.#lanes.delete(key)
    }
    const lane = new PacedLane(this.#options.maxWaiting ?? 10_000)
    this.#lanes.set(name, lane)
    return lane
  }
}

/** isRefusal says whether an answer is about limits: 429, 503 with a time to come back, and 403 as GitHub has it. */
function isRefusal({ status }: Response, { retryAfterMs, budgets }: RateLimits): boolean {
  if (status === 429) return true
  if (status === 503) return retryAfterMs !== undefined
  return status === 403 && (retryAfterMs !== undefined || budgets.some(({ remaining }) => remaining === 0))
}

/** credentialOf tells callers apart by what they show, without keeping it. */
function credentialOf(headers: Headers): string {
  const text = `${headers.get('authorization') ?? ''} ${headers.get('x-api-key') ?? ''}`
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}
