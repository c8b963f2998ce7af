import type { ServerResponse } from 'node:http'
import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { type Problem, problem } from 'sluice/internal/core/http/problem'

/** Answers with a text, unless an answer has already begun. */
export function write(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.headersSent) return
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}

export function writeJson(response: ServerResponse, status: number, type: string, body: object): void {
  write(response, status, type, `${JSON.stringify(body)}\n`)
}

export function writeProblem(response: ServerResponse, body: Problem): void {
  writeJson(response, body.status, 'application/problem+json', body)
}

/**
 * Answers with what is wrong with the request. For an internal error the client learns nothing more, and `failed` gets
 * all of it.
 */
export function writeError(response: ServerResponse, error: unknown, failed?: (error: unknown) => void): void {
  if (!(error instanceof SluiceError)) {
    failed?.(error)
    writeProblem(response, problem(500, 'Internal Server Error', 'the decision failed'))
    return
  }
  const { status, title, headers = {} } = ANSWERS[error.code] ?? BAD_REQUEST
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  writeProblem(response, problem(status, title, error.message, error.code))
}

interface ErrorAnswer {
  readonly status: number
  readonly title: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns what an error of the registry is answered with. */
export function statusOf(code: ErrorCode): number {
  return (ANSWERS[code] ?? BAD_REQUEST).status
}

const BAD_REQUEST: ErrorAnswer = { status: 400, title: 'Bad Request' }

/** The errors that are not answered 400. */
const ANSWERS: Readonly<Partial<Record<ErrorCode, ErrorAnswer>>> = {
  TOKEN_REQUIRED: { status: 401, title: 'Unauthorized', headers: { 'WWW-Authenticate': 'Bearer realm="sluice"' } },
  ADMIN_TOKEN_REQUIRED: {
    status: 401,
    title: 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer realm="sluice-admin"' },
  },
  API_KEY_REQUIRED: { status: 401, title: 'Unauthorized', headers: { 'WWW-Authenticate': 'Bearer realm="sluice"' } },
  ROLE_INSUFFICIENT: { status: 403, title: 'Forbidden' },
  ADMIN_PATH_UNKNOWN: { status: 404, title: 'Not Found' },
  RECORD_UNKNOWN: { status: 404, title: 'Not Found' },
  ADMIN_METHOD_INVALID: { status: 405, title: 'Method Not Allowed' },
  LEDGER_SHORT: { status: 402, title: 'Payment Required' },
  LEDGER_HOLD_UNKNOWN: { status: 404, title: 'Not Found' },
  LEDGER_HOLD_RESOLVED: { status: 409, title: 'Conflict' },
  LEDGER_PERIOD_OPEN: { status: 409, title: 'Conflict' },
  LEDGER_ID_REUSED: { status: 422, title: 'Unprocessable Content' },
  LEDGER_EVENT_IN_FUTURE: { status: 422, title: 'Unprocessable Content' },
  LEDGER_AMOUNT_TOO_LARGE: { status: 422, title: 'Unprocessable Content' },
  LEDGER_JOURNAL_FAILED: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '1' } },
  LEDGER_BUSY: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '1' } },
  RECORD_EXISTS: { status: 409, title: 'Conflict' },
  OVERRIDE_SCOPE_NEEDED: { status: 409, title: 'Conflict' },
  OVERRIDE_SCOPE_UNKNOWN: { status: 422, title: 'Unprocessable Content' },
  OVERRIDE_LOWERS: { status: 409, title: 'Conflict' },
  WEBHOOKS_TOO_MANY: { status: 409, title: 'Conflict' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, title: 'Conflict', headers: { 'Retry-After': '1' } },
  VERSION_STALE: { status: 412, title: 'Precondition Failed' },
  ADMIN_BODY_TOO_LARGE: { status: 413, title: 'Content Too Large', headers: { Connection: 'close' } },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'Unprocessable Content' },
  VERSION_REQUIRED: { status: 428, title: 'Precondition Required' },
  ADMIN_RATE_LIMITED: { status: 429, title: 'Too Many Requests' },
  IDEMPOTENCY_KEYS_TOO_MANY: { status: 429, title: 'Too Many Requests', headers: { 'Retry-After': '3600' } },
  ADMIN_FAILED: { status: 500, title: 'Internal Server Error' },
  QUOTAS_UNAVAILABLE: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '5' } },
  DATABASE_UNAVAILABLE: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '5' } },
  DATABASE_FAILED: { status: 500, title: 'Internal Server Error' },
  DATABASE_LOCKED: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '5' } },
  REFERENCE_BROKEN: { status: 409, title: 'Conflict' },
  RECORD_INVALID: { status: 422, title: 'Unprocessable Content' },
  REDIS_UNREACHABLE: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '5' } },
  STREAMS_TOO_MANY: { status: 503, title: 'Service Unavailable', headers: { 'Retry-After': '5' } },
  CALLER_NOT_TRUSTED: { status: 403, title: 'Forbidden' },
  CROSS_SITE_REQUEST: { status: 403, title: 'Forbidden' },
  // The rest of the body is not read, so that the connection cannot be used again.
  BODY_TOO_LARGE: { status: 413, title: 'Content Too Large', headers: { Connection: 'close' } },
  CONTENT_TYPE_INVALID: {
    status: 415,
    title: 'Unsupported Media Type',
    headers: { 'Accept-Post': 'application/json' },
  },
  HOST_UNKNOWN: { status: 421, title: 'Misdirected Request' },
  BODIES_TOO_MANY: {
    status: 503,
    title: 'Service Unavailable',
    headers: { Connection: 'close', 'Retry-After': '1' },
  },
}
