export { RateLimitError } from '../errors.ts'
export {
  type CheckClient,
  type CheckClientOptions,
  CheckRequestError,
  createCheckClient,
  orThrow,
} from './check-client.ts'
export type {
  CheckDecision,
  CheckRequest,
  Entry,
  Permit,
  Renewed,
  Reservation,
  RuleVerdict,
} from './check-request.ts'
export type { Holder } from './hold.ts'
