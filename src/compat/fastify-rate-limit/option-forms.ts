import { got } from '../../core/errors.ts'
import { expectedHint } from '../../core/hints-code.ts'
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
import { warnProcess } from '../../core/warn-process.ts'
import { HOOK, OF_FASTIFY } from '../../middleware/fastify/option-forms.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import { checkOtherOptions } from '../native-options.ts'
import { DEFAULT_MAX, DEFAULT_WINDOW_MS } from './hit-params.ts'
import { DEFAULT_BITS, isSubnet } from './normalize-ip.ts'
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
  ipv6Subnet: whole(0, 128),
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

const isAmount = (value: number): boolean => Number.isFinite(value) && value >= 0

/** Numbers that @fastify/rate-limit replaces by its default: an app that starts with them there starts here, too. */
const REPLACED = [
  { name: 'max', isUsed: isAmount, fallback: DEFAULT_MAX },
  { name: 'timeWindow', isUsed: isAmount, fallback: DEFAULT_WINDOW_MS },
  { name: 'ipv6Subnet', isUsed: isSubnet, fallback: DEFAULT_BITS },
] as const

/**
 * Holds options of @fastify/rate-limit to their names and values, and returns those to work with: a number that it
 * ignores is its default, with a process warning. null is not given, as there.
 */
export function heldHitOptions<O extends RateLimitPluginOptions>(options: O): O {
  const wrong = REPLACED.filter(({ name, isUsed }) => {
    const value: unknown = options[name]
    return typeof value === 'number' && !isUsed(value)
  })
  const held = { ...options, ...Object.fromEntries(wrong.map(({ name, fallback }) => [name, fallback])) }
  const given = Object.fromEntries(Object.entries(held).filter(([, value]) => value !== null))
  checkOtherOptions(given, HIT_FORMS, 'sluice/fastify')
  for (const { name, fallback } of wrong) {
    const form = HIT_FORMS[name]
    warnProcess(
      `${name}: ${got(options[name])}${expectedHint(options[name], form)}. ` +
        `The default, ${fallback}, is used instead, as in @fastify/rate-limit.`,
    )
  }
  return held
}
