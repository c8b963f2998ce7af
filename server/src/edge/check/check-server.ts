import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Decision } from 'sluice/internal/core/combine'
import { SluiceError } from 'sluice/internal/core/errors'
import { decisionJson } from 'sluice/internal/core/http/decision-json'
import { FALLBACK_FIELD } from 'sluice/internal/core/http/fallback-field'
import { rateLimitFields } from 'sluice/internal/core/http/fields'
import { problem } from 'sluice/internal/core/http/problem'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { RuleResponse } from 'sluice/internal/core/rule'
import { GrpcStatus } from '../../grpc/index.ts'
import { applyShadowMode } from '../apply-shadow-mode.ts'
import { Callers } from '../callers/callers.ts'
import { requireTrust } from '../callers/requested-trust.ts'
import { Health } from '../health/health.ts'
import { LIVEZ, readyz } from '../health/probe-routes.ts'
import { Bodies } from '../http/body.ts'
import { DEFAULT_HTTP_BOUNDS, type HttpBounds } from '../http/bounds.ts'
import { type Route, routeServer } from '../http/routes.ts'
import { requireJson, requireOwnSite } from '../http/web-pages.ts'
import { write, writeJson, writeProblem } from '../http/write.ts'
import { LeaseTokens } from '../leases/lease-tokens.ts'
import { type LeaseRenewal, leaseTtlMs, renewLeases } from '../leases/renew-leases.ts'
import { ReservationTokens } from '../leases/reservation-tokens.ts'
import type { ReservingPort } from '../limiter-port.ts'
import { RlsCallError, RlsDoor } from '../rls/rls-door.ts'
import { parseRlsJson } from '../rls/rls-json.ts'
import { requestContext } from '../trace-context.ts'
import { parseCheck, parseCheckRequest, parseRelease, parseRenew } from './check-request.ts'

/** What a checkServer shares with the other doors of its process. */
export interface CheckServerOptions {
  /** Answers /json, and counts it together with the calls over gRPC. */
  readonly rls?: RlsDoor
  readonly leases?: LeaseTokens
  readonly reservations?: ReservationTokens
  readonly health?: Health
  /** Who may call, and who may refund and bring limits. Default: anyone may call, and no caller is trusted. */
  readonly callers?: Callers
  /** Answers GET /v1/usage, where customers see their own usage. Undefined: there is no such path. */
  readonly ownUsage?: Route | undefined
  /** Every request passes: a refusal is reported, but answered 200 (SHADOW_MODE). */
  readonly shadowMode?: boolean
  /** Whether to read the trace that a request is part of. Default: false. */
  readonly readsTraces?: boolean
  /** Called with internal errors. */
  readonly failed?: (error: unknown) => void
  readonly bounds?: Partial<HttpBounds>
}

/**
 * Returns the HTTP door: POST /v1/check, /v1/acquire, /v1/renew and /v1/release (200, or 429 or what the rule's
 * `response` says, the decision as JSON and as fields), POST /json (Envoy's rate limit service as JSON), and GET
 * /healthcheck, /livez and /readyz.
 */
export function checkServer(limiter: ReservingPort, options: CheckServerOptions = {}): Server {
  const { leases = new LeaseTokens(), health = new Health(), callers = new Callers(), shadowMode = false } = options
  const rls = options.rls ?? new RlsDoor(limiter, { shadowMode })
  const parts = { limiter, leases, reservations: options.reservations ?? new ReservationTokens(), shadowMode }
  const bodies = new Bodies(options.bounds?.maxBodyBytes ?? DEFAULT_HTTP_BOUNDS.maxBodyBytes)
  const post = (answer: (asked: Asked, response: ServerResponse) => Promise<void>, mayBeUntyped = false): Route => ({
    methods: ['POST'],
    answer: async (request: IncomingMessage, response) => {
      requireOwnSite(request)
      const isTrusted = callers.admitRequest(request)
      requireJson(request, mayBeUntyped)
      const body = await bodies.read(request)
      const context = options.readsTraces === true ? requestContext(request.headers) : undefined
      return answer({ body, isTrusted, context }, response)
    },
  })
  const routes: [string, Route][] = [
    ['/v1/check', post((asked, response) => check(parts, asked, response))],
    ['/v1/acquire', post((asked, response) => acquire(parts, asked, response))],
    ['/v1/renew', post((asked, response) => renew(parts, asked, response))],
    ['/v1/release', post((asked, response) => release(parts, asked, response))],
    // Clients of envoyproxy/ratelimit need no content type.
    ['/json', post((asked, response) => rateLimit(rls, asked, response), true)],
    ['/healthcheck', { methods: ['GET', 'HEAD'], answer: (_, response) => answerHealth(health, response) }],
    ['/livez', LIVEZ],
    ['/readyz', readyz(() => health)],
  ]
  if (options.ownUsage !== undefined) routes.push(['/v1/usage', options.ownUsage])
  return routeServer(new Map(routes), { failed: options.failed, bounds: options.bounds })
}

interface Parts {
  readonly limiter: ReservingPort
  readonly leases: LeaseTokens
  readonly reservations: ReservationTokens
  readonly shadowMode: boolean
}

/** The content of a request, whether its sender is trusted, and its trace if traces are read. */
interface Asked {
  readonly body: string
  readonly isTrusted: boolean
  readonly context: RequestContext | undefined
}

function requestOf({ body, isTrusted }: Asked): CheckRequest {
  const request = parseCheckRequest(body)
  requireTrust(request, isTrusted)
  return request
}

