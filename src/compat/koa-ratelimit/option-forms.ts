import { ANY, BOOLEAN, type FormsOf, FUNCTION, fields, HITS, MS, oneOf, STATUS, TEXT } from '../../core/option-forms.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import type { MiddlewareOptions } from './options.ts'

export const HIT_FORMS: FormsOf<MiddlewareOptions> = {
  redis: STORE_FORMS.redis,
  secret: STORE_FORMS.secret,
  log: STORE_FORMS.log,
  ...OBSERVED_FORMS,
  driver: oneOf('memory', 'redis'),
  db: { expected: 'a Map, or a client of Redis', is: (value) => typeof value === 'object' && value !== null },
  duration: MS,
  max: HITS,
  id: FUNCTION,
  namespace: TEXT,
  headers: fields({ remaining: TEXT, reset: TEXT, total: TEXT }),
  disableHeader: BOOLEAN,
  errorMessage: ANY,
  status: STATUS,
  throw: BOOLEAN,
  whitelist: FUNCTION,
  blacklist: FUNCTION,
  onLimited: FUNCTION,
}
