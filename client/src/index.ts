export { acceptsRatio, type Throttle } from './accepts.ts'
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
export { type Learnt, type Share, shareTabs } from './tabs.ts'
export { userAgent, version } from './version.ts'
