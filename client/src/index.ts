export { createFetch } from './create-fetch.ts'
export { type GiveUpReason, RateLimitError } from './errors.ts'
export type {
  CallOptions,
  PacedFetch,
  PacedFetchCounts,
  PacedFetchEvents,
  PacedFetchOptions,
  PacedInit,
} from './options.ts'
export type { Cost } from './pacer.ts'
export { type Budget, type Fields, parseRateLimits, type RateLimits } from './rate-limits.ts'
export { userAgent, version } from './version.ts'
