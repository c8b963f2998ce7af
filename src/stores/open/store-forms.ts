import { KEY_FORMS } from '../../core/key-form.ts'
import { type Form, type FormsOf, FUNCTION, has, oneOf, TEXT, whole } from '../../core/option-forms.ts'
import type { StoreOptions } from './store-options.ts'

/** What an address or a client of Redis is made of, is checked when it is opened. */
const REDIS: Form = {
  expected: 'an address or a client',
  is: (value) => typeof value === 'string' || (value !== null && ['object', 'function'].includes(typeof value)),
  code: 'REDIS_CLIENT_INVALID',
}

/** STORE_FORMS are the forms of StoreOptions. */
export const STORE_FORMS: FormsOf<StoreOptions> = {
  redis: REDIS,
  // An empty one is what nobody has set.
  secret: { ...TEXT, is: (value) => typeof value === 'string' },
  // What is not allowed in it is told when the store is opened.
  keyPrefix: { ...TEXT, is: (value) => typeof value === 'string' },
  keys: /* @__PURE__ */ oneOf(...KEY_FORMS),
  redisTimeoutMs: /* @__PURE__ */ whole(1, 60_000),
  maxKeys: /* @__PURE__ */ whole(1, 2 ** 26, 'MAX_KEYS_INVALID'),
  log: FUNCTION,
  clock: /* @__PURE__ */ has('nowMs'),
}

/** PREFIX is the form of what keys begin with: of nothing, too. */
export const PREFIX = STORE_FORMS.secret

/** HIT_STORE_FORMS are the forms of what stores of hits have besides. */
export const HIT_STORE_FORMS = {
  ...STORE_FORMS,
  prefix: PREFIX,
  onStoreFailure: /* @__PURE__ */ oneOf('open', 'closed', 'local', 'throw'),
  timeoutMs: /* @__PURE__ */ whole(1, 60_000),
}

/** OBSERVER is the form of an Observer. */
export const OBSERVER = /* @__PURE__ */ has('decided')

/** OBSERVED_FORMS are the forms of who hears of decisions. */
export const OBSERVED_FORMS = { observer: OBSERVER, onDecision: FUNCTION }
