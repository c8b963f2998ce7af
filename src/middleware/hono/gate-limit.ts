import type { Context, Next } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { checkOptions } from '../../core/check-options.ts'
import type { Refusal } from '../../core/http/refusal.ts'
import { AnswerWatch } from '../../http-door/answer-watch.ts'
import { budgetOf } from '../../http-door/budget.ts'
import type { Ending } from '../../http-door/ending.ts'
import { Gate, type Pass } from '../../http-door/gate.ts'
import { delayed } from '../../http-door/web-request.ts'
import { addFields, changeable, isFixed, refusalHeaders, watchBody } from '../../http-door/web-response.ts'
import { outgoingOf, readerOf } from './connection.ts'
import { PLAIN_FORMS } from './option-forms.ts'
import type { GateMiddleware, PlainOptions } from './options.ts'

/** Makes the middleware. */
export function gateLimit(options: PlainOptions): GateMiddleware {
  checkOptions(options, PLAIN_FORMS)
  const { handler, requestPropertyName = 'rateLimit', getConnInfo, ...rest } = options
  const gate = new Gate(rest, readerOf(getConnInfo))
  const limiter = new GateLimiter(gate, handler, requestPropertyName)
  const middleware = (c: Context, next: Next): Promise<Response | undefined> => {
    const pass = gate.enter(c)
    return pass instanceof Promise ? pass.then((decided) => limiter.act(decided, c, next)) : limiter.act(pass, c, next)
  }
  return Object.assign(middleware as GateMiddleware, {
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

  async act(pass: Pass, c: Context, next: Next): Promise<Response | undefined> {
    c.set(this.#property, budgetOf(pass, c.get(this.#property)))
    const watch = pass.isOpen ? new Watch(this.#gate.endingOf(pass), c) : undefined
    try {
      if (!pass.allowed) {
        const answer = await this.#refuse(pass, c, next)
        if (answer instanceof Response) c.res = answer
      } else if (pass.delayMs === 0 || (await delayed(pass.delayMs, c.req.raw.signal))) {
        await next()
      } else {
        watch?.failed()
        return new Response(null, { status: CLIENT_LEFT })
      }
    } catch (error) {
      watch?.failed()
      throw error
    }
    this.#addFields(pass, c)
    watch?.answered()
    return undefined
  }

  /** Must come last: what is set before is lost when a handler answers with a new Response. */
  #addFields(pass: Pass, c: Context): void {
    const fields = this.#gate.fields(pass)
    if (fields.length === 0 || !c.finalized || isFixed(c.res)) return
    replace(c, changeable(c.res))
    addFields(c, c.res.headers, fields, pass.decision)
  }

  async #refuse(pass: Pass, c: Context, next: Next): Promise<unknown> {
    const fields = this.#gate.fields(pass)
    const refusal = this.#gate.refusal(pass, c, fields.retryAfterSeconds)
    if (this.#handler === undefined) return refused(refusal, c, refusalHeaders(refusal, fields))
    for (let i = 0; i < fields.length; i++) c.header(fields.names[i], fields.values[i])
    return await this.#handler(c, next, { pass, refusal })
  }
}

/** What nginx logs for a client that left before there was an answer. It is never sent. */
const CLIENT_LEFT = 499

function refused({ status, body }: Refusal, c: Context, headers: readonly [string, string][]): Response {
  return c.body(body, status as ContentfulStatusCode, Object.fromEntries(headers))
}

/** Puts another response in the place of one, without taking over the fields of the one before. */
function replace(c: Context, response: Response): void {
  if (response === c.res) return
  c.res = undefined
  c.res = response
}

/**
 * Reports to the gate how a request ended: on Node.js from the connection, elsewhere when the body was read or
 * abandoned. Where the client leaves early, when the handlers have ended.
 */
class Watch {
  readonly #ending: Ending
  readonly #c: Context
  readonly #onNode: AnswerWatch | undefined
  #isAnswered = false

  constructor(ending: Ending, c: Context) {
    this.#ending = ending
    this.#c = c
    const outgoing = outgoingOf(c)
    if (outgoing !== undefined) this.#onNode = new AnswerWatch(outgoing, ending, true)
    else if (this.#signal.aborted) this.#leave()
    else this.#signal.addEventListener('abort', () => this.#leave(), { once: true })
  }

  answered(): void {
    const { res } = this.#c
    const { status } = res
    this.#isAnswered = true
    if (this.#onNode !== undefined) this.#onNode.workEnded()
    else if (this.#signal.aborted) this.#ending.ended(undefined)
    else if (isFixed(res)) this.#ending.ended(status)
    else
      replace(
        this.#c,
        watchBody(res, (isWhole) => this.#ending.ended(isWhole ? status : undefined)),
      )
  }

  failed(): void {
    if (this.#onNode !== undefined) this.#onNode.workEnded()
    else this.#ending.ended(this.#signal.aborted ? undefined : 500)
  }

  get #signal(): AbortSignal {
    return this.#c.req.raw.signal
  }

  #leave(): void {
    if (this.#isAnswered) this.#ending.ended(undefined)
    else this.#ending.left()
  }
}
