export type { CalendarOptions } from './core/calendar.ts'
export type { Clock } from './core/clock.ts'
export type { Decision, RuleVerdict } from './core/combine.ts'
export type { Verdict, VerdictFields } from './core/decision.ts'
export type { Duration } from './core/duration.ts'
export type { ErrorCode } from './core/errors.ts'
export { SluiceError } from './core/errors.ts'
export type { Algorithm, Limit, LimitOptions } from './core/limit.ts'
export type { CheckRequest, Descriptor, Entry } from './core/request.ts'
export type { DescriptorRule, RateLimitRule, RuleFile } from './core/rules/schema.ts'
export type { PlannedCharge } from './engine/charge.ts'
export type { DecisionEvent } from './engine/decision-event.ts'
export type { Observer } from './engine/observer.ts'
export type { SettledCost } from './library/checks.ts'
export {
  createLimiter,
  type LimiterOptions,
  RuleLimiter,
  type SharedLimiterOptions,
  SharedRuleLimiter,
} from './library/create-limiter.ts'
export { Permit, SharedPermit } from './library/permit.ts'
export { RateLimiter, type RateLimitOptions, rateLimit, type SharedRateLimitOptions } from './library/rate-limit.ts'
export { SharedRateLimiter } from './library/shared-rate-limit.ts'
export type { MemoryStats } from './stores/memory/memory-store.ts'
