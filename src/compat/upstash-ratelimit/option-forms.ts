import { BOOLEAN, either, type Form, type FormsOf, oneOf, TEXT, whole } from '../../core/option-forms.ts'
import { STORE_FORMS } from '../../stores/open/store-forms.ts'
import type { LimitOptions, RatelimitConfig } from './options.ts'

const FALSE: Form = { expected: 'false', is: (value) => value === false }
const MAP: Form = { expected: 'a Map', is: (value) => value instanceof Map }
/** What it made is checked where it is used. */
const ALGORITHM: Form = { expected: 'an algorithm such as Ratelimit.slidingWindow(10, "10 s")', is: () => true }

export const CONFIG_FORMS: FormsOf<RatelimitConfig> = {
  redis: STORE_FORMS.redis,
  secret: STORE_FORMS.secret,
  log: STORE_FORMS.log,
  maxKeys: STORE_FORMS.maxKeys,
  clock: STORE_FORMS.clock,
  limiter: ALGORITHM,
  prefix: TEXT,
  timeout: /* @__PURE__ */ whole(1, 60_000),
  onStoreFailure: /* @__PURE__ */ oneOf('local', 'open', 'closed'),
  ephemeralCache: /* @__PURE__ */ either(MAP, FALSE),
  analytics: BOOLEAN,
}

/** What calls of @upstash/ratelimit may have for its analytics and deny lists is accepted, and not used. */
export const LIMIT_FORMS: FormsOf<LimitOptions> = {
  rate: /* @__PURE__ */ whole(-4_294_967_295, 4_294_967_295, 'COST_INVALID'),
}
