import type { Decision } from 'sluice/internal/core/combine'
import { SluiceError } from 'sluice/internal/core/errors'
import { fallbackValue } from 'sluice/internal/core/http/fallback-field'
import type { RequestContext } from 'sluice/internal/core/request'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { GrpcServer, UnaryCall } from '../../grpc/index.ts'
import { GrpcStatus } from '../../grpc/index.ts'
import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import type { Callers } from '../callers/callers.ts'
import type { Checker } from '../limiter-port.ts'
import { callContext } from '../trace-context.ts'
import { OVER_LIMIT, RlsAnswer } from './rls-answer.ts'
import { RlsCalls } from './rls-calls.ts'
import { rlsAnswerJson } from './rls-json.ts'
import type { RlsOptions } from './rls-options.ts'
import { decodeRlsRequest, type RlsRequest } from './rls-request.ts'
import { encodeRlsAnswer, extraFields, mostBytes } from './rls-response.ts'
import { RuleForms } from './rule-forms.ts'

/** Events of an RlsDoor: internal errors. */
export interface RlsEvents {
  failed?(error: unknown): void
}

/** The operator's options, and who may call over gRPC: anyone by default. */
export interface RlsDoorOptions extends RlsOptions, RlsEvents {
  readonly callers?: Callers
  /** Whether to read the trace that a call is part of. Default: false. */
  readonly readsTraces?: boolean
}

/** A Refusal is why a call is not answered: a gRPC status, and words. What was not evaluated is never OK. */
export class RlsCallError extends Error {
  readonly status: GrpcStatus

  constructor(status: GrpcStatus, message: string) {
    super(message)
    this.status = status
  }
}

/** A RateLimitResponse as JSON, and the HTTP status that goes with it. */
export interface JsonAnswer {
  readonly status: number
  readonly json: object
  /** What Sluice-Fallback says. */
  readonly fallback: string | undefined
}

/**
 * Answers the calls of Envoy's rate limit service: synchronously if the limiter is synchronous, otherwise as soon as it
 * has decided.
 */
export class RlsDoor {
  readonly calls = new RlsCalls()
  readonly #limiter: Checker
  readonly #options: RlsDoorOptions
  readonly #asksForToken: boolean
  readonly #readsTraces: boolean
  readonly #reader = new ProtoReader()
  readonly #answer: RlsAnswer

  constructor(limiter: Checker, options: RlsDoorOptions = {}) {
    this.#limiter = limiter
    this.#options = options
    this.#asksForToken = options.callers?.asksForToken === true
    this.#readsTraces = options.readsTraces === true
    this.#answer = new RlsAnswer(new RuleForms(options))
  }

  /** Serves the call of that name. */
  shouldRateLimit(call: UnaryCall): void {
    try {
      // Envoy sends what its configuration contains: every caller that may call is trusted here.
      if (this.#asksForToken) this.#options.callers?.admitCall(call)
      const request = this.#decode(call)
      const decision = this.#limiter.check(request, this.#readsTraces ? callContext(call.metadata) : undefined)
      if (!(decision instanceof Promise)) this.#respond(call, request, decision)
      else {
        decision
          .then((decided) => this.#respond(call, request, decided))
          .catch((error: unknown) => this.#fail(call, error))
      }
    } catch (error) {
      this.#fail(call, error)
    }
  }

  /** Like shouldRateLimit for a request that came as JSON. It throws, or rejects with, an RlsCallError. */
  answerJson(request: RlsRequest, context?: RequestContext): MaybePromise<JsonAnswer> {
    try {
      checkRequest(request)
      const decision = this.#limiter.check(request, context)
      if (!(decision instanceof Promise)) return this.#jsonOf(request, decision)
      return decision.then(
        (decided) => this.#jsonOf(request, decided),
        (error: unknown) => Promise.reject(this.#refusal(error)),
      )
    } catch (error) {
      throw this.#refusal(error)
    }
  }

  #jsonOf(request: RlsRequest, decision: Decision): JsonAnswer {
    const answer = this.#fold(request, decision)
    const status = answer.overallCode === OVER_LIMIT ? (answer.refusedBy?.status ?? 429) : 200
    return { status, json: rlsAnswerJson(request, answer, this.#options), fallback: fallbackValue(decision.verdicts) }
  }

  #decode({ messageBuffer, messageStart, messageEnd }: UnaryCall): RlsRequest {
    const request = decodeRlsRequest(this.#reader, messageBuffer, messageStart, messageEnd)
    checkRequest(request)
    return request
  }

  #fold(request: RlsRequest, decision: Decision): RlsAnswer {
    const { calls } = this
    const answer = this.#answer
    answer.fold(request, decision, this.#options)
    calls.requests++
    if (answer.overallCode === OVER_LIMIT) calls.overLimit++
    if (answer.isShadowed) calls.shadowed++
    return answer
  }

  #respond(call: UnaryCall, request: RlsRequest, decision: Decision): void {
    if (call.cancelled) return
    const answer = this.#fold(request, decision)
    const extra = extraFields(request, answer, this.#options)
    call.respondInto(mostBytes(answer) + extra.length, (bytes, start) => encodeRlsAnswer(answer, extra, bytes, start))
  }

  #fail(call: UnaryCall, error: unknown): void {
    const { status, message } = this.#refusal(error)
    if (!call.cancelled) call.fail(status, message)
  }

  #refusal(error: unknown): RlsCallError {
    if (error instanceof RlsCallError) {
      this.calls.serviceErrors++
      return error
    }
    if (error instanceof MalformedMessage || error instanceof SluiceError) {
      this.calls.serviceErrors++
      const isStranger = error instanceof SluiceError && error.code === 'TOKEN_REQUIRED'
      return new RlsCallError(isStranger ? GrpcStatus.UNAUTHENTICATED : GrpcStatus.INVALID_ARGUMENT, error.message)
    }
    this.calls.internalErrors++
    this.#options.failed?.(error)
    return new RlsCallError(GrpcStatus.INTERNAL, 'the decision failed')
  }
}

const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** Has a gRPC server answer the calls of Envoy's rate limit service. */
export function registerRls(server: GrpcServer, limiter: Checker, options: RlsDoorOptions = {}): RlsDoor {
  const door = new RlsDoor(limiter, options)
  server.unary(SHOULD_RATE_LIMIT, (call) => door.shouldRateLimit(call))
  return door
}

/** Refuses what envoyproxy/ratelimit refuses, in its words and with its status. */
function checkRequest({ domain, descriptors }: RlsRequest): void {
  if (domain === '') throw new RlsCallError(GrpcStatus.UNKNOWN, 'rate limit domain must not be empty')
  if (descriptors.length === 0)
    throw new RlsCallError(GrpcStatus.UNKNOWN, 'rate limit descriptor list must not be empty')
}
