import type { Context, Env, Input, MiddlewareHandler, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import type { WSContext } from 'hono/ws'
import type { Observed } from '../../engine/decision-event.ts'
import type { ConnectionOptions } from '../../middleware/hono/options.ts'
import type { StoreOptions } from '../../stores/open/store-options.ts'

/** A value, or a promise of it. */
export type Promisify<T> = T | Promise<T>

/** What a store knows of a key: its hits, and when they are forgotten. */
export interface ClientRateLimitInfo {
  totalHits: number
  resetTime?: Date | undefined
}

declare module 'hono' {
  interface ContextVariableMap {
    rateLimitStore: Pick<Store, 'resetKey'> & { readonly getKey: Store['get'] }
  }
}

/** Counts hits. Any that was written for hono-rate-limiter or express-rate-limit is one. */
export interface Store<E extends Env = Env, P extends string = string, I extends Input = Input> {
  init?: (options: HonoConfigType<E, P, I>) => void
  get?: (key: string) => Promisify<ClientRateLimitInfo | undefined>
  increment: (key: string) => Promisify<ClientRateLimitInfo>
  decrement: (key: string) => Promisify<void>
  resetKey: (key: string) => Promisify<void>
  resetAll?: () => Promisify<void>
  shutdown?: () => Promisify<void>
  localKeys?: boolean
  prefix?: string
}

/** A rate limit binding of Cloudflare Workers. */
export interface RateLimit {
  limit: (options: { key: string }) => Promisify<{ success: boolean }>
}

/** Answers a refused request. */
export type RateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  c: Context<E, P, I>,
  next: Next,
  optionsUsed: ConfigType<E, P, I>,
) => unknown

interface KeyOptions<E extends Env, P extends string, I extends Input> {
  /** Whose hit it is. Default: the connection's address, of IPv6 its block. */
  keyGenerator: (c: Context<E, P, I>) => Promisify<string>
}

interface AnswerOptions<E extends Env, P extends string, I extends Input> {
  /** The body of a refusal: text, or an object for JSON. Default: a sentence. */
  message: string | Record<string, unknown> | ((c: Context<E, P, I>) => Promisify<string | Record<string, unknown>>)
  /** Default: 429. */
  statusCode: StatusCode
  /** Answers refused requests. Default: sends `message`. */
  handler: RateLimitExceededEventHandler<E, P, I>
  /** Requests that are not counted. Default: none. */
  skip: (c: Context<E, P, I>) => Promisify<boolean>
}

/** For apps in which Cloudflare counts. */
export interface CloudflareConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends KeyOptions<E, P, I>,
    AnswerOptions<E, P, I> {
  binding: RateLimit | ((c: Context<E, P, I>) => RateLimit)
}

/** The options of hono-rate-limiter, with the same meaning. */
export interface HonoConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends KeyOptions<E, P, I>,
    AnswerOptions<E, P, I> {
  /** How long hits are remembered, from a caller's first one on. Default: 60,000. */
  windowMs: number
  /** How many hits a window has. Default: 5. */
  limit: number | ((c: Context<E, P, I>) => Promisify<number>)
  /**
   * Send RateLimit and RateLimit-Policy in the form of a draft (`true`: draft-6), or the current one. Default: draft-6.
   */
  standardHeaders: boolean | 'draft-6' | 'draft-7' | 'draft-8' | 'current'
  /** The variable of the context that shows what remains. Default: `rateLimit`. */
  requestPropertyName: string
  /** Which variable of the context has `getKey` and `resetKey`. Default: `rateLimitStore`. */
  requestStorePropertyName: string
  /** Take hits back that ended in a failure. Default: false. */
  skipFailedRequests: boolean
  /** Take hits back that ended in a success. Default: false. */
  skipSuccessfulRequests: boolean
  /** Default: a status below 400. */
  requestWasSuccessful: (c: Context<E, P, I>) => Promisify<boolean>
  /** Where hits are counted. Default: in memory; with `redis`, there. */
  store: Store<E, P, I>
}

/** What this package adds to them. */
interface AddedOptions extends Pick<StoreOptions, 'redis' | 'secret' | 'log'>, ConnectionOptions, Observed {
  /** The name of the policy, in draft-8 and the current form. Default: as in `5-in-1m`. */
  readonly identifier?: string
  /** Let requests through that the store failed to count. Default: false; what it throws goes to the app's onError. */
  readonly passOnStoreError?: boolean
}

/** The options of hono-rate-limiter as they are given: all of them optional, and what this package adds. */
export type HonoConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Partial<
  HonoConfigType<E, P, I>
> &
  AddedOptions & { readonly binding?: undefined }
/** The options for apps in which Cloudflare counts, as they are given. */
export type CloudflareConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Partial<
  CloudflareConfigType<E, P, I>
> &
  Pick<CloudflareConfigType<E, P, I>, 'binding'> &
  ConnectionOptions
/** The options of hono-rate-limiter with all values filled in, as handlers receive them. */
export type ConfigType<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigType<E, P, I>
  | CloudflareConfigType<E, P, I>
/** The options of hono-rate-limiter as they are given. */
export type ConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> =
  | HonoConfigProps<E, P, I>
  | CloudflareConfigProps<E, P, I>

/** A code that a WebSocket can be closed with. */
export type WSStatusCode = 1000 | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1007 | 1008 | 1009 | 1010

/** The options for the messages of a WebSocket. */
export interface WSConfigType<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends Omit<
    HonoConfigType<E, P, I>,
    'message' | 'statusCode' | 'standardHeaders' | 'requestWasSuccessful' | 'handler' | 'skip'
  > {
  /** Why the connection is closed. Default: a sentence. */
  message: string
  /** Default: 1008. */
  statusCode: WSStatusCode
  /** What happens to a message that is one too many. Default: the connection is closed. */
  handler: WSRateLimitExceededEventHandler<E, P, I>
  /** Messages that are not counted. Default: none. */
  skip: (event: unknown, ws: WSContext) => Promisify<boolean>
}

/** Receives a message above the limit. */
export type WSRateLimitExceededEventHandler<E extends Env = Env, P extends string = string, I extends Input = Input> = (
  event: unknown,
  ws: WSContext,
  optionsUsed: WSConfigType<E, P, I>,
) => Promisify<void>

/** The options for the messages of a WebSocket as they are given: all of them optional. */
export type WSConfigProps<E extends Env = Env, P extends string = string, I extends Input = Input> = Partial<
  WSConfigType<E, P, I>
> &
  Pick<AddedOptions, 'redis' | 'secret' | 'log' | 'getConnInfo' | 'observer' | 'onDecision'>

/** The middleware with the options of hono-rate-limiter. */
export type HitMiddleware<E extends Env = Env, P extends string = string, I extends Input = Input> = MiddlewareHandler<
  E,
  P,
  I
> & {
  /** Forgets the hits of all keys, where the store can: one in memory. */
  resetAll(): Promise<void>
  /** Closes the store. */
  close(): Promise<void>
}
