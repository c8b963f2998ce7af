import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Observed } from '../../engine/decision-event.ts'
import type { RateLimitHook } from '../../middleware/fastify/options.ts'
import type { RedisClient } from '../../stores/redis/connection/client-connection.ts'

type MaybePromise<T> = T | Promise<T>

export type { RateLimitHook }

declare module '../../middleware/fastify/options.ts' {
  interface RouteLimits {
    hits: RateLimitOptions
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Says how many hits a request's key has, and counts this one. */
    createRateLimit(options?: CreateRateLimitOptions): RateLimitCheck
  }
}

/** What `errorResponseBuilder` receives about a refused request. */
export interface errorResponseBuilderContext {
  statusCode: number
  /** The caller was refused more often than `ban` allows. */
  ban: boolean
  /** How long it has to wait, in words. */
  after: string
  max: number
  /** How long it has to wait, in ms. */
  ttl: number
}

/** A store of the app is created once for the plugin, and its `child` for each route with separate options. */
export interface FastifyRateLimitStore {
  incr(
    key: string,
    callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
  /** Looks without counting; needed only for `{ increment: false }`. */
  read?(
    key: string,
    callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
  child(routeOptions: RouteOptions & { path: string; prefix: string }): FastifyRateLimitStore
}

/** The name that stores for @fastify/rate-limit are written against. */
// biome-ignore lint/suspicious/noEmptyInterface: the name that stores of others are written against
export interface FastifyRateLimitOptions {}

/** A class of stores, for the option `store`. */
export interface FastifyRateLimitStoreCtor {
  new (options: FastifyRateLimitOptions): FastifyRateLimitStore
}

/** The options of `createRateLimit`: those for how hits are counted. */
export interface CreateRateLimitOptions {
  store?: FastifyRateLimitStoreCtor
  /** Let requests pass that the store failed to count. Default: false. */
  skipOnError?: boolean
  /** How many hits a window has. Default: 1,000. */
  max?: number | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** How long hits are remembered, from the first one on: in ms, or in words (`1 minute`). Default: 60,000. */
  timeWindow?: number | string | ((request: FastifyRequest, key: string) => MaybePromise<number>)
  /** Keys that are not counted. Default: none. */
  allowList?: string[] | ((request: FastifyRequest, key: string) => MaybePromise<boolean>)
  /** Whose hit it is. Default: the address's, or its block's. */
  keyGenerator?: (request: FastifyRequest) => MaybePromise<string | number>
  /** How many bits of an IPv6 address identify a caller. Default: 64. */
  ipv6Subnet?: number
  /** After this many refusals, 403 instead of 429. Default: never. */
  ban?: number
}

/** The options of @fastify/rate-limit that a route may set. */
export interface RateLimitOptions extends CreateRateLimitOptions {
  /** Default: `onRequest`. */
  hook?: RateLimitHook
  /** The maximum number of keys to keep in memory. Default: 1,000,000, of 41 bytes each. */
  cache?: number
  /** A refused hit restarts the window. Default: false. */
  continueExceeding?: boolean
  /** A refused hit doubles the time to wait. Default: false. */
  exponentialBackoff?: boolean
  onBanReach?: (request: FastifyRequest, key: string) => void
  /** Is part of the key. */
  groupId?: string
  errorResponseBuilder?: (request: FastifyRequest, context: errorResponseBuilderContext) => object
  /** `ratelimit-*` in place of `x-ratelimit-*`. Default: false. */
  enableDraftSpec?: boolean
  onExceeding?: (request: FastifyRequest, key: string) => void
  onExceeded?: (request: FastifyRequest, key: string) => void
}

interface AddHeadersOnExceeding {
  'x-ratelimit-limit'?: boolean
  'x-ratelimit-remaining'?: boolean
  'x-ratelimit-reset'?: boolean
  'ratelimit-limit'?: boolean
  'ratelimit-remaining'?: boolean
  'ratelimit-reset'?: boolean
}

interface AddHeaders extends AddHeadersOnExceeding {
  'retry-after'?: boolean
}

/** The options of @fastify/rate-limit 11, with the same meaning. */
export interface RateLimitPluginOptions extends RateLimitOptions, Observed {
  /** Whether routes without separate options are limited. Default: true. */
  global?: boolean
  /**
   * A client of ioredis or redis; or, beyond @fastify/rate-limit, an address as in the plain options. Default: memory.
   */
  redis?: RedisClient | string
  /** Keys the hashes of partitions; the same on every node. Default: SLUICE_SECRET of the environment. */
  secret?: string
  /** What keys in Redis begin with. Default: `fastify-rate-limit-`. */
  nameSpace?: string
  /** What refused answers say. Default: all. */
  addHeaders?: AddHeaders
  /** What other answers say. Default: all. */
  addHeadersOnExceeding?: AddHeadersOnExceeding
}

/** What a check says of a request. */
export type RateLimitState =
  /** On the allow list. */
  | { isAllowed: true; key: string }
  | {
      isAllowed: false
      key: string
      max: number
      timeWindow: number
      remaining: number
      ttl: number
      ttlInSeconds: number
      isExceeded: boolean
      isBanned: boolean
    }

/** Counts a hit of a request, or only looks, and returns what remains. */
export type RateLimitCheck = (request: FastifyRequest, callOptions?: { increment?: boolean }) => Promise<RateLimitState>
