import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { problem } from 'sluice/internal/core/http/problem'
import type { Fields, GateRefusal } from './gate.ts'

type GatewayCode = Extract<ErrorCode, `GATEWAY_${string}`>

const ANSWERS: Readonly<Record<Exclude<GatewayCode, 'GATEWAY_OPTIONS_INVALID'>, readonly [number, string]>> = {
  GATEWAY_REQUEST_INVALID: [400, 'Bad Request'],
  GATEWAY_PATH_AMBIGUOUS: [400, 'Bad Request'],
  GATEWAY_ROUTE_MISSING: [404, 'Not Found'],
  GATEWAY_METHOD_NOT_ALLOWED: [405, 'Method Not Allowed'],
  GATEWAY_REQUEST_TIMEOUT: [408, 'Request Timeout'],
  GATEWAY_BODY_TOO_LARGE: [413, 'Content Too Large'],
  GATEWAY_EXPECTATION_UNKNOWN: [417, 'Expectation Failed'],
  GATEWAY_HEADERS_TOO_LARGE: [431, 'Request Header Fields Too Large'],
  GATEWAY_FAILED: [500, 'Internal Server Error'],
  GATEWAY_CODING_UNSUPPORTED: [501, 'Not Implemented'],
  GATEWAY_UPGRADE_UNSUPPORTED: [501, 'Not Implemented'],
  GATEWAY_UPSTREAM_FAILED: [502, 'Bad Gateway'],
  GATEWAY_UPSTREAM_INVALID: [502, 'Bad Gateway'],
  GATEWAY_OVERLOADED: [503, 'Service Unavailable'],
  GATEWAY_UPSTREAM_TIMEOUT: [504, 'Gateway Timeout'],
  GATEWAY_VERSION_UNSUPPORTED: [505, 'HTTP Version Not Supported'],
}

/** A code that a client may see. */
export type AnsweredCode = keyof typeof ANSWERS

/** What is wrong with a message: the code that it is answered with, and what was found. */
export interface Fault {
  readonly code: AnsweredCode
  readonly detail: string
  /** What the answer has in addition. */
  readonly fields?: Fields | undefined
}

export function fault(code: AnsweredCode, detail: string, fields?: Fields): Fault {
  return { code, detail, fields }
}

/** Shows clients and proxies that no limit was exceeded. */
export const SHED_BY_UPSTREAM: Fields = ['sluice-shed', 'upstream']

/** Returns a fault of a request that is no HTTP, or could be read in two ways. */
export function invalid(detail: string): Fault {
  return fault('GATEWAY_REQUEST_INVALID', detail)
}

/** Returns the gateway's own answer to a request that it could not serve. */
export function errorAnswer({ code, detail, fields }: Fault, extra: Fields = fields ?? []): GateRefusal {
  const [status, title] = ANSWERS[code]
  const { message } = new SluiceError(code, 'request', detail)
  const body = `${JSON.stringify(problem(status, title, message, code))}\n`
  const wait = status === 503 ? ['retry-after', '1'] : []
  return { kind: 'refused', status, headers: ['content-type', 'application/problem+json', ...wait, ...extra], body }
}
