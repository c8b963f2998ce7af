import type { Throttle } from './accepts.ts'
import type { Cost } from './pacer.ts'
import type { Share } from './tabs.ts'

export type Fetch = typeof globalThis.fetch
export type FetchInput = Parameters<Fetch>[0]

/** What one call may say, as `rateLimit` in its init. */
export interface CallOptions {
  /** What it takes of the budget, as a number of requests or by unit: `{ requests: 1, tokens: 2000 }`. Default: 1. */
  readonly cost?: number | Cost
  /** Higher goes first. Default: 0. */
  readonly priority?: number
  /** How long it may take until its answer begins, including waiting and retries. Default: that of createFetch. */
  readonly deadlineMs?: number
  /** Whose budget it takes from, where one server counts several callers. Default: that of createFetch. */
  readonly partition?: string
}

/** The init of fetch, with what concerns the limits. */
export interface PacedInit extends RequestInit {
  readonly rateLimit?: CallOptions
}

/** How long a call may wait, how often it is retried, and who is notified. */
export interface PacedFetchOptions {
  /** Default: the global fetch. */
  readonly fetch?: Fetch
  /** How long a call may take until its answer begins, waiting and retries included. Default: 60,000. */
  readonly deadlineMs?: number
  /** The maximum number of retries of a refused call. Default: 5. */
  readonly retries?: number
  /** How many retries each call allows. Default: 0.2, so that retries are at most a fifth of the calls. */
  readonly retryShare?: number
  /** Methods that may be sent twice. Others are, when they carry an `Idempotency-Key`. Default: the idempotent ones. */
  readonly retryMethods?: readonly string[]
  /**
   * Rejects with a RateLimitError where a call is given up. Default: false, so that the call resolves with the server's
   * refusal, or with a 429 of the client where it was not sent.
   */
  readonly throwOnGiveUp?: boolean
  /** How many calls may wait for one server and partition. Default: 10,000. */
  readonly maxWaiting?: number
  /** Whose budget a call takes from. Default: by the `Authorization` and `X-API-Key` of the call, hashed. */
  readonly partition?: (url: URL, headers: Headers) => string
  /** Drops calls when a server that announces no limits refuses many: `acceptsRatio`. Default: none. */
  readonly throttle?: () => Throttle
  /** Shares what is learned about servers: `shareTabs('name')` with other tabs. Default: not shared. */
  readonly share?: Share
  /** Hears what happens. */
  readonly on?: PacedFetchEvents
}

/** Hooks that observe and decide nothing: what they throw goes to the console. */
export interface PacedFetchEvents {
  /** A call was held back for this long before it was sent. */
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

/** Fetch, and what it has counted. */
export interface PacedFetch {
  (input: FetchInput, init?: PacedInit): Promise<Response>
  counts(): PacedFetchCounts
  /** Ends what is shared with others. */
  close(): void
}

/** For each option, the type of its value. */
export type Kinds<T> = {
  readonly [K in keyof Required<T>]: 'number' | 'function' | 'object' | 'string' | 'boolean' | ''
}

export const FETCH_KINDS: Kinds<PacedFetchOptions> = {
  fetch: 'function',
  deadlineMs: 'number',
  retries: 'number',
  retryShare: 'number',
  retryMethods: 'object',
  throwOnGiveUp: 'boolean',
  maxWaiting: 'number',
  partition: 'function',
  throttle: 'function',
  share: 'object',
  on: 'object',
}

/** Costs are checked by unit. */
export const CALL_KINDS: Kinds<CallOptions> = {
  cost: '',
  priority: 'number',
  deadlineMs: 'number',
  partition: 'string',
}

/**
 * Throws for an option that does not exist, and for a value of another kind. Amounts are 0 or more: one NaN would have
 * all calls wait for ever, or none. Without kinds, all are amounts.
 */
export function checkOptions(options: object, kinds?: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(options)) {
    const kind = kinds ? Object.hasOwn(kinds, name) && kinds[name] : 'number'
    if (kind === false) throw new TypeError(`unknown option ${name}; known are ${Object.keys(kinds ?? {}).join(', ')}`)
    if (value === undefined || !kind) continue
    const isAmount = kind === 'number' && name !== 'priority'
    if (typeof value === kind && (isAmount ? value >= 0 : !Number.isNaN(value))) continue
    const shown = typeof value === 'string' ? `"${value}"` : value
    throw new TypeError(`${name} must be a ${kind}${isAmount ? ' of 0 or more' : ''}, not ${shown}`)
  }
}
