import { ANY, BOOLEAN, either, type FormsOf, FUNCTION, HITS, MS, STATUS, TEXT } from '../../core/option-forms.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import type { HitOptions } from './options.ts'

/** Some are checked as express-rate-limit does it: what is wrong is logged, and `validate` has a say. */
export const HIT_FORMS: FormsOf<HitOptions> = {
  redis: STORE_FORMS.redis,
  secret: STORE_FORMS.secret,
  ...OBSERVED_FORMS,
  windowMs: MS,
  limit: either(HITS, FUNCTION),
  max: either(HITS, FUNCTION),
  message: ANY,
  statusCode: STATUS,
  legacyHeaders: BOOLEAN,
  headers: BOOLEAN,
  standardHeaders: either(BOOLEAN, TEXT),
  identifier: either(TEXT, FUNCTION),
  retryAfter: either(HITS, FUNCTION),
  requestPropertyName: TEXT,
  skipFailedRequests: BOOLEAN,
  skipAbortedRequests: BOOLEAN,
  skipSuccessfulRequests: BOOLEAN,
  keyGenerator: FUNCTION,
  ipv6Subnet: ANY,
  handler: FUNCTION,
  skip: FUNCTION,
  requestWasSuccessful: FUNCTION,
  store: ANY,
  validate: ANY,
  passOnStoreError: BOOLEAN,
  logger: ANY,
}

/** What express-rate-limit knew once, and express-slow-down knows. Nothing is done with them. */
const OLD_NAMES = ['draft_polli_ratelimit_headers', 'onLimitReached', 'delayAfter', 'delayMs', 'maxDelayMs']
export const HIT_NAMES: readonly string[] = [...Object.keys(HIT_FORMS), ...OLD_NAMES]