async function check(parts: Parts, asked: Asked, response: ServerResponse): Promise<void> {
  const parsed = parseCheck(asked.body)
  if (parsed.kind === 'settle') return settle(parts, parsed.token, parsed.cost, response)
  const { limiter, shadowMode } = parts
  const { request } = parsed
  requireTrust(request, asked.isTrusted)
  if (parsed.isReserved) return reserve(parts, request, asked.context, response)
  writeDecision(response, applyShadowMode(await limiter.check(request, asked.context), shadowMode))
}

/** Answers as check does, with the reservation to settle where something was charged. */
async function reserve(
  { limiter, reservations, shadowMode }: Parts,
  request: CheckRequest,
  context: RequestContext | undefined,
  response: ServerResponse,
): Promise<void> {
  const { decision, charged, holds } = await limiter.reserve(request, context)
  const isTaken = charged.length + holds.length > 0
  const reservation = isTaken ? { reservation: reservations.seal(request, charged, holds) } : {}
  writeDecision(response, applyShadowMode(decision, shadowMode), reservation)
}

/**
 * Takes what a request has cost in the end, from anyone who has its reservation: it is sealed, good once, and gives
 * back no more than was charged, so that it needs no trust.
 */
async function settle(
  { limiter, reservations }: Parts,
  token: string,
  cost: number,
  response: ServerResponse,
): Promise<void> {
  const { request, charged, id, holds } = reservations.open(token)
  const settled = await limiter.settleReserved(request, charged, id, cost, holds)
  response.setHeader('Cache-Control', 'no-store')
  writeJson(response, 200, 'application/json', { settled })
}

/** Answers as check does, with the lease to give back where places were taken. */
async function acquire({ limiter, leases, shadowMode }: Parts, asked: Asked, response: ServerResponse): Promise<void> {
  const { decision, permits } = await limiter.acquire(requestOf(asked), asked.context)
  const isHeld = permits !== undefined && permits.held.length > 0
  const lease = isHeld ? { lease: leases.seal(permits), leaseTtlMs: leaseTtlMs(permits) } : {}
  writeDecision(response, applyShadowMode(decision, shadowMode), lease)
}

/** Takes leases from anyone who has them, as release does: it keeps what those hold, and takes nothing. */
async function renew({ limiter, leases }: Parts, { body }: Asked, response: ServerResponse): Promise<void> {
  const renewals = await renewLeases(limiter, leases, parseRenew(body))
  response.setHeader('Cache-Control', 'no-store')
  writeJson(response, 200, 'application/json', { leases: renewals.map(renewalJson) })
}

function renewalJson(renewal: LeaseRenewal): object {
  if (!(renewal instanceof SluiceError)) return { renewed: true, leaseTtlMs: renewal.ttlMs }
  const { code, message } = renewal
  return { renewed: false, error: { code, message } }
}

/**
 * Takes a lease from anyone who has it. It is sealed, and gives back what that acquire took and nothing else, so that
 * it needs no trust.
 */
async function release({ limiter, leases }: Parts, { body }: Asked, response: ServerResponse): Promise<void> {
  const lease = leases.open(parseRelease(body))
  if (lease !== undefined) await limiter.release(lease)
  response.setHeader('Cache-Control', 'no-store')
  response.writeHead(204).end()
}

/**
 * Answers /json with the statuses of envoyproxy/ratelimit: 200, 429, 400, 500; 403 to untrusted callers; and for a
 * refusal by a rule with a `response`, the status of that.
 */
async function rateLimit(rls: RlsDoor, { body, isTrusted, context }: Asked, response: ServerResponse): Promise<void> {
  try {
    const request = parseRlsJson(body)
    requireTrust(request, isTrusted)
    const { status, json, fallback } = await rls.answerJson(request, context)
    if (fallback !== undefined) response.setHeader(FALLBACK_FIELD, fallback)
    response.setHeader('Cache-Control', 'no-store')
    writeJson(response, status, 'application/json', json)
  } catch (error) {
    if (!(error instanceof RlsCallError)) throw error
    const isOurs = error.status === GrpcStatus.INTERNAL
    const [status, title] = isOurs ? ([500, 'Internal Server Error'] as const) : ([400, 'Bad Request'] as const)
    writeProblem(response, problem(status, title, error.message))
  }
}

/** The response of a rule for refused callers, for the caller to pass on. */
function responseJson({ status, body, headers }: RuleResponse): object {
  return {
    status,
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(body !== undefined && { body }),
  }
}

function isContentType(name: string): boolean {
  return name.toLowerCase() === 'content-type'
}

/** Answers as envoyproxy/ratelimit does: 200 and OK, or 500 and nothing. */
function answerHealth(health: Health, response: ServerResponse): void {
  if (health.isServing) write(response, 200, 'text/plain', 'OK')
  else write(response, 500, 'text/plain', '')
}

function writeDecision(response: ServerResponse, decision: Decision, more: object = {}): void {
  for (const [name, value] of rateLimitFields(decision, Date.now(), Math.random)) response.setHeader(name, value)
  response.setHeader('Cache-Control', 'no-store')
  const refusal = decision.allowed ? undefined : decision.tightest?.rule.response
  for (const [name, value] of refusal?.headers ?? []) if (!isContentType(name)) response.setHeader(name, value)
  const body = {
    ...decisionJson(decision),
    ...(refusal !== undefined && { response: responseJson(refusal) }),
    ...more,
  }
  writeJson(response, decision.allowed ? 200 : (refusal?.status ?? 429), 'application/json', body)
}
