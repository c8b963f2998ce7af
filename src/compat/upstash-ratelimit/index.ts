export { SluiceError } from '../../core/errors.ts'
export type { Algorithm, Duration } from './algorithms.ts'
export type { LimitOptions, RatelimitConfig, RatelimitResponse, Remaining } from './options.ts'
export { Ratelimit } from './ratelimit.ts'
