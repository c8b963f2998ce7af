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
  Holder,
  LeasedPermit,
  Permit,
  Renewed,
  Reservation,
  RuleVerdict,
} from './check-request.ts'
