import type { Decision, RuleVerdict } from '../combine.ts'
import { formatDuration } from '../duration.ts'
import { holdsPermits } from '../limit.ts'
import type { Rule, RuleResponse } from '../rules/rule-set.ts'
import { preferredForm, prefersProblem } from './accept.ts'
import type { Field } from './fields.ts'
import { plainName } from './structured-text.ts'

/** What a refusal says about the request. All of it is optional. */
export interface RefusedRequest {
  readonly method?: string | undefined
  /** The path, with or without a query: that is never repeated. */
  readonly path?: string | undefined
  /** The Accept field. */
  readonly accept?: string | undefined
  /** `any`: HTML and plain text too, to clients that like them best. Default: JSON and problem+json alone. */
  readonly forms?: 'any' | undefined
  /** Whose budget it was, as it may be shown: `ip:203.0.113.7`. Default: the rule's name. */
  readonly scope?: string | undefined
}

/** The answer to a request that was refused, apart from the rate limit fields. */
export interface Refusal {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** What the rule's author added. */
  readonly headers: readonly Field[]
}

const NO_FIELDS: readonly Field[] = Object.freeze([])
const MAX_PATH_CHARACTERS = 256

/**
 * Renders a refused decision: the rule's `response` if it has one; application/problem+json (RFC 9457) for a client
 * that asks for it; otherwise the error as JSON. A refusal because the store is unavailable (`on_store_failure:
 * closed`), or that no rule caused, is a 503: the caller did nothing wrong. `retryAfter` is the value of Retry-After.
 */
export function refusalOf(decision: Decision, retryAfter: number | undefined, request: RefusedRequest = {}): Refusal {
  const { tightest } = decision
  const response = tightest?.rule.response
  const isShed = tightest?.verdict.shed !== undefined
  const ledger = tightest?.verdict.ledger
  const isUndecided = tightest === undefined || tightest.verdict.fallback === 'closed'
  const isAway = isUndecided || isShed || ledger?.code === 'LEDGER_UNAVAILABLE'
  const status = response?.status ?? (isAway ? 503 : 429)
  const headers = response?.headers ?? NO_FIELDS
  if (response?.body !== undefined) return { status, ...customBody(response, response.body), headers }
  const message = messageOf(tightest, retryAfter, request)
  const form = request.forms === 'any' ? preferredForm(request.accept) : undefined
  if (form === 'html')
    return { status, contentType: 'text/html; charset=utf-8', body: pageOf(status, message), headers }
  if (form === 'text') return { status, contentType: 'text/plain; charset=utf-8', body: `${message}\n`, headers }
  if (form === undefined ? prefersProblem(request.accept) : form === 'problem') {
    const problem = { ...(isAway ? REDUCED_CAPACITY : QUOTA_EXCEEDED), status, detail: message }
    const more = ledger
      ? { code: ledger.code, ledger: ledger.json }
      : isShed
        ? { code: LOAD_SHED }
        : { 'violated-policies': violated(decision) }
    const body = JSON.stringify({ ...problem, ...more })
    return { status, contentType: 'application/problem+json', body, headers }
  }
  const error = {
    code: ledger?.code ?? (isShed ? LOAD_SHED : isAway ? 'UNAVAILABLE' : 'RATE_LIMITED'),
    message,
    ...(retryAfter !== undefined && { retry_after: retryAfter }),
    ...(ledger && { ledger: ledger.json }),
    ...(tightest && !isShed && !ledger && { limit: tightest.verdict.limit, ...windowOf(tightest.rule) }),
    scope: isShed ? undefined : (request.scope ?? (tightest && plainName(tightest.rule.name))),
  }
  return { status, contentType: 'application/json', body: JSON.stringify({ error }), headers }
}

/** The reason for a request that was shed: the client did nothing wrong and may retry. */
export const LOAD_SHED = 'LOAD_SHED'

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'
const QUOTA_EXCEEDED = {
  type: `${PROBLEM_TYPES}quota-exceeded`,
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
}
const REDUCED_CAPACITY = {
  type: `${PROBLEM_TYPES}temporary-reduced-capacity`,
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
}

