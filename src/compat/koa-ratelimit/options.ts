import type { Context, Middleware } from 'koa'
import type { Observed } from '../../engine/decision-event.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import type { StoreOptions } from '../../stores/open/store-options.ts'

/** The options of koa-ratelimit 6, with the same meaning, and what a shared store needs. */
export interface MiddlewareOptions extends Pick<StoreOptions, 'secret' | 'log'>, Observed {
  /** Where hits are counted. Default: `redis` with a client as `db` or with `redis`, otherwise `memory`. */
  readonly driver?: 'memory' | 'redis'
  /** A client of `redis` or `ioredis`; or a Map, which then holds the counters: clearing it resets every key. */
  readonly db?: Map<unknown, unknown> | Exclude<StoreOptions['redis'], string | undefined>
  /** The address of a Redis, instead of `db`. */
  readonly redis?: StoreOptions['redis']
  /** How long hits are remembered, in milliseconds, from a caller's first one on. Default: 3,600,000. */
  readonly duration?: number
  /** How many hits that much time has. Default: 2,500. */
  readonly max?: number
  /** The key of a hit; `false` for one that is not counted. Default: the client's address. */
  readonly id?: (ctx: Context) => MaybePromise<string | false | undefined>
  /** What the keys in Redis begin with. Default: `limit`. */
  readonly namespace?: string
  /** The names of the fields. Default: X-RateLimit-*; only then RateLimit and RateLimit-Policy are sent as well. */
  readonly headers?: { readonly remaining?: string; readonly reset?: string; readonly total?: string }
  /** Send no fields but Retry-After. Default: false. */
  readonly disableHeader?: boolean
  /** The body of a refusal. Default: a sentence. */
  readonly errorMessage?: string | object
  /** The status of a refusal. Default: 429. */
  readonly status?: number
  /** Throw refusals, for another middleware to answer. Default: false. */
  readonly throw?: boolean
  /** Requests that are not counted. Default: none. */
  readonly whitelist?: (ctx: Context) => MaybePromise<boolean>
  /** Requests that get a 403. Default: none. */
  readonly blacklist?: (ctx: Context) => MaybePromise<boolean>
  /** Called for every refusal, before it is sent. */
  readonly onLimited?: (ctx: Context) => void
}

/** The middleware with the options of koa-ratelimit. */
export type HitMiddleware = Middleware & {
  /** Forgets the hits of all keys. Only a store in memory can. */
  resetAll(): Promise<void>
  /** Closes the store. */
  close(): Promise<void>
}
