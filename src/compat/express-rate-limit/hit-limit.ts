import { hash } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import type { Decision } from '../../core/combine.ts'
import { prefersProblem } from '../../core/http/accept.ts'
import type { FieldList } from '../../core/http/field-list.ts'
import { type FieldForm, FieldRenderer } from '../../core/http/field-renderer.ts'
import { refusalOf } from '../../core/http/refusal.ts'
import { andThen } from '../../engine/maybe.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { type Hit, HitGate } from '../../http-door/hit-gate.ts'
import { sendRefusal, writeFields } from '../../http-door/node-response.ts'
import { headerText } from '../../http-door/request-reader.ts'
import { type HitConfig, hitConfig } from './hit-config.ts'
import type { HitOptions, Options, RateLimitRequestHandler } from './options.ts'

/** Makes a middleware of express-rate-limit's options. */
export function hitLimit(passed: HitOptions): RateLimitRequestHandler {
  const config = hitConfig(passed)
  const limiter = new HitLimiter(config)
  const { store, options, validations } = config
  validations.check('creationStack')
  validations.check('unsharedStore', store)
  initialize(config)
  const middleware = (request: Request, response: Response, next: NextFunction): void | Promise<void> => {
    try {
      const done = limiter.handle(request, response, next)
      return done instanceof Promise ? done.catch(next) : done
    } catch (error) {
      next(error)
    }
  }
  return Object.assign(middleware, {
    resetKey: (key: string) => {
      const done = store.resetKey(key)
      // Callers that wait for it receive the error; without them it must not be unhandled.
      if (done instanceof Promise) done.catch(() => {})
      return done
    },
    getKey: (key: string) => {
      if (store.get === undefined) throw new Error('this store cannot return the hits of a key: it has no get')
      return store.get(key)
    },
    resetAll: async () => {
      if (store.resetAll === undefined) throw new Error('this store cannot reset all keys: it has no resetAll')
      await store.resetAll()
    },
    close: async () => {
      await (options.store as HitConfig['store']).shutdown?.()
    },
  }) as RateLimitRequestHandler
}

function initialize({ store, options }: HitConfig): void {
  try {
    const done = store.init?.(options)
    if (done instanceof Promise) done.catch((error: unknown) => options.logger.error(error, INIT_FAILED))
  } catch (error) {
    options.logger.error(error, INIT_FAILED)
  }
}

const INIT_FAILED = 'sluice: error during store initialization'

/** Does for one request what express-rate-limit does, synchronously where nothing needs a promise. */
class HitLimiter {
  readonly #config: HitConfig
  readonly #options: Options
  readonly #gate: HitGate<[Request, Response]>
  readonly #renderer: FieldRenderer | undefined
  readonly #form: FieldForm | false
  readonly #isWatched: boolean
  #isChecked = false

  constructor(config: HitConfig) {
    const { options, store } = config
    this.#config = config
    this.#options = options
    this.#gate = new HitGate({ ...options, store })
    this.#form = formOf(options)
    const { legacyHeaders, standardHeaders } = options
    if (legacyHeaders || standardHeaders !== false) {
      this.#renderer = new FieldRenderer({ standard: this.#form, legacy: legacyHeaders, retryAfter: false })
    }
    this.#isWatched = options.skipFailedRequests || options.skipSuccessfulRequests
  }

