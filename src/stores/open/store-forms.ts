import { KEY_FORMS } from '../../core/key-form.ts'
import { type Form, type FormsOf, FUNCTION, has, oneOf, TEXT, whole } from '../../core/option-forms.ts'
import type { RedisOptions, StoreOptions } from './store-options.ts'

/** What an address or a client of Redis is made of, is checked when it is opened. */
const REDIS: Form = {
  expected: 'an address or a client',
  is: (value) => typeof value === 'string' || (value !== null && ['object', 'function'].includes(typeof value)),
  code: 'REDIS_CLIENT_INVALID',
}

const PLACE: Form = {
  expected: 'a store, such as postgres(pool) of sluice/postgres',
  is: (value) => typeof value === 'object' && value !== null && 'place' in value && 'code' in value,
}

/** The forms of the options of what counts in memory or in Redis alone. */
const REDIS_FORMS: FormsOf<RedisOptions> = {
  redis: REDIS,
  // An empty one counts as not set.
  secret: { ...TEXT, is: (value) => typeof value === 'string' },
  // Its characters are checked when the store is opened.
  keyPrefix: { ...TEXT, is: (value) => typeof value === 'string' },
  keys: /* @__PURE__ */ oneOf(...KEY_FORMS),
  redisTimeoutMs: /* @__PURE__ */ whole(1, 60_000),
  maxKeys: /* @__PURE__ */ whole(1, 2 ** 26, 'MAX_KEYS_INVALID'),
  log: FUNCTION,
  clock: /* @__PURE__ */ has('nowMs'),
}

/** The forms of StoreOptions. */
export const STORE_FORMS: FormsOf<StoreOptions> = { ...REDIS_FORMS, store: PLACE }

/** The form of what keys begin with: of nothing, too. */
export const PREFIX = STORE_FORMS.secret

/** The forms of the additional options of stores of hits. */
export const HIT_STORE_FORMS = {
  ...REDIS_FORMS,
  prefix: PREFIX,
  onStoreFailure: /* @__PURE__ */ oneOf('open', 'closed', 'local', 'throw'),
  timeoutMs: /* @__PURE__ */ whole(1, 60_000),
}

/** Returns the form of an Observer. */
export const OBSERVER = /* @__PURE__ */ has('decided')

/** The forms of the observers of decisions. */
export const OBSERVED_FORMS = { observer: OBSERVER, onDecision: FUNCTION }
