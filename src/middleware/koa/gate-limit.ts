import type { Context, Middleware, Next } from 'koa'
import { checkOptions } from '../../core/check-options.ts'
import type { Refusal } from '../../core/http/refusal.ts'
import { AnswerWatch } from '../../http-door/answer-watch.ts'
import { budgetOf } from '../../http-door/budget.ts'
import { Gate, type Pass } from '../../http-door/gate.ts'
import { holdBack, writeFields } from '../../http-door/node-response.ts'
import { koaReader } from './client-address.ts'
import { PLAIN_FORMS } from './option-forms.ts'
import type { GateMiddleware, PlainOptions } from './options.ts'

/** Makes the middleware. */
export function gateLimit(given: PlainOptions): GateMiddleware {
  checkOptions(given, PLAIN_FORMS)
  const { handler, requestPropertyName, ...options } = given
  const gate = new Gate(options, koaReader)
  const limiter = new GateLimiter(gate, handler, requestPropertyName ?? 'rateLimit')
  const middleware: Middleware = (ctx, next) => {
    const pass = gate.enter(ctx)
    return pass instanceof Promise
      ? pass.then((decided) => limiter.act(decided, ctx, next))
      : limiter.act(pass, ctx, next)
  }
  return Object.assign(middleware, {
    reset: gate.reset.bind(gate),
    resetAll: gate.resetAll.bind(gate),
    close: gate.close.bind(gate),
  })
}

/** Does what a gate says. */
class GateLimiter {
  readonly #gate: Gate<Context>
  readonly #handler: PlainOptions['handler']
  readonly #property: string

  constructor(gate: Gate<Context>, handler: PlainOptions['handler'], property: string) {
    this.#gate = gate
    this.#handler = handler
    this.#property = property
  }

  act(pass: Pass, ctx: Context, next: Next): unknown {
    const fields = this.#gate.fields(pass)
    const { retryAfterSeconds } = fields
    writeFields(ctx.res, fields, pass.decision)
    ctx.state[this.#property] = budgetOf(pass, ctx.state[this.#property])
    if (pass.allowed) {
      const watch = pass.isOpen ? new AnswerWatch(ctx.res, this.#gate.endingOf(pass), true) : undefined
      const work = pass.delayMs > 0 ? delay(pass.delayMs, ctx, next) : next()
      return watch === undefined ? work : watched(work, ctx, watch)
    }
    const refusal = this.#gate.refusal(pass, ctx, retryAfterSeconds)
    return this.#handler === undefined ? refuse(refusal, ctx) : this.#handler(ctx, next, { pass, refusal })
  }
}

/** Reports when the handlers have ended: with their promises, unless they answer later. */
async function watched(work: Promise<unknown>, ctx: Context, watch: AnswerWatch): Promise<unknown> {
  try {
    return await work
  } finally {
    if (ctx.respond === false) watch.workGoesOn()
    else watch.workEnded()
  }
}

/** Leaves the answer to Koa, so that the middlewares outside of this one see it. */
function refuse({ status, contentType, body, headers }: Refusal, ctx: Context): void {
  for (const [name, value] of headers) if (!ctx.res.hasHeader(name)) ctx.set(name, value)
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Content-Type', contentType)
  ctx.status = status
  ctx.body = body
}

/** Continues after a delay, unless the client has left by then. */
function delay(ms: number, { res }: Context, next: Next): Promise<unknown> {
  return new Promise((resolve, reject) => {
    holdBack(
      res,
      ms,
      () => void next().then(resolve, reject),
      () => resolve(undefined),
    )
  })
}