/** A refusal that no rule gave: what is full, for instance. */
export interface Stated {
  readonly status: number
  readonly code: string
  readonly message: string
  /** In seconds. */
  readonly retryAfter?: number | undefined
}

/** Renders a refusal that no rule gave, in the form that a client likes best. */
export function statedRefusal({ status, code, message, retryAfter }: Stated, accept: string | undefined): Refusal {
  const form = preferredForm(accept)
  const [headers, wait] = [NO_FIELDS, retryAfter !== undefined && { retry_after: retryAfter }]
  if (form === 'html')
    return { status, contentType: 'text/html; charset=utf-8', body: pageOf(status, message), headers }
  if (form === 'text') return { status, contentType: 'text/plain; charset=utf-8', body: `${message}\n`, headers }
  if (form === 'json') {
    const body = JSON.stringify({ error: { code, message, ...wait } })
    return { status, contentType: 'application/json', body, headers }
  }
  const problem = { ...(status === 503 ? REDUCED_CAPACITY : QUOTA_EXCEEDED), status, detail: message }
  return { status, contentType: 'application/problem+json', body: JSON.stringify(problem), headers }
}

const TITLES: ReadonlyMap<number, string> = new Map([
  [402, 'Payment Required'],
  [403, 'Forbidden'],
  [429, 'Too Many Requests'],
  [503, 'Service Unavailable'],
])

/** Returns a refusal for people. What a client sent is in the message, so it is escaped. */
function pageOf(status: number, message: string): string {
  const title = `${status} ${TITLES.get(status) ?? 'Refused'}`
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1><p>${escapeHtml(message)}</p></body></html>\n`
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES.get(character) as string)
}

/** Takes the type from the rule's headers, or from the looks of the body. */
function customBody({ headers }: RuleResponse, body: string): Pick<Refusal, 'contentType' | 'body'> {
  const given = headers.find(([name]) => name.toLowerCase() === 'content-type')
  if (given !== undefined) return { contentType: given[1], body }
  const first = body.trimStart()[0]
  return { contentType: first === '{' || first === '[' ? 'application/json' : 'text/plain; charset=utf-8', body }
}

function messageOf(tightest: RuleVerdict | undefined, retryAfter: number | undefined, request: RefusedRequest): string {
  const what = targetOf(request)
  const wait = retryAfter === undefined ? '' : ` Retry after ${retryAfter} second${retryAfter === 1 ? '' : 's'}.`
  const verdict = tightest?.verdict
  if (verdict === undefined || verdict.fallback === 'closed') return `The rate limiter is not available${what}.${wait}`
  if (verdict.ledger !== undefined) return `No one pays for this request${what}: ${verdict.ledger.reason}.`
  if (verdict.shed !== undefined) return `The service is overloaded, and does not serve this request${what}.${wait}`
  if (verdict.block !== undefined) return `Requests are blocked${what}.${wait}`
  if (verdict.kind === 'impossible') {
    if (verdict.maxCost === 0) return `Requests are blocked${what}.`
    return `A cost above ${verdict.maxCost} is never admitted${what}, however long one waits.`
  }
  if (tightest !== undefined && holdsPermits(tightest.rule.limit)) return `Too many concurrent requests${what}.${wait}`
  return `Rate limit exceeded${what}.${wait}`
}

function targetOf({ method, path }: RefusedRequest): string {
  if (method === undefined || path === undefined) return ''
  const end = path.indexOf('?')
  const bare = end < 0 ? path : path.slice(0, end)
  return ` for ${method} ${bare.length > MAX_PATH_CHARACTERS ? `${bare.slice(0, MAX_PATH_CHARACTERS)}…` : bare}`
}

function windowOf({ limit }: Rule): { readonly window?: string } {
  if (holdsPermits(limit)) return {}
  const { calendar, windowMs } = limit
  return { window: calendar ? `1 ${calendar.unit}` : formatDuration(windowMs) }
}

/** Names the policies that refuse, as RateLimit-Policy does. */
function violated({ verdicts }: Decision): readonly string[] {
  const refusing = verdicts.filter(({ rule, verdict }) => !rule.shadow && !rule.unlimited && !verdict.allowed)
  return [...new Set(refusing.map(({ rule }) => plainName(rule.name)))]
}
