import type { Context, Middleware, Next } from 'koa'
import { formatDuration } from '../../core/duration.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { FieldRenderer } from '../../core/http/field-renderer.ts'
import { andThen } from '../../engine/maybe.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { type Hit, HitGate } from '../../http-door/hit-gate.ts'
import { writeFields } from '../../http-door/node-response.ts'
import { addressKey } from '../../middleware/koa/client-address.ts'
import { CounterStore, type CounterStoreOptions } from '../../stores/hits/counter-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { checkOtherOptions } from '../native-options.ts'
import { longDuration } from './long-duration.ts'
import { HIT_FORMS } from './option-forms.ts'
import type { HitMiddleware, MiddlewareOptions } from './options.ts'

const DEFAULT_DURATION_MS = 3_600_000
const DEFAULT_MAX = 2_500
const FORBIDDEN = 403

/** Makes a middleware of koa-ratelimit's options. */
export function hitLimit(options: MiddlewareOptions): HitMiddleware {
  checkOtherOptions(options, HIT_FORMS, 'sluice/koa')
  const { duration = DEFAULT_DURATION_MS } = options
  const hits = new HitDatabase({ ...options, duration })
  const limiter = new HitLimiter({ ...options, duration }, hits)
  const middleware: Middleware = (ctx, next) => limiter.handle(ctx, next)
  return Object.assign(middleware, { resetAll: async () => hits.store.resetAll(), close: async () => hits.close() })
}

/** Finds the store: in Redis, in this process, or in a Map of the app's, which may be cleared any time. */
class HitDatabase {
  readonly #own: CounterStore | undefined
  readonly #map: Map<unknown, unknown> | undefined
  readonly #slot: string
  readonly #duration: number

  constructor(options: MiddlewareOptions & { readonly duration: number }) {
    const { driver, db, redis = db instanceof Map ? undefined : db, namespace = 'limit', duration } = options
    if (driver === 'memory' && redis !== undefined) {
      throw new SluiceError('GATE_OPTIONS_INVALID', 'db', `${got(db ?? redis)}, expected a Map for the driver memory`)
    }
    if (driver === 'redis' && redis === undefined) {
      throw new SluiceError('GATE_OPTIONS_INVALID', 'db', `${got(db)}, expected a client for the driver redis`)
    }
    this.#duration = duration
    this.#slot = `sluice:${namespace}:${duration}`
    if (redis === undefined && db instanceof Map) this.#map = db
    else if (redis === undefined) this.#own = new MemoryStore()
    else this.#own = new CounterStore({ redis, prefix: `${namespace}:`, ...sharing(options) })
    this.#own?.init({ windowMs: duration })
  }

  get store(): CounterStore {
    if (this.#own !== undefined) return this.#own
    const known = this.#map?.get(this.#slot)
    if (known instanceof CounterStore) return known
    // Not a MemoryStore: its timer would outlive a Map that is cleared.
    const store = new CounterStore({ prefix: '' })
    store.init({ windowMs: this.#duration })
    this.#map?.set(this.#slot, store)
    return store
  }

  close(): MaybePromise<void> {
    return this.store.shutdown()
  }
}

/** Returns the other options for a store in Redis. */
function sharing({ secret, log }: MiddlewareOptions): Pick<CounterStoreOptions, 'secret' | 'log'> {
  return { ...(secret !== undefined && { secret }), ...(log !== undefined && { log }) }
}

/** Does for one request what koa-ratelimit does, synchronously where nothing needs a promise. */
class HitLimiter {
  readonly #options: MiddlewareOptions
  readonly #gate: HitGate<[Context]>
  readonly #names: readonly [remaining: string, reset: string, total: string]
  readonly #name: string
  readonly #renderer: FieldRenderer | undefined

  constructor(options: MiddlewareOptions & { readonly duration: number }, hits: HitDatabase) {
    const { max = DEFAULT_MAX, duration, headers, disableHeader } = options
    this.#options = options
    this.#gate = new HitGate<[Context]>({
      windowMs: duration,
      limit: max,
      keyGenerator: addressKey,
      skip: () => false,
      observer: options.observer,
      onDecision: options.onDecision,
      store: {
        increment: (key) => hits.store.increment(key),
        decrement: (key) => hits.store.decrement(key),
        resetKey: (key) => hits.store.resetKey(key),
      },
    })
    this.#name = `${max}-in-${formatDuration(Math.max(1, Math.ceil(duration)))}`
    const { remaining, reset, total } = headers ?? {}
    this.#names = [remaining ?? 'X-RateLimit-Remaining', reset ?? 'X-RateLimit-Reset', total ?? 'X-RateLimit-Limit']
    if (headers === undefined && disableHeader !== true) {
      this.#renderer = new FieldRenderer({ legacy: false, retryAfter: false })
    }
  }

  handle(ctx: Context, next: Next): MaybePromise<unknown> {
    const { id = addressKey, whitelist, blacklist } = this.#options
    return andThen(blacklist?.(ctx), (isBlack) => {
      if (isBlack) ctx.throw(FORBIDDEN, 'Forbidden')
      return andThen(whitelist?.(ctx), (isWhite) =>
        isWhite ? next() : andThen(id(ctx), (key) => (key === false ? next() : this.#count(key, ctx, next))),
      )
    })
  }

  /** Counts a hit. Those without an id are counted by their address: having none must not lift the limit. */
  #count(id: string | undefined, ctx: Context, next: Next): MaybePromise<unknown> {
    return andThen(this.#gate.count(String(id || addressKey(ctx)), ctx), (hit) => {
      const nowMs = Date.now()
      const headers = this.#setFields(hit, ctx, nowMs)
      return hit.used <= hit.limit ? next() : this.#refuse(hit, ctx, headers, nowMs)
    })
  }

  #setFields(hit: Hit, ctx: Context, nowMs: number): Record<string, string> {
    const isNeeded = this.#renderer !== undefined || this.#gate.isObserved
    const decision = isNeeded ? this.#gate.decisionOf(hit, this.#name, nowMs) : undefined
    if (this.#options.disableHeader) return {}
    const [remaining, reset, total] = this.#names
    const resetMs = hit.resetTime?.getTime() ?? nowMs
    const headers = {
      [remaining]: String(hit.remaining),
      [reset]: String(Math.ceil(resetMs / 1000)),
      [total]: String(hit.limit),
    }
    ctx.set(headers)
    if (this.#renderer !== undefined && decision !== undefined) {
      writeFields(ctx.res, this.#renderer.render(decision, nowMs), decision)
    }
    return headers
  }

  #refuse({ key: id, resetTime }: Hit, ctx: Context, headers: Record<string, string>, nowMs: number): void {
    const { errorMessage, status = 429, onLimited } = this.#options
    const waitMs = Math.max(1, (resetTime?.getTime() ?? nowMs) - nowMs)
    const after = Math.ceil(waitMs / 1000)
    const message = errorMessage ?? `Rate limit exceeded, retry in ${longDuration(waitMs)}.`
    ctx.set('Retry-After', String(after))
    ctx.set('Cache-Control', 'no-store')
    ctx.state.rateLimit = { after, headers, id, message }
    ctx.status = status
    ctx.body = message
    onLimited?.(ctx)
    if (this.#options.throw) {
      ctx.throw(ctx.status, ctx.body as string, { headers: { ...headers, 'Retry-After': String(after) } })
    }
  }
}
