import type { ServerResponse } from 'node:http'
import {
  type CanActivate,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  type OnApplicationShutdown,
  SetMetadata,
} from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { Request } from 'express'
import type { MaybePromise } from '../../engine/ports.ts'
import { AnswerWatch } from '../../http-door/answer-watch.ts'
import { budgetOf } from '../../http-door/budget.ts'
import { defaultNames } from '../../http-door/default-names.ts'
import { checkOwnOptions, Gate, type GateOptions, type Pass } from '../../http-door/gate.ts'
import { STORE_OPTIONS } from '../../http-door/gate-options.ts'
import { holdBack, sendRefusal } from '../../http-door/node-response.ts'
import { checkAddresses } from '../express/check-addresses.ts'
import { checkTrust } from '../fastify/check-trust.ts'
import { objectOf, RateLimitException } from './exception.ts'
import {
  type Exchange,
  exchangeOf,
  type NestRequest,
  nestReader,
  rawOf,
  setField,
  setFields,
  takeOver,
} from './http-exchange.ts'

/** One limit, `limits`, or `rules`. */
export type SluiceOptions<R extends NestRequest = NestRequest> = GateOptions<R>

/** Where a SluiceGuard gets its options from. */
export const SLUICE_OPTIONS = Symbol('SLUICE_OPTIONS')

const OWN = 'sluice:own'

/** Gives a handler, or all handlers of a controller, a separate limit instead of the app's. */
export function RateLimit<R extends NestRequest = NestRequest>(
  options: SluiceOptions<R>,
): ClassDecorator & MethodDecorator {
  // Errors in it are thrown here, not at the first request; the caller's key may come from the app's options.
  checkOwnOptions(options)
  return SetMetadata(OWN, options)
}

/** Leaves a handler, or all handlers of a controller, without a limit. */
export function SkipRateLimit(): ClassDecorator & MethodDecorator {
  return SetMetadata(OWN, false)
}

type AnyGate = Gate<NestRequest>

/** Guards handlers, on Express and on Fastify. SluiceModule has it guard all of them. */
export class SluiceGuard implements CanActivate, OnApplicationShutdown {
  readonly #options: SluiceOptions
  readonly #reflector: Reflector
  readonly #gate: AnyGate
  #isChecked = false
  /** The gates of handlers with separate options, by these. */
  readonly #own = new Map<SluiceOptions, AnyGate>()

  constructor(options: SluiceOptions, reflector: Reflector) {
    this.#options = options
    this.#reflector = reflector
    this.#gate = new Gate(options, nestReader)
  }

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const exchange = this.getRequestResponse(context)
    const gate = exchange === undefined ? undefined : this.#gateOf(context)
    if (exchange === undefined || gate === undefined) return true
    if (!this.#isChecked) this.#check(exchange.req)
    const pass = gate.enter(exchange.req)
    if (pass instanceof Promise) return pass.then((decided) => act(gate, decided, exchange))
    return act(gate, pass, exchange)
  }

  /** Gives a caller the whole budget of the app's limit again. */
  reset(...caller: Parameters<AnyGate['reset']>): Promise<void> {
    return this.#gate.reset(...caller)
  }

  /**
   * Gives all callers the whole budget of all limits again, for instance between tests. Only counters in memory can.
   */
  async resetAll(): Promise<void> {
    await Promise.all([this.#gate, ...this.#own.values()].map((gate) => gate.resetAll()))
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.#gate, ...this.#own.values()].map((gate) => gate.close()))
  }

  /** Finds what is to be limited. Without it, a call passes: override it for other transports. */
  protected getRequestResponse(context: ExecutionContext): Exchange | undefined {
    return exchangeOf(context)
  }

  /** Warns about addresses that anyone can forge: they are the platform's unless the options name trusted proxies. */
  #check(request: NestRequest): void {
    this.#isChecked = true
    if (this.#options.identity?.trustedProxies !== undefined) return
    const { server, app } = request as { readonly server?: object; readonly app?: object }
    if (server !== undefined) checkTrust(server)
    else if (app !== undefined) checkAddresses(request as unknown as Request)
  }

  #gateOf(context: ExecutionContext): AnyGate | undefined {
    const handler = context.getHandler()
    const own = this.#reflector.getAllAndOverride<SluiceOptions | false | undefined>(OWN, [handler, context.getClass()])
    if (own === undefined) return this.#gate
    if (own === false) return undefined
    const known = this.#own.get(own)
    if (known !== undefined) return known
    const isMethods = this.#reflector.get(OWN, handler) === own
    const place = isMethods ? `${context.getClass().name}.${handler.name}` : context.getClass().name
    const gate = new Gate({ ...inherited(this.#options), ...own, ...defaultNames(place, own) }, nestReader)
    this.#own.set(own, gate)
    return gate
  }
}

Injectable()(SluiceGuard)
Inject(SLUICE_OPTIONS)(SluiceGuard, undefined, 0)
Inject(Reflector)(SluiceGuard, undefined, 1)

/** Returns what a handler's limit has of the app's: everything but the limit itself. */
function inherited(options: SluiceOptions): object {
  return Object.fromEntries(INHERITED.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])))
}

const INHERITED = [...STORE_OPTIONS, 'identity', 'headers', 'onError'] as const

/** Does what a gate says. */
function act(gate: AnyGate, pass: Pass, { req, res }: Exchange): MaybePromise<boolean> {
  const fields = gate.fields(pass)
  const { retryAfterSeconds } = fields
  const raw = rawOf(res)
  setFields(res, fields, pass.decision)
  const named = req as { rateLimit?: unknown }
  named.rateLimit = budgetOf(pass, named.rateLimit)
  const watch = pass.isOpen ? new AnswerWatch(raw, gate.endingOf(pass)) : undefined
  if (pass.allowed) return pass.delayMs > 0 ? later(pass.delayMs, raw, watch) : true
  const refusal = gate.refusal(pass, req, retryAfterSeconds)
  const exception = new RateLimitException(pass, refusal)
  for (const [name, value] of refusal.headers) if (res.getHeader(name) === undefined) setField(res, name, value)
  setField(res, 'Cache-Control', 'no-store')
  if (objectOf(refusal) !== undefined) setField(res, 'Content-Type', refusal.contentType)
  // Nest would wrap a text of the app's own into an object.
  else sendRefusal(takeOver(res), refusal, req.method === 'HEAD')
  throw exception
}

/** What nginx logs for a client that left before there was an answer. It is never sent. */
const CLIENT_LEFT = 499

/** Continues after a delay, and fails when the client has left by then: no handler runs for a client that is gone. */
function later(ms: number, response: ServerResponse, watch: AnswerWatch | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    holdBack(
      response,
      ms,
      () => resolve(true),
      () => {
        watch?.workEnded()
        reject(new HttpException('the client has left', CLIENT_LEFT))
      },
    )
  })
}
