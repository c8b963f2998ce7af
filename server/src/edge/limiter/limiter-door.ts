import type { Decision } from 'sluice/internal/core/combine'
import { SluiceError } from 'sluice/internal/core/errors'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { Held } from 'sluice/internal/engine/decider'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { GrpcServer, UnaryCall } from '../../grpc/index.ts'
import { GrpcStatus } from '../../grpc/index.ts'
import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import { applyShadowMode } from '../apply-shadow-mode.ts'
import { Callers } from '../callers/callers.ts'
import { requireTrust } from '../callers/requested-trust.ts'
import type { LeaseTokens } from '../leases/lease-tokens.ts'
import { leaseTtlMs, renewLeases } from '../leases/renew-leases.ts'
import type { LimiterPort } from '../limiter-port.ts'
import { callContext } from '../trace-context.ts'
import {
  checkRequest,
  decodeAcquireRequest,
  decodeCheckRequest,
  decodeReleaseRequest,
  decodeRenewRequest,
} from './limiter-request.ts'
import {
  type AnswerError,
  encodeAcquireResponse,
  encodeCheckResponse,
  encodeRenewResponse,
} from './limiter-response.ts'

/** What sluice.v1.Limiter shares with the other doors of its process. */
export interface LimiterDoorOptions {
  readonly leases: LeaseTokens
  /** Who may call, and who may refund and bring limits. Default: anyone may call, and no caller is trusted. */
  readonly callers?: Callers
  /** Every request passes: a refusal is reported in the verdicts only (SHADOW_MODE). Default: false. */
  readonly shadowMode?: boolean
  /** Whether to read the trace that a call is part of. Default: false. */
  readonly readsTraces?: boolean
  /** Called with internal errors. */
  readonly failed?: (error: unknown) => void
}

const NO_BYTES = new Uint8Array(0)

/** Has a gRPC server answer the calls of sluice.v1.Limiter (proto/sluice/v1/limiter.proto). */
export function registerLimiter(server: GrpcServer, limiter: LimiterPort, options: LimiterDoorOptions): void {
  const door = new LimiterDoor(limiter, options)
  server.unary('/sluice.v1.Limiter/Check', (call) => door.check(call))
  server.unary('/sluice.v1.Limiter/Acquire', (call) => door.acquire(call))
  server.unary('/sluice.v1.Limiter/Renew', (call) => door.renew(call))
  server.unary('/sluice.v1.Limiter/Release', (call) => door.release(call))
}

class LimiterDoor {
  readonly #limiter: LimiterPort
  readonly #options: LimiterDoorOptions
  readonly #callers: Callers
  readonly #reader = new ProtoReader()

  constructor(limiter: LimiterPort, options: LimiterDoorOptions) {
    this.#limiter = limiter
    this.#options = options
    this.#callers = options.callers ?? new Callers()
  }

  check(call: UnaryCall): void {
    this.#answer(call, (isTrusted) => {
      const requests = decodeCheckRequest(this.#reader, call.message)
      const context = this.#contextOf(call)
      const answers = requests.map((request) => this.#checkOne(request, isTrusted, context))
      if (answers.some((answer) => answer instanceof Promise)) return Promise.all(answers).then(encodeCheckResponse)
      return encodeCheckResponse(answers as (Decision | AnswerError)[])
    })
  }

  acquire(call: UnaryCall): void {
    this.#answer(call, (isTrusted) => {
      const request = decodeAcquireRequest(this.#reader, call.message)
      checkRequest(request)
      requireTrust(request, isTrusted)
      const held = this.#limiter.acquire(request, this.#contextOf(call))
      return held instanceof Promise ? held.then((all) => this.#heldBytes(all)) : this.#heldBytes(held)
    })
  }

  /** Needs no trust, as release does not: it keeps what leases hold, and takes nothing. */
  renew(call: UnaryCall): void {
    this.#answer(call, () => {
      const leases = decodeRenewRequest(this.#reader, call.message)
      return andThen(renewLeases(this.#limiter, this.#options.leases, leases), encodeRenewResponse)
    })
  }

  /** Needs no trust: a lease is sealed, and gives back what that acquire took and nothing else. */
  release(call: UnaryCall): void {
    this.#answer(call, () => {
      const lease = this.#options.leases.open(decodeReleaseRequest(this.#reader, call.message))
      const released = lease === undefined ? undefined : this.#limiter.release(lease)
      return released instanceof Promise ? released.then(() => NO_BYTES) : NO_BYTES
    })
  }

  /** Decides one request of several. What goes wrong with it is its own answer. */
  #checkOne(
    request: CheckRequest,
    isTrusted: boolean,
    context: RequestContext | undefined,
  ): MaybePromise<Decision | AnswerError> {
    try {
      checkRequest(request)
      requireTrust(request, isTrusted)
      const decision = this.#limiter.check(request, context)
      if (!(decision instanceof Promise)) return this.#applyShadowMode(decision)
      return decision.then(
        (decided) => this.#applyShadowMode(decided),
        (error: unknown) => this.#errorOf(error),
      )
    } catch (error) {
      return this.#errorOf(error)
    }
  }

  #contextOf(call: UnaryCall): RequestContext | undefined {
    return this.#options.readsTraces === true ? callContext(call.metadata) : undefined
  }

  #applyShadowMode(decision: Decision): Decision {
    return applyShadowMode(decision, this.#options.shadowMode === true)
  }

  #errorOf(error: unknown): AnswerError {
    if (error instanceof SluiceError) return { code: error.code, message: error.message }
    this.#options.failed?.(error)
    return { code: 'INTERNAL', message: 'the decision failed' }
  }

  #heldBytes({ decision, permits }: Held): Uint8Array {
    if (permits === undefined || permits.held.length === 0)
      return encodeAcquireResponse(this.#applyShadowMode(decision), '')
    const token = this.#options.leases.seal(permits)
    return encodeAcquireResponse(this.#applyShadowMode(decision), token, leaseTtlMs(permits))
  }

  /** Responds with what `work` returns or promises, or with the error it ends in. */
  #answer(call: UnaryCall, work: (isTrusted: boolean) => MaybePromise<Uint8Array>): void {
    try {
      const bytes = work(this.#callers.admitCall(call))
      if (!(bytes instanceof Promise)) respond(call, bytes)
      else bytes.then((all) => respond(call, all)).catch((error: unknown) => this.#fail(call, error))
    } catch (error) {
      this.#fail(call, error)
    }
  }

  #fail(call: UnaryCall, error: unknown): void {
    if (call.cancelled) return
    if (error instanceof MalformedMessage || error instanceof SluiceError) {
      call.fail(statusOf(error), error.message)
    } else call.fail(GrpcStatus.INTERNAL, this.#errorOf(error).message)
  }
}

function statusOf(error: MalformedMessage | SluiceError): GrpcStatus {
  if (!(error instanceof SluiceError)) return GrpcStatus.INVALID_ARGUMENT
  if (error.code === 'TOKEN_REQUIRED') return GrpcStatus.UNAUTHENTICATED
  return error.code === 'CALLER_NOT_TRUSTED' ? GrpcStatus.PERMISSION_DENIED : GrpcStatus.INVALID_ARGUMENT
}

function respond(call: UnaryCall, bytes: Uint8Array): void {
  if (!call.cancelled) call.respond(bytes)
}
