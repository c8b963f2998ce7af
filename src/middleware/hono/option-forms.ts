import { FIELD_FORMS } from '../../core/http/field-renderer.ts'
import {
  ANY,
  BOOLEAN,
  either,
  type FormsOf,
  FUNCTION,
  HITS,
  MS,
  oneOf,
  STATUS,
  TEXT,
  whole,
} from '../../core/option-forms.ts'
import { GATE_FORMS } from '../../http-door/gate.ts'
import { OBSERVED_FORMS, STORE_FORMS } from '../../stores/open/store-forms.ts'
import { OptionKind } from '../option-kind.ts'
import type { CloudflareConfigProps, HonoConfigProps, PlainFields, WSConfigProps } from './options.ts'

export const PLAIN_FORMS: FormsOf<PlainFields<never>> = {
  ...GATE_FORMS,
  handler: FUNCTION,
  requestPropertyName: TEXT,
  getConnInfo: FUNCTION,
}

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

export const KIND = new OptionKind('hono-rate-limiter', PLAIN_FORMS, HIT_FORMS)
