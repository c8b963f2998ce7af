import type { Context, Next } from 'hono'
import type { Decision } from '../../core/combine.ts'
import { formatDuration } from '../../core/duration.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { prefersProblem } from '../../core/http/accept.ts'
import type { FieldList } from '../../core/http/field-list.ts'
import { FIELD_FORMS, type FieldForm, FieldRenderer } from '../../core/http/field-renderer.ts'
import { refusalOf } from '../../core/http/refusal.ts'
import { observerOf } from '../../engine/decision-event.ts'
import { andThen } from '../../engine/maybe.ts'
import type { Observer } from '../../engine/observer.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { type Hit, HitGate } from '../../http-door/hit-gate.ts'
import { pathOf } from '../../http-door/web-request.ts'
import { addFields, changeable, isFixed } from '../../http-door/web-response.ts'
import { addressKey } from '../../middleware/hono/connection.ts'
import { CounterStore } from '../../stores/hits/counter-store.ts'
import type { HitStore } from '../../stores/hits/hit-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { defined } from './defined.ts'
import { HitVariable } from './hit-variable.ts'
import { sendMessage } from './message.ts'
import type { HitMiddleware, HonoConfigProps, HonoConfigType, Store, WSConfigProps } from './options.ts'

/** Makes a middleware of hono-rate-limiter's options. */
export function hitLimit(given: HonoConfigProps): HitMiddleware {
  const { getConnInfo, identifier, passOnStoreError = false } = given
  const store = given.store ?? storeOf(given)
  const options: HonoConfigType = {
    windowMs: 60_000,
    limit: 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    standardHeaders: 'draft-6',
    requestPropertyName: 'rateLimit',
    requestStorePropertyName: 'rateLimitStore',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    keyGenerator: (c) => addressKey(c, getConnInfo),
    skip: () => false,
    requestWasSuccessful: (c) => c.res.status < 400,
    handler: (c, _next, used) => sendMessage(c, used),
    ...defined(given),
    store,
  }
  const hasOwnAnswer = given.message !== undefined || given.handler !== undefined
  checkStore(store)
  if (typeof store.init === 'function') store.init(options)
  const limiter = new HitLimiter({ options, identifier, passOnStoreError, hasOwnAnswer, observer: observerOf(given) })
  const middleware = (c: Context, next: Next): unknown => limiter.handle(c, next)
  return Object.assign(middleware as unknown as HitMiddleware, {
    resetAll: async () => {
      if (store.resetAll === undefined) throw new Error('this store cannot reset all keys: it has no resetAll')
      await store.resetAll()
    },
    close: async () => store.shutdown?.(),
  })
}

/** Opens the default store: in memory, or in Redis. */
export function storeOf({ redis, secret, log }: Pick<WSConfigProps, 'redis' | 'secret' | 'log'>): Store {
  if (redis === undefined) return new MemoryStore()
  return new CounterStore({
    redis,
    prefix: 'hrl:',
    ...(secret !== undefined && { secret }),
    ...(log !== undefined && { log }),
  })
}

export function checkStore(store: Store): void {
  if (typeof store?.increment !== 'function') throw new SluiceError('HIT_STORE_INVALID', 'store', got(store))
}

/** Returns what of a store a HitGate needs; the rest is ignored. */
export function counting(store: Store): HitStore {
  return {
    increment: (key) => andThen(store.increment(key), ({ totalHits, resetTime }) => ({ totalHits, resetTime })),
    decrement: (key) => store.decrement(key),
    resetKey: (key) => store.resetKey(key),
  }
}

interface HitConfig {
  readonly options: HonoConfigType
  readonly identifier: string | undefined
  readonly passOnStoreError: boolean
  readonly hasOwnAnswer: boolean
  readonly observer: Observer | undefined
}

/** Does for one request what hono-rate-limiter does, synchronously where nothing needs a promise. */
class HitLimiter {
  readonly #config: HitConfig
  readonly #options: HonoConfigType
  readonly #gate: HitGate<[Context]>
  readonly #form: FieldForm | false
  readonly #renderer: FieldRenderer
  readonly #keys: { readonly getKey: Store['get'] | undefined; readonly resetKey: Store['resetKey'] }

  constructor(config: HitConfig) {
    const { options } = config
    const { store } = options
    this.#config = config
    this.#options = options
    this.#gate = new HitGate({ ...options, observer: config.observer, store: counting(store) })
    this.#form = formOf(options)
    this.#renderer = new FieldRenderer({ standard: this.#form, legacy: false })
    this.#keys = { getKey: store.get?.bind(store), resetKey: (key) => store.resetKey(key) }
  }

