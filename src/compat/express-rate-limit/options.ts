import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Observed } from '../../engine/decision-event.ts'
import type { HitStore, Hits } from '../../stores/hits/hit-store.ts'
import type { StoreOptions } from '../../stores/open/store-options.ts'
import type { EnabledValidations, Logger } from './validations.ts'

/** What a store knows of a key: its hits, and when they are forgotten. */
export type ClientRateLimitInfo = Hits
/** What a store knows of a key after one more hit. */
export type IncrementResponse = Hits
/** A draft of the RateLimit fields, for `standardHeaders`. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'
/** Computes the value of an option for a request. */
export type ValueDeterminingMiddleware<T> = (request: Request, response: Response) => T | Promise<T>
/** Answers a refused request. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => void
/** How a LegacyStore answers. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void
/** Counts hits. Any that was written for express-rate-limit is one. */
export type Store = HitStore<Options>

/** One for express-rate-limit 5 and older. */
export interface LegacyStore {
  incr(key: string, callback: IncrementCallback): void
  decrement(key: string): void
  resetKey(key: string): void
  resetAll?(): void
}

/** The options of express-rate-limit 8, with the same meaning, and what a shared store needs. */
export interface Options extends Pick<StoreOptions, 'redis' | 'secret'>, Observed {
  /** How long hits are remembered, from a caller's first one on. Default: 60,000. */
  windowMs: number
  /** How many hits a window has. Default: 5. */
  limit: number | ValueDeterminingMiddleware<number>
  /** The body of a refusal. Default: a sentence. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever response.send takes, as in express-rate-limit
  message: any | ValueDeterminingMiddleware<any>
  /** Default: 429. */
  statusCode: number
  /** Send X-RateLimit-*. Default: true. */
  legacyHeaders: boolean
  /**
   * Send RateLimit and RateLimit-Policy, in the form of a draft (`true`: draft-6) or the current one. Default: false;
   * but without any of the header options, the current and the legacy ones are sent.
   */
  standardHeaders: boolean | DraftHeadersVersion
  /** The name of the policy. Default: as in `5-in-1min`. */
  identifier: string | ValueDeterminingMiddleware<string>
  /** What Retry-After says, in seconds. Default: until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>
  /** Default: `rateLimit`. */
  requestPropertyName: string
  /** Take hits back that ended in a failure. Default: false. */
  skipFailedRequests: boolean
  /**
   * With skipFailedRequests: also take back the hits of clients that leave before the answer, as express-rate-limit
   * does. Clients that leave early then have no limit while handlers work: false counts them. Default: true.
   */
  skipAbortedRequests?: boolean
  /** Take hits back that ended in a success. Default: false. */
  skipSuccessfulRequests: boolean
  /** Whose hit it is. Default: the address's, or its block's. */
  keyGenerator: ValueDeterminingMiddleware<string>
  /** How many bits of an IPv6 address identify a caller; `false` for all. Default: 56. */
  ipv6Subnet: number | ValueDeterminingMiddleware<number> | false
  /** Answers refused requests. Default: sends `message`. */
  handler: RateLimitExceededEventHandler
  /** Requests that are not counted. Default: none. */
  skip: ValueDeterminingMiddleware<boolean>
  /** Default: a status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>
  /** Where hits are counted. Default: in memory; with `redis`, there. */
  store: Store | LegacyStore
  /** Which mistakes are looked for and logged. Default: all. */
  validate: boolean | EnabledValidations
  /** The old name of legacyHeaders. */
  headers?: boolean
  /** The old name of limit. */
  max?: number | ValueDeterminingMiddleware<number>
  /** Let requests through that the store failed to count. Default: false. */
  passOnStoreError: boolean
  /** Default: the console. */
  logger: Logger
}

/** The options of express-rate-limit as they are given: all of them optional, and with one more value. */
export type HitOptions = Partial<Omit<Options, 'standardHeaders'>> & {
  readonly standardHeaders?: Options['standardHeaders'] | 'current'
}

/** What a request says of its budget. */
export interface RateLimitInfo {
  limit: number
  used: number
  remaining: number
  resetTime: Date | undefined
  key: string
}

/** A request that shows the remaining budget under `requestPropertyName`. */
export type AugmentedRequest = Request & { [property: string]: RateLimitInfo }

/** The middleware, and what can be asked of it. */
export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets the hits of a key. */
  resetKey(key: string): void
  /** Says how many hits a key has. */
  getKey(key: string): Promise<ClientRateLimitInfo | undefined> | ClientRateLimitInfo | undefined
  /** Forgets the hits of all keys, where the store can: one in memory. */
  resetAll(): Promise<void>
  /** Closes the store. */
  close(): Promise<void>
}
