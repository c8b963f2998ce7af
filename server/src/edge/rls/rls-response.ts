import {
  boolField,
  bytesField,
  doubleField,
  join,
  messageField,
  numberField,
  type ProtoField,
  textField,
  varintSize,
  writeVarint,
} from '../../protobuf/writer.ts'
import {
  dynamicMetadata,
  type JsonValue,
  ledgerBody,
  ledgerHeaders,
  limitHeaders,
  type RlsAnswer,
  type Status,
} from './rls-answer.ts'
import type { RlsOptions } from './rls-options.ts'
import type { RlsRequest } from './rls-request.ts'
import { headerField } from './rule-forms.ts'

/** Everything in a status but its limit: code, remaining, reset, their tags, and the status's own tag and length. */
const MAX_STATUS_BYTES = 40
const CODE_BYTES = 2
const NO_FIELDS: ProtoField = new Uint8Array(0)

/** Returns the maximum length of the answer, without what `extraFields` returns. */
export function mostBytes(answer: RlsAnswer): number {
  let most = CODE_BYTES
  for (let i = 0; i < answer.size; i++) most += MAX_STATUS_BYTES + (answer.statuses[i].form?.currentLimit.length ?? 0)
  return most
}

/** Writes a RateLimitResponse into a buffer that has room for it, and returns where it ends. */
export function encodeRlsAnswer(answer: RlsAnswer, extra: ProtoField, bytes: Uint8Array, start: number): number {
  let at = start
  bytes[at++] = 0x08
  bytes[at++] = answer.overallCode
  for (let i = 0; i < answer.size; i++) at = writeStatus(answer.statuses[i], bytes, at)
  bytes.set(extra, at)
  return at + extra.length
}

function writeStatus(status: Status, bytes: Uint8Array, start: number): number {
  const { form, remaining } = status
  const seconds = status.resetSeconds
  const remainingSize = remaining === 0 ? 0 : 1 + varintSize(remaining)
  const durationSize = seconds === 0 ? 0 : 1 + varintSize(seconds)
  const size = CODE_BYTES + remainingSize + (form === undefined ? 0 : form.currentLimit.length + 2 + durationSize)
  bytes[start] = 0x12
  let at = writeVarint(bytes, start + 1, size)
  bytes[at++] = 0x08
  bytes[at++] = status.code
  if (form !== undefined) at = copy(form.currentLimit, bytes, at)
  if (remainingSize > 0) {
    bytes[at++] = 0x18
    at = writeVarint(bytes, at, remaining)
  }
  if (form === undefined) return at
  bytes[at++] = 0x22
  bytes[at++] = durationSize
  if (durationSize > 0) {
    bytes[at++] = 0x08
    at = writeVarint(bytes, at, seconds)
  }
  return at
}

/** Like `set` for a few bytes: a call into the runtime takes longer. */
function copy(from: Uint8Array, to: Uint8Array, start: number): number {
  const { length } = from
  if (length > 32) to.set(from, start)
  else for (let i = 0; i < length; i++) to[start + i] = from[i]
  return start + length
}

/** Encodes what most answers do not have: headers, the body of a refusal, and dynamic metadata. */
export function extraFields(request: RlsRequest, answer: RlsAnswer, options: RlsOptions): ProtoField {
  const { responseHeaders, requestHeaders, dynamicMetadata: hasMetadata } = options
  const refusal = answer.refusedBy?.refusal ?? NO_FIELDS
  const isPlain = responseHeaders === undefined && requestHeaders === undefined && answer.ledger === undefined
  if (isPlain && hasMetadata !== true) return refusal
  const body = ledgerBody(answer)
  return join([
    ...limitHeaders(answer, responseHeaders).map((header) => headerField(3, header)),
    ...limitHeaders(answer, requestHeaders).map((header) => headerField(4, header)),
    ...ledgerHeaders(answer).map((header) => headerField(3, header)),
    refusal,
    body === undefined ? NO_FIELDS : bytesField(5, body),
    hasMetadata === true ? bytesField(6, structBytes(dynamicMetadata(request, answer, options))) : NO_FIELDS,
  ])
}

/** Encodes google.protobuf.Struct. */
export function structBytes(object: { readonly [key: string]: JsonValue }): ProtoField {
  return join(
    Object.entries(object).map(([key, value]) => messageField(1, textField(1, key), bytesField(2, valueBytes(value)))),
  )
}

/** Encodes google.protobuf.Value. It is a oneof: what is set is written, even where it is the default. */
function valueBytes(value: JsonValue): ProtoField {
  if (value === null) return numberField(1, 0, true)
  if (typeof value === 'number') return doubleField(2, value)
  if (typeof value === 'string') return bytesField(3, Buffer.from(value))
  if (typeof value === 'boolean') return value ? boolField(4, true) : numberField(4, 0, true)
  if (isList(value)) return bytesField(6, join(value.map((each) => bytesField(1, valueBytes(each)))))
  return bytesField(5, structBytes(value))
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
