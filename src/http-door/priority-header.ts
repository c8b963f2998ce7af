import { got, SluiceError } from '../core/errors.ts'
import { ProxyTrust } from '../core/identity/proxy-trust.ts'
import { either, type Form, type FormsOf, fields, listOf, oneOf, TEXT } from '../core/option-forms.ts'
import { type Priority, readPriority } from '../core/shedding/priority.ts'

/** A field by which trusted callers say how much a request matters. */
export interface PriorityHeader {
  /** In lower case. */
  readonly name: string
  /**
   * The networks of trusted callers. Undefined: the trusted proxies, for requests that begin there. `proxies`: whatever
   * a trusted proxy forwards is trusted, regardless of its origin.
   */
  readonly from: ProxyTrust | 'proxies' | undefined
}

/** What is known of where a request comes from. */
export interface Sender {
  /** The client's address: the peer's, or what trusted proxies say. */
  readonly ip: string | undefined
  /** Whether the peer is a trusted proxy. */
  readonly isFromProxy: boolean
  /** Whether the client itself, and not only who passes its requests on, has an address that is trusted by name. */
  readonly isInside: boolean
}

/** Whether the sender's claim about the priority of a request is trusted. */
export function isBelieved({ from }: PriorityHeader, sender: Sender): boolean {
  if (from === undefined) return sender.isInside
  return from === 'proxies' ? sender.isFromProxy : sender.ip !== undefined && from.knows(sender.ip)
}

/** Reads the field. Who says it twice, or in other words, says nothing. */
export function readSaidPriority(field: string | undefined): Priority | undefined {
  return readPriority(field?.trim().toLowerCase())
}

/** Names the field, and the callers that are trusted to set it. */
export interface PriorityHeaderOptions {
  readonly name: string
  /**
   * Addresses and networks of callers that are believed, or `proxies`: what trusted proxies pass on, which then have to
   * remove the field from what strangers send. Default: the networks of `identity.trustedProxies`, for requests that
   * begin there.
   */
  readonly from?: readonly string[] | 'proxies'
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const FIELD: Form = {
  expected: 'the name of a field',
  is: (value) => typeof value === 'string' && FIELD_NAME.test(value),
}
const PRIORITY_HEADER_FORMS: FormsOf<PriorityHeaderOptions> = {
  name: FIELD,
  from: either(oneOf('proxies'), listOf(TEXT)),
}

/** Returns the form of the option `priorityHeader`. */
export const PRIORITY_HEADER: Form = /* @__PURE__ */ either(FIELD, fields(PRIORITY_HEADER_FORMS))

/** Reads the option. Rejects one with which no caller would ever be trusted. */
export function checkedPriorityHeader(
  given: PriorityHeaderOptions | string,
  trustedProxies: number | readonly string[] | undefined,
): PriorityHeader {
  const { name, from } = typeof given === 'string' ? { name: given } : given
  if (name === undefined) throw invalid('priorityHeader.name', 'the name is missing')
  const lower = name.toLowerCase()
  if (from === undefined) {
    if (!Array.isArray(trustedProxies)) throw invalid('priorityHeader', `requires from, or ${PROXIES} by address`)
    return { name: lower, from }
  }
  if (from === 'proxies') {
    if (trustedProxies === undefined || trustedProxies === 0)
      throw invalid('priorityHeader.from', `requires ${PROXIES}`)
    return { name: lower, from }
  }
  return { name: lower, from: networks(from) }
}

const PROXIES = 'identity.trustedProxies'

function networks(from: readonly string[]): ProxyTrust {
  try {
    return new ProxyTrust({ trustedProxies: from })
  } catch (error) {
    const detail = error instanceof SluiceError ? error.detail : got(from)
    throw new SluiceError('PROXY_TRUST_INVALID', 'priorityHeader.from', detail)
  }
}

function invalid(where: string, detail: string): SluiceError {
  return new SluiceError('GATE_OPTIONS_INVALID', where, detail)
}