  handle(request: Request, response: Response, next: NextFunction): MaybePromise<void> {
    return andThen(this.#gate.key(request, response), (key) => {
      if (key === undefined) return next()
      const hit = this.#count(key, request, response)
      return andThen(hit, (counted) => (counted === undefined ? next() : this.#goOn(counted, request, response, next)))
    })
  }

  /** Counts a hit. It returns undefined where the store failed and requests continue without it. */
  #count(key: string, request: Request, response: Response): MaybePromise<Hit | undefined> {
    if (!this.#options.passOnStoreError) return this.#gate.count(key, request, response)
    const passOn = (error: unknown): undefined => {
      this.#options.logger.error(error, 'sluice: the store failed; allowing the request without counting it')
    }
    try {
      const hit = this.#gate.count(key, request, response)
      return hit instanceof Promise ? hit.catch(passOn) : hit
    } catch (error) {
      return passOn(error)
    }
  }

  #goOn(hit: Hit, request: Request, response: Response, next: NextFunction): MaybePromise<void> {
    if (!this.#isChecked) this.#check(hit, request)
    ;(request as unknown as Record<string, unknown>)[this.#options.requestPropertyName] = hit
    return andThen(this.#nameOf(request, response), (name) => {
      const decision = this.#gate.decisionOf(hit, name, Date.now())
      this.#setFields(response, hit, decision)
      if (this.#isWatched) this.#watch(hit, request, response)
      if (decision.allowed) return next()
      return andThen(this.#retryAfter(request, response, decision), () =>
        this.#refuse(decision, request, response, next),
      )
    })
  }

  /** Looks for mistakes; each is reported once, so the first request is enough. */
  #check(hit: Hit, request: Request): void {
    const { validations, store } = this.#config
    validations.check('positiveHits', hit.used)
    validations.check('singleCount', request, store, hit.key)
    validations.check('limit', hit.limit)
    if (this.#form === 'draft-7' || this.#form === 'draft-8') validations.check('headersResetTime', hit.resetTime)
    if (this.#form === false && this.#options.standardHeaders !== false) {
      validations.check('headersDraftVersion', this.#options.standardHeaders)
    }
    this.#isChecked = true
  }

  #nameOf(request: Request, response: Response): MaybePromise<string> {
    if (this.#form !== 'draft-8' && this.#form !== 'current') return ''
    const { identifier } = this.#options
    return typeof identifier === 'function' ? identifier(request, response) : identifier
  }

  #setFields(response: Response, hit: Hit, decision: Decision): void {
    if (this.#renderer === undefined || response.headersSent) return
    const key = this.#form === 'draft-8' ? partitionKey(hit.key) : undefined
    const fields = this.#renderer.render(decision, Date.now(), key)
    if (this.#form === 'current') writeFields(response, fields, decision)
    else setDraftFields(response, fields, hit)
  }

  #retryAfter(request: Request, response: Response, decision: Decision): MaybePromise<void> {
    if (this.#renderer === undefined || response.headersSent) return
    const { retryAfter } = this.#options
    return andThen(typeof retryAfter === 'function' ? retryAfter(request, response) : retryAfter, (seconds) => {
      const waitMs = decision.retryAfterMs ?? 0
      response.setHeader('Retry-After', String(seconds ?? Math.max(1, Math.ceil(waitMs / 1000))))
    })
  }

  #refuse(decision: Decision, request: Request, response: Response, next: NextFunction): MaybePromise<void> {
    const { message, statusCode, handler } = this.#options
    if (this.#config.hasOwnHandler) return handler(request, response, next, this.#options)
    const accept = headerText(request.headers.accept)
    if (!this.#config.hasOwnMessage && prefersProblem(accept)) {
      const { method, originalUrl: path } = request
      const retryAfter = Number(response.getHeader('Retry-After')) || undefined
      const refusal = refusalOf(decision, retryAfter, { method, path, accept })
      return sendRefusal(response, { ...refusal, status: statusCode }, method === 'HEAD')
    }
    response.status(statusCode)
    return andThen(typeof message === 'function' ? message(request, response) : message, (body) => {
      if (!response.writableEnded) response.send(body)
    })
  }

  /** Takes a hit back when its request ended as the options say: once, and only within its own window. */
  #watch(hit: Hit, request: Request, response: Response): void {
    const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } = this.#options
    const resetMs = hit.resetTime?.getTime() ?? Number.POSITIVE_INFINITY
    let isTaken = false
    const takeBack = (): void => {
      if (isTaken || Date.now() >= resetMs) return
      isTaken = true
      this.#guard(() => this.#config.store.decrement(hit.key), DECREMENT_FAILED)
    }
    const finished = (isSuccess: boolean): void => {
      if (isSuccess ? skipSuccessfulRequests : skipFailedRequests) takeBack()
    }
    response.once('finish', () =>
      this.#guard(() => andThen(requestWasSuccessful(request, response), finished), SUCCESS_FAILED),
    )
    if (!skipFailedRequests) return
    const { skipAbortedRequests = true } = this.#options
    const left = (): void => {
      if (skipAbortedRequests && !response.writableEnded) takeBack()
    }
    // To write to a client that has left is an error, too.
    const broke = (): void => {
      if (skipAbortedRequests || !response.closed) takeBack()
    }
    response.once('close', left)
    response.once('error', broke)
    if (response.destroyed) left()
  }

  /** Logs what went wrong when the answer was already sent. */
  #guard(work: () => MaybePromise<void>, message: string): void {
    const failed = (error: unknown): void => this.#options.logger.error(error, message)
    try {
      const done = work()
      if (done instanceof Promise) done.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

const DECREMENT_FAILED = 'sluice: error from the store during decrement'
const SUCCESS_FAILED = 'sluice: error in requestWasSuccessful'

function formOf({ standardHeaders }: Options): FieldForm | false {
  const isKnown = ['draft-6', 'draft-7', 'draft-8', 'current'].includes(String(standardHeaders))
  return isKnown ? (standardHeaders as FieldForm) : false
}

/** Sets fields as express-rate-limit does: draft 8 fields add up, all others replace each other. */
function setDraftFields(response: Response, { names, values, length }: FieldList, { resetTime }: Hit): void {
  for (let i = 0; i < length; i++) {
    const isListed = names[i] === 'RateLimit' || names[i] === 'RateLimit-Policy'
    if (isListed && values[i].startsWith('"')) response.append(names[i], values[i])
    else if (names[i] !== 'X-RateLimit-Reset' || resetTime !== undefined) response.setHeader(names[i], values[i])
  }
}

/** A hash that reveals nothing about its key: 12 digits of SHA-256, in base64. */
function partitionKey(key: string): string {
  return Buffer.from(hash('sha256', key, 'hex').slice(0, 12)).toString('base64')
}
