import type { Priority } from './shedding/priority.ts'

/** One (key, value) pair that a door derived from a request. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** An ordered list of entries: what the caller is and does, from the general to the particular. */
export interface Descriptor {
  readonly entries: readonly Entry[]
  /** Instead of the request's cost. */
  readonly cost?: number | undefined
  /** A limit that the request itself sets, in place of the rules' limits. */
  readonly limit?: LimitOverride | undefined
}

/** A limit as Envoy sends it along with a descriptor. */
export interface LimitOverride {
  readonly requestsPerUnit: number
  readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  /** How many units the window has. Default: 1. */
  readonly unitMultiplier?: number | undefined
}

/** Asks whether a request passes: every rule that matches one of the descriptors has to have budget. */
export interface CheckRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
  /** Above 0 charges (default 1), 0 looks, below 0 refunds. */
  readonly cost?: number
  /** How much it matters when not all requests can be served. Default: what the rules that apply say, else 1. */
  readonly priority?: Priority | undefined
  /** For observers of decisions. It changes none. */
  readonly context?: RequestContext | undefined
}

/** What a door knows of a request in addition to what is limited. */
export interface RequestContext {
  /** The trace that the request is part of, as W3C's `traceparent` has it: 32 hexadecimal digits. */
  readonly traceId?: string | undefined
  /** The caller's span in it: 16 hexadecimal digits. */
  readonly parentSpanId?: string | undefined
  /** Whether the caller's span is recorded. */
  readonly isSampled?: boolean | undefined
  /** What other tracing systems passed along, as W3C's `tracestate` has it. */
  readonly traceState?: string | undefined
  /** When the door had read the request, as performance.now() counts. */
  readonly startedAtMs?: number | undefined
}
