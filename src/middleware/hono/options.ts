import type { Context, Env, Input, MiddlewareHandler, Next } from 'hono'
import type { GetConnInfo } from 'hono/conninfo'
import type { Decision } from '../../core/combine.ts'
import type { Refusal } from '../../core/http/refusal.ts'
import type { Gate, GateOptions, Pass } from '../../http-door/gate.ts'

/** What a handler of refused requests receives. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

export interface ConnectionOptions {
  /** Returns the address of a connection: Hono's helper for the runtime. Default: what Node.js, Bun and Deno report. */
  readonly getConnInfo?: GetConnInfo
}

/** The options of the middleware. */
export interface PlainOptions<E extends Env = Env, P extends string = string, I extends Input = Input>
  extends GateOptions<Context<E, P, I>>,
    ConnectionOptions {
  /** Answers refused requests. The fields are set already. Default: sends the refusal. */
  readonly handler?: (c: Context<E, P, I>, next: Next, refused: Refused) => unknown
  /** The variable of the context that shows the remaining budget. Default: `rateLimit`. */
  readonly requestPropertyName?: string
}

/** What the context says of the budget. */
export interface RateLimitInfo {
  limit: number
  used: number
  remaining: number
  resetTime: Date | undefined
}

/** What the context says of the budget, and the decision behind it. */
export interface RateLimitVariable extends Readonly<RateLimitInfo> {
  readonly decision: Decision
  /** Takes what the request has cost in the end. It rejects with the options of hono-rate-limiter, which count hits. */
  settle(cost: number): Promise<Decision | undefined>
}

declare module 'hono' {
  interface ContextVariableMap {
    rateLimit: RateLimitVariable
  }
}

/** The middleware, and what can be asked of it. */
export type GateMiddleware<E extends Env = Env, P extends string = string, I extends Input = Input> = MiddlewareHandler<
  E,
  P,
  I
> &
  Pick<Gate<Context>, 'reset' | 'resetAll' | 'close'>
