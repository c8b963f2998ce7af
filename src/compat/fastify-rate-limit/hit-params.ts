import type { FastifyRequest } from 'fastify'
import { got, SluiceError } from '../../core/errors.ts'
import { observerOf } from '../../engine/decision-event.ts'
import type { Observer } from '../../engine/observer.ts'
import { subnetOf } from './normalize-ip.ts'
import type { errorResponseBuilderContext, RateLimitHook, RateLimitOptions, RateLimitPluginOptions } from './options.ts'
import { parseTime } from './time-text.ts'

/** What fields are called. */
export interface Labels {
  readonly rateLimit: string
  readonly rateRemaining: string
  readonly rateReset: string
  readonly retryAfter: string
}

type Amount = number | ((request: FastifyRequest, key: string) => number | Promise<number>)

/** Options with every default filled in; what stores of the app's own are made with, under these names. */
export interface HitParams {
  readonly global: boolean
  readonly enableDraftSpec: boolean
  readonly labels: Labels
  readonly addHeaders: Readonly<Record<string, boolean>>
  readonly addHeadersOnExceeding: Readonly<Record<string, boolean>>
  readonly max: Amount
  readonly timeWindow: Amount
  readonly hook: RateLimitHook
  readonly allowList: RateLimitOptions['allowList'] | null
  readonly ban: number
  readonly onBanReach: (request: FastifyRequest, key: string) => void
  readonly onExceeding: (request: FastifyRequest, key: string) => void
  readonly onExceeded: (request: FastifyRequest, key: string) => void
  readonly continueExceeding: boolean
  readonly exponentialBackoff: boolean
  readonly ipv6Subnet: number
  /** Undefined for the address. */
  readonly keyGenerator: RateLimitOptions['keyGenerator']
  readonly errorResponseBuilder: (request: FastifyRequest, context: errorResponseBuilderContext) => object
  readonly isCustomErrorMessage: boolean
  readonly skipOnError: boolean
  readonly observer?: Observer | undefined
  readonly cache?: number
  readonly groupId?: string
  /** The route that they are for. */
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string }
}

export const DEFAULT_MAX = 1_000
export const DEFAULT_WINDOW_MS = 60_000
const NO_BAN = -1

const LEGACY = labelsOf('x-ratelimit')
const DRAFT = labelsOf('ratelimit')

function labelsOf(prefix: string): Labels {
  return {
    rateLimit: `${prefix}-limit`,
    rateRemaining: `${prefix}-remaining`,
    rateReset: `${prefix}-reset`,
    retryAfter: 'retry-after',
  }
}

/** Fills in the defaults of @fastify/rate-limit. What makes no sense there counts as not given, and so here. */
export function hitParams(options: RateLimitPluginOptions): HitParams {
  const labels = options.enableDraftSpec === true ? DRAFT : LEGACY
  const { rateLimit, rateRemaining, rateReset, retryAfter } = labels
  const shown = { [rateLimit]: true, [rateRemaining]: true, [rateReset]: true }
  const { errorResponseBuilder, keyGenerator } = options
  return {
    global: flag(options.global, true),
    enableDraftSpec: labels === DRAFT,
    labels,
    addHeaders: { ...shown, [retryAfter]: true, ...options.addHeaders },
    addHeadersOnExceeding: { ...shown, ...options.addHeadersOnExceeding },
    max: amount(options.max) ?? DEFAULT_MAX,
    timeWindow: windowOf(options.timeWindow),
    hook: options.hook ?? 'onRequest',
    allowList: options.allowList ?? null,
    ban: banOf(options.ban),
    onBanReach: callback(options.onBanReach),
    onExceeding: callback(options.onExceeding),
    onExceeded: callback(options.onExceeded),
    continueExceeding: flag(options.continueExceeding, false),
    exponentialBackoff: flag(options.exponentialBackoff, false),
    ipv6Subnet: subnetOf(options.ipv6Subnet),
    keyGenerator: typeof keyGenerator === 'function' ? keyGenerator : undefined,
    errorResponseBuilder: typeof errorResponseBuilder === 'function' ? errorResponseBuilder : refusalError,
    isCustomErrorMessage: typeof errorResponseBuilder === 'function',
    skipOnError: flag(options.skipOnError, false),
    observer: observerOf(options),
    ...(options.cache !== undefined && { cache: options.cache }),
    ...(options.groupId !== undefined && { groupId: groupOf(options.groupId) }),
  }
}

/** Merges a route's options over the plugin's. */
export function routeParams(params: HitParams, options: RateLimitOptions, routeInfo: object): HitParams {
  const merged = { ...params, ...options, routeInfo } as HitParams & RateLimitOptions
  if (merged.groupId !== undefined) groupOf(merged.groupId)
  return {
    ...merged,
    hook: merged.hook ?? 'onRequest',
    max: amount(merged.max) ?? DEFAULT_MAX,
    timeWindow: windowOf(merged.timeWindow),
    ban: banOf(merged.ban),
    ipv6Subnet: subnetOf(merged.ipv6Subnet),
  }
}

function flag(value: unknown, fallback: boolean): boolean {
  return typeof value === 'boolean' ? value : fallback
}

function callback<F>(given: F | undefined): F | (() => void) {
  return typeof given === 'function' ? given : () => {}
}

function amount(value: unknown): Amount | undefined {
  if (typeof value === 'function') return value as Amount
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.trunc(value) : undefined
}

function windowOf(value: unknown): Amount {
  if (typeof value !== 'string') return amount(value) ?? DEFAULT_WINDOW_MS
  const ms = parseTime(value)
  if (ms === undefined) throw new SluiceError('DURATION_INVALID', 'timeWindow', got(value))
  return ms
}

function banOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.trunc(value) : NO_BAN
}

function groupOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('groupId must be a string')
  return value
}

/** The default error for refused callers: the app's error handler sends it. */
function refusalError(_: FastifyRequest, { after, statusCode }: errorResponseBuilderContext): Error {
  return Object.assign(new Error(`Rate limit exceeded, retry in ${after}`), { statusCode })
}
