import type { Context, Middleware, Next } from 'koa'
import type { Refusal } from '../../core/http/refusal.ts'
import type { Gate, GateOptions, Pass } from '../../http-door/gate.ts'

/** What a handler of refused requests receives. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

/** The options of the middleware. */
export interface PlainOptions extends GateOptions<Context> {
  /** Answers refused requests. The fields are set already. Default: sends the refusal. */
  readonly handler?: (ctx: Context, next: Next, refused: Refused) => unknown
  /** The property of `ctx.state` that shows the remaining budget. Default: `rateLimit`. */
  readonly requestPropertyName?: string
}

/** The middleware, and what can be asked of it. */
export type GateMiddleware = Middleware & Pick<Gate<Context>, 'reset' | 'resetAll' | 'close'>
