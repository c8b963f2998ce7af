import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { checkOptions } from '../../core/check-options.ts'
import type { Refusal } from '../../core/http/refusal.ts'
import { AnswerWatch } from '../../http-door/answer-watch.ts'
import { budgetOf } from '../../http-door/budget.ts'
import { Gate, type Pass } from '../../http-door/gate.ts'
import { holdBack, sendRefusal, writeFields } from '../../http-door/node-response.ts'
import { headerText, type RequestReader } from '../../http-door/request-reader.ts'
import { checkAddresses } from './check-addresses.ts'
import { expressRoute } from './express-route.ts'
import { PLAIN_FORMS } from './option-forms.ts'
import type { GateRequestHandler, PlainOptions } from './options.ts'

const reader: RequestReader<Request> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  header: ({ headers }, name) => headerText(headers[name]),
  method: ({ method }) => method,
  url: ({ originalUrl }) => originalUrl,
  route: expressRoute,
}

/** Makes the middleware. */
export function gateLimit(given: PlainOptions): GateRequestHandler {
  checkOptions(given, PLAIN_FORMS)
  const { handler, requestPropertyName, ...options } = given
  const gate = new Gate(options, reader)
  const limiter = new GateLimiter(gate, handler, requestPropertyName ?? 'rateLimit')
  // Addresses are Express's unless the options name trusted proxies; the first request reports what is wrong with them.
  let isChecked = options.identity?.trustedProxies !== undefined
  const middleware: RequestHandler = (request, response, next) => {
    if (!isChecked) {
      isChecked = true
      checkAddresses(request)
    }
    const pass = gate.enter(request)
    if (pass instanceof Promise) pass.then((decided) => limiter.act(decided, request, response, next)).catch(next)
    else limiter.act(pass, request, response, next)
  }
  return Object.assign(middleware, {
    reset: gate.reset.bind(gate),
    resetAll: gate.resetAll.bind(gate),
    close: gate.close.bind(gate),
  })
}

/** Does what a gate says. */
class GateLimiter {
  readonly #gate: Gate<Request>
  readonly #handler: PlainOptions['handler']
  readonly #property: string

  constructor(gate: Gate<Request>, handler: PlainOptions['handler'], property: string) {
    this.#gate = gate
    this.#handler = handler
    this.#property = property
  }

  act(pass: Pass, request: Request, response: Response, next: NextFunction): void {
    const fields = this.#gate.fields(pass)
    const { retryAfterSeconds } = fields
    writeFields(response, fields, pass.decision)
    const named = request as unknown as Record<string, unknown>
    named[this.#property] = budgetOf(pass, named[this.#property])
    const watch = pass.isOpen ? new AnswerWatch(response, this.#gate.endingOf(pass)) : undefined
    if (!pass.allowed) this.#refuse(pass, this.#gate.refusal(pass, request, retryAfterSeconds), request, response, next)
    else if (pass.delayMs > 0) holdBack(response, pass.delayMs, next, () => watch?.workEnded())
    else next()
  }

  #refuse(pass: Pass, refusal: Refusal, ...[request, response, next]: Parameters<RequestHandler>): void {
    if (this.#handler === undefined) {
      sendRefusal(response, refusal, request.method === 'HEAD')
      return
    }
    try {
      const done = this.#handler(request, response, next, { pass, refusal })
      if (done instanceof Promise) done.catch(next)
    } catch (error) {
      next(error)
    }
  }
}
