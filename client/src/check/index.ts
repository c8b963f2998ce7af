export { RateLimitError } from '../errors.ts'
export {
  type CheckClient,
  type CheckClientOptions,
  type CheckDecision,
  type CheckRequest,
  CheckRequestError,
  createCheckClient,
  type Entry,
  orThrow,
  type Permit,
  type Renewed,
  type Reservation,
  type RuleVerdict,
} from './check-client.ts'
export type { Holder } from './hold.ts'