  handle(c: Context, next: Next): unknown {
    return andThen(this.#gate.key(c), (key) => {
      if (key === undefined) return next()
      return andThen(this.#count(key, c), (hit) => (hit === undefined ? next() : this.#goOn(hit, c, next)))
    })
  }

  /** Counts a hit. It returns undefined where the store failed and requests continue without it. */
  #count(key: string, c: Context): MaybePromise<Hit | undefined> {
    if (!this.#config.passOnStoreError) return this.#gate.count(key, c)
    try {
      const hit = this.#gate.count(key, c)
      return hit instanceof Promise ? hit.catch(() => undefined) : hit
    } catch {
      return undefined
    }
  }

  async #goOn(hit: Hit, c: Context, next: Next): Promise<void> {
    const decision = this.#gate.decisionOf(hit, this.#nameOf(hit), Date.now())
    c.set(this.#options.requestPropertyName, new HitVariable(hit, decision))
    c.set(this.#options.requestStorePropertyName, this.#keys)
    const back = new TakeBack(this.#options, hit, c)
    this.#setFields(decision, c)
    try {
      const answer = await (decision.allowed ? next() : this.#refuse(decision, c, next))
      if (answer instanceof Response && !c.finalized) c.res = answer
    } catch (error) {
      await back.failed()
      throw error
    }
    this.#restoreFields(decision, c)
    await back.answered()
  }

  #refuse(decision: Decision, c: Context, next: Next): unknown {
    const accept = c.req.header('accept')
    if (this.#config.hasOwnAnswer || !prefersProblem(accept)) return this.#options.handler(c, next, this.#options)
    const { body, contentType } = refusalOf(decision, undefined, {
      method: c.req.method,
      path: pathOf(c.req.url),
      accept,
    })
    return sendMessage(c, { ...this.#options, message: body }, contentType)
  }

  /** Sets fields while a handler may still change them. Fields of the current form come last because they add up. */
  #setFields(decision: Decision, c: Context): void {
    if (this.#form === false || c.finalized) return
    const { names, values, length } = this.#renderer.render(decision, Date.now())
    for (let i = 0; i < length; i++) {
      if (this.#form !== 'current' || names[i] === 'Retry-After') c.header(names[i], values[i])
    }
  }

  /** Restores fields that were lost because a handler answered with a new Response. */
  #restoreFields(decision: Decision, c: Context): void {
    if (this.#form === false || !c.finalized || isFixed(c.res)) return
    if (this.#form !== 'current' && c.res.headers.has('RateLimit-Policy')) return
    const fields = this.#renderer.render(decision, Date.now())
    const response = changeable(c.res)
    if (response !== c.res) {
      c.res = undefined
      c.res = response
    }
    if (this.#form === 'current') addFields(c, c.res.headers, fields, decision)
    else setAll(c.res.headers, fields)
  }

  #nameOf({ limit }: Hit): string {
    return this.#config.identifier ?? policyName(limit, this.#options.windowMs)
  }
}

/** Names a limit that has no name: `5-in-1m`. */
export function policyName(limit: number, windowMs: number): string {
  return `${limit}-in-${formatDuration(Math.max(1, Math.ceil(windowMs)))}`
}

function setAll(headers: Headers, { names, values, length }: FieldList): void {
  for (let i = 0; i < length; i++) headers.set(names[i], values[i])
}

/** Takes what is true and no other form for draft 6, as hono-rate-limiter does. */
function formOf({ standardHeaders }: HonoConfigType): FieldForm | false {
  if (!standardHeaders) return false
  return FIELD_FORMS.find((form) => form === standardHeaders) ?? 'draft-6'
}

/** Takes a hit back when its request ended as the options say: once, and only within its own window. */
class TakeBack {
  readonly #options: HonoConfigType
  readonly #hit: Hit
  readonly #c: Context
  #isTaken = false

  constructor(options: HonoConfigType, hit: Hit, c: Context) {
    this.#options = options
    this.#hit = hit
    this.#c = c
  }

  async answered(): Promise<void> {
    const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } = this.#options
    if (!skipFailedRequests && !skipSuccessfulRequests) return
    const isSuccess = await requestWasSuccessful(this.#c)
    if (isSuccess ? skipSuccessfulRequests : skipFailedRequests) await this.#take()
  }

  async failed(): Promise<void> {
    if (this.#options.skipFailedRequests) await this.#take()
  }

  async #take(): Promise<void> {
    if (this.#isTaken || Date.now() >= (this.#hit.resetTime?.getTime() ?? Number.POSITIVE_INFINITY)) return
    this.#isTaken = true
    await this.#options.store.decrement(this.#hit.key)
  }
}
