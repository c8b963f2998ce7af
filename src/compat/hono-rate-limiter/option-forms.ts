import { FIELD_FORMS } from '../../core/http/field-renderer.ts'
import {
  ANY,
  BOOLEAN,
  either,
  type Forms,
  type FormsOf,
  FUNCTION,
  HITS,
  MS,
  oneOf,
  STATUS,
  TEXT,
  whole,
} from '../../core/option-forms.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import { checkOtherOptions } from '../native-options.ts'
import type { CloudflareConfigProps, HonoConfigProps, WSConfigProps } from './options.ts'

const { redis, secret, log } = STORE_FORMS

export const HIT_FORMS: FormsOf<HonoConfigProps> = {
  redis,
  secret,
  log,
  ...OBSERVED_FORMS,
  getConnInfo: FUNCTION,
  identifier: TEXT,
  passOnStoreError: BOOLEAN,
  binding: ANY,
  windowMs: MS,
  limit: either(HITS, FUNCTION),
  standardHeaders: either(BOOLEAN, oneOf(...FIELD_FORMS)),
  requestPropertyName: TEXT,
  requestStorePropertyName: TEXT,
  skipFailedRequests: BOOLEAN,
  skipSuccessfulRequests: BOOLEAN,
  requestWasSuccessful: FUNCTION,
  store: ANY,
  keyGenerator: FUNCTION,
  message: ANY,
  statusCode: STATUS,
  handler: FUNCTION,
  skip: FUNCTION,
}

export const BINDING_FORMS: FormsOf<CloudflareConfigProps> = {
  binding: ANY,
  getConnInfo: FUNCTION,
  keyGenerator: FUNCTION,
  message: ANY,
  statusCode: STATUS,
  handler: FUNCTION,
  skip: FUNCTION,
}

export const SOCKET_FORMS: FormsOf<WSConfigProps> = {
  redis,
  secret,
  log,
  ...OBSERVED_FORMS,
  getConnInfo: FUNCTION,
  windowMs: MS,
  limit: either(HITS, FUNCTION),
  requestPropertyName: TEXT,
  requestStorePropertyName: TEXT,
  skipFailedRequests: BOOLEAN,
  skipSuccessfulRequests: BOOLEAN,
  store: ANY,
  keyGenerator: FUNCTION,
  message: TEXT,
  statusCode: whole(1000, 4999),
  handler: FUNCTION,
  skip: FUNCTION,
}

/** Holds options of hono-rate-limiter to their names and values. */
export function checkHitOptions(options: object, forms: Forms): void {
  checkOtherOptions(options, forms, 'sluice/hono')
}
