import {
  ANY,
  BOOLEAN,
  either,
  type Form,
  type FormsOf,
  FUNCTION,
  fields,
  HITS,
  TEXT,
  whole,
} from '../../core/option-forms.ts'
import { HOOK, OF_FASTIFY } from '../../middleware/fastify/option-forms.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import { checkOtherOptions } from '../native-options.ts'
import type { RateLimitOptions, RateLimitPluginOptions } from './options.ts'

/** Texts are read elsewhere. */
const TIME: Form = {
  expected: 'milliseconds, a text such as 1 minute, or a function',
  is: (value) => typeof value === 'string' || typeof value === 'function' || (typeof value === 'number' && value >= 0),
  isNumber: true,
}

const ROUTE_FORMS: FormsOf<RateLimitOptions> = {
  store: FUNCTION,
  skipOnError: BOOLEAN,
  max: either(HITS, FUNCTION),
  timeWindow: TIME,
  allowList: either({ expected: 'a list', is: Array.isArray }, FUNCTION),
  keyGenerator: FUNCTION,
  ipv6Subnet: whole(1, 128),
  // @fastify/rate-limit takes -1 for never.
  ban: whole(-1, Number.POSITIVE_INFINITY),
  hook: HOOK,
  cache: whole(1, Number.POSITIVE_INFINITY),
  continueExceeding: BOOLEAN,
  exponentialBackoff: BOOLEAN,
  onBanReach: FUNCTION,
  groupId: ANY,
  errorResponseBuilder: FUNCTION,
  enableDraftSpec: BOOLEAN,
  onExceeding: FUNCTION,
  onExceeded: FUNCTION,
}

const FIELDS = { 'x-ratelimit-limit': BOOLEAN, 'x-ratelimit-remaining': BOOLEAN, 'x-ratelimit-reset': BOOLEAN }
const DRAFT_FIELDS = { 'ratelimit-limit': BOOLEAN, 'ratelimit-remaining': BOOLEAN, 'ratelimit-reset': BOOLEAN }
const SHOWN = { ...FIELDS, ...DRAFT_FIELDS }

export const HIT_FORMS: FormsOf<RateLimitPluginOptions> = {
  ...ROUTE_FORMS,
  ...OF_FASTIFY,
  global: BOOLEAN,
  redis: STORE_FORMS.redis,
  secret: STORE_FORMS.secret,
  ...OBSERVED_FORMS,
  nameSpace: TEXT,
  addHeaders: fields({ ...SHOWN, 'retry-after': BOOLEAN }),
  addHeadersOnExceeding: fields(SHOWN),
}

/** Holds options of @fastify/rate-limit to their names and values. null is not given, as there. */
export function checkHitOptions(options: object): void {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null))
  checkOtherOptions(given, HIT_FORMS, 'sluice/fastify')
}
