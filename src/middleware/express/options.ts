import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Refusal } from '../../core/http/refusal.ts'
import type { Gate, GateOptions, Pass } from '../../http-door/gate.ts'

/** What a handler of refused requests receives. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

/** The options of the middleware. */
export interface PlainOptions extends GateOptions<Request> {
  /** Answers refused requests. The fields are set already. Default: sends the refusal. */
  readonly handler?: (request: Request, response: Response, next: NextFunction, refused: Refused) => unknown
  /** The property of the request that shows the remaining budget. Default: `rateLimit`. */
  readonly requestPropertyName?: string
}

/** The middleware, and what can be asked of it. */
export type GateRequestHandler = RequestHandler & Pick<Gate<Request>, 'reset' | 'resetAll' | 'close'>
