import type { FastifyReply, FastifyRequest } from 'fastify'
import { hitVerdict } from '../../core/decision.ts'
import { formatDuration } from '../../core/duration.ts'
import { andThen } from '../../engine/maybe.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { HitDecisions } from '../../http-door/hit-decisions.ts'
import { numberOr } from '../../http-door/hit-gate.ts'
import type { WindowCount } from '../../stores/hits/window-counter.ts'
import type { HitCounter } from './hit-counter.ts'
import { DEFAULT_MAX, DEFAULT_WINDOW_MS, type HitParams } from './hit-params.ts'
import { normalizeIP } from './normalize-ip.ts'
import type { RateLimitState } from './options.ts'
import { formatTime } from './time-text.ts'

type Limited = Extract<RateLimitState, { isAllowed: false }>

/** What the key includes in addition: a fixed word, or one that the request's route defines. */
export type Group = string | undefined | ((request: FastifyRequest) => string | undefined)

/** Does for one request what @fastify/rate-limit does, synchronously where nothing needs a promise. */
export class HitLimiter {
  readonly #params: HitParams
  readonly #counter: HitCounter
  readonly #group: Group
  readonly #decisions: HitDecisions

  constructor(params: HitParams, counter: HitCounter, group: Group) {
    this.#params = params
    this.#counter = counter
    this.#group = group
    this.#decisions = new HitDecisions(params.observer)
  }

  /** Sets the fields of an answer, and returns what is to be thrown at the caller: undefined when it may pass. */
  limit(request: FastifyRequest, reply: FastifyReply): MaybePromise<object | undefined> {
    const state = this.state(request, true)
    return state instanceof Promise
      ? state.then((found) => this.#act(found, request, reply))
      : this.#act(state, request, reply)
  }

  /** Returns how a request stands, and counts it unless it is only to be looked at. */
  state(request: FastifyRequest, isCounted: boolean): MaybePromise<RateLimitState> {
    const { keyGenerator, ipv6Subnet } = this.#params
    if (keyGenerator === undefined) return this.#stateOf(normalizeIP(request.ip, ipv6Subnet), request, isCounted)
    return andThen(keyGenerator(request), (key) => this.#stateOf(key as string, request, isCounted))
  }

  #stateOf(ownKey: string, request: FastifyRequest, isCounted: boolean): MaybePromise<RateLimitState> {
    const { allowList, max, timeWindow } = this.#params
    const group = typeof this.#group === 'function' ? this.#group(request) : this.#group
    const key = group ? ownKey + group : ownKey
    if (allowList && typeof allowList !== 'function' && allowList.includes(key)) return { isAllowed: true, key }
    if (typeof max === 'number' && typeof timeWindow === 'number' && typeof allowList !== 'function') {
      return this.#ask(key, max, timeWindow, isCounted)
    }
    return andThen(typeof allowList === 'function' && allowList(request, key), (isAllowed) =>
      isAllowed
        ? { isAllowed: true, key }
        : andThen(typeof max === 'number' ? max : max(request, key), (most) =>
            andThen(typeof timeWindow === 'number' ? timeWindow : timeWindow(request, key), (windowMs) =>
              this.#ask(key, numberOr(most, DEFAULT_MAX), numberOr(windowMs, DEFAULT_WINDOW_MS), isCounted),
            ),
          ),
    )
  }

  #ask(key: string, max: number, timeWindow: number, isCounted: boolean): MaybePromise<RateLimitState> {
    const counter = this.#counter
    if (!isCounted && counter.read === undefined) throw new Error(CANNOT_READ)
    try {
      // A key may be anything that a function of the app's returns.
      const text = typeof key === 'string' ? key : String(key)
      const startedAt = this.#decisions.now()
      const count = isCounted ? counter.count(text, timeWindow, max) : counter.read?.(text, timeWindow, max)
      if (!(count instanceof Promise)) return this.#counted(key, max, timeWindow, count ?? NO_COUNT, startedAt)
      return count.then(
        (found) => this.#counted(key, max, timeWindow, found, startedAt),
        (error: unknown) => this.#failed(key, max, timeWindow, error),
      )
    } catch (error) {
      return this.#failed(key, max, timeWindow, error)
    }
  }

  #failed(key: string, max: number, timeWindow: number, error: unknown): Limited {
    if (this.#params.skipOnError) return this.#counted(key, max, timeWindow, NO_COUNT)
    // What the client of the app's own said is what the app knows how to read.
    throw error instanceof StoreFault && error.cause instanceof Error ? error.cause : error
  }

  #counted(key: string, max: number, timeWindow: number, { current, ttl }: WindowCount, startedAt?: number): Limited {
    const { ban } = this.#params
    // What the store failed to count is no decision of a limit.
    if (this.#decisions.isObserved && startedAt !== undefined) {
      const name = `${max}-in-${formatDuration(Math.max(1, Math.ceil(timeWindow)))}`
      this.#decisions.of(
        String(key),
        { name, limit: max, windowMs: timeWindow },
        hitVerdict(max, current, ttl),
        startedAt,
      )
    }
    return {
      isAllowed: false,
      key,
      max,
      timeWindow,
      remaining: current < max ? max - current : 0,
      ttl,
      ttlInSeconds: Math.ceil(ttl / 1000),
      isExceeded: current > max,
      isBanned: ban >= 0 && current - max > ban,
    }
  }

  #act(state: RateLimitState, request: FastifyRequest, reply: FastifyReply): object | undefined {
    if (state.isAllowed) return undefined
    const { key, max, remaining, ttlInSeconds, isExceeded } = state
    const { labels, addHeaders, addHeadersOnExceeding, onExceeding } = this.#params
    if (isExceeded) this.#params.onExceeded(request, key)
    const shown = isExceeded ? addHeaders : addHeadersOnExceeding
    if (shown[labels.rateLimit]) reply.header(labels.rateLimit, max)
    if (shown[labels.rateRemaining]) reply.header(labels.rateRemaining, remaining)
    if (shown[labels.rateReset]) reply.header(labels.rateReset, ttlInSeconds)
    if (isExceeded) return this.#refuse(state, request, reply)
    onExceeding(request, key)
    return undefined
  }

  #refuse({ key, max, ttl, ttlInSeconds, isBanned }: Limited, request: FastifyRequest, reply: FastifyReply): object {
    const { labels, addHeaders, errorResponseBuilder, onBanReach } = this.#params
    if (addHeaders[labels.retryAfter]) reply.header(labels.retryAfter, ttlInSeconds)
    if (isBanned) onBanReach(request, key)
    const after = formatTime(ttlInSeconds * 1000)
    const error = errorResponseBuilder(request, { statusCode: isBanned ? 403 : 429, ban: isBanned, max, ttl, after })
    // Without an error the request would pass.
    return error || new Error('errorResponseBuilder returned nothing')
  }
}

const NO_COUNT: WindowCount = { current: 0, ttl: 0 }
const CANNOT_READ = 'this store has no `read`, and so cannot look without counting: { increment: false } needs it'
