import type { FastifyReply, FastifyRequest } from 'fastify'
import { checkOptions } from '../../core/check-options.ts'
import { AnswerWatch } from '../../http-door/answer-watch.ts'
import { budgetOf } from '../../http-door/budget.ts'
import { mergeFields } from '../../http-door/field-merge.ts'
import { Gate, type Pass } from '../../http-door/gate.ts'
import { holdBack } from '../../http-door/node-response.ts'
import { headerText, type RequestReader } from '../../http-door/request-reader.ts'
import { fastifyRoute } from './fastify-route.ts'
import { PLAIN_FORMS } from './option-forms.ts'
import type { PlainOptions, Refused } from './options.ts'

export type Done = (error?: Error) => void

const reader: RequestReader<FastifyRequest> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  header: ({ headers }, name) => headerText(headers[name]),
  method: ({ method }) => method,
  url: ({ originalUrl }) => originalUrl,
  route: fastifyRoute,
}

const getField = (reply: FastifyReply, name: string): unknown => reply.getHeader(name)
const setField = (reply: FastifyReply, name: string, value: string): unknown => reply.header(LOWER[name] ?? name, value)

/** Fastify keeps fields by their names in lower case. Common names are converted once. */
const LOWER: Readonly<Record<string, string>> = Object.fromEntries(
  ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) => [
    name,
    name.toLowerCase(),
  ]),
)

/** Does for requests of Fastify what a gate says. */
export class GateLimiter {
  readonly #gate: Gate<FastifyRequest>
  readonly #handler: PlainOptions['handler']

  constructor(given: PlainOptions) {
    checkOptions(given, PLAIN_FORMS)
    const { handler, hook: _hook, ...options } = given
    const {
      prefix: _prefix,
      logLevel: _level,
      logSerializers: _serializers,
      ...own
    } = options as Record<string, unknown>
    this.#gate = new Gate<FastifyRequest>(own, reader)
    this.#handler = handler
  }

  /** Decides about a request, and calls `done` when it is admitted. */
  handle(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const pass = this.#gate.enter(request)
    if (pass instanceof Promise) pass.then((decided) => this.#act(decided, request, reply, done)).catch(done)
    else this.#act(pass, request, reply, done)
  }

  close(): Promise<void> {
    return this.#gate.close()
  }

  #act(pass: Pass, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const fields = this.#gate.fields(pass)
    const { retryAfterSeconds } = fields
    mergeFields(reply, fields, pass.decision, getField, setField)
    request.rateLimit = budgetOf(pass, request.rateLimit)
    const watch = pass.isOpen ? new AnswerWatch(reply.raw, this.#gate.endingOf(pass)) : undefined
    if (!pass.allowed) {
      this.#refuse({ pass, refusal: this.#gate.refusal(pass, request, retryAfterSeconds) }, request, reply, done)
    } else if (pass.delayMs > 0) holdBack(reply.raw, pass.delayMs, done, () => watch?.workEnded())
    else done()
  }

  #refuse(refused: Refused, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    if (this.#handler === undefined) {
      send(reply, refused)
      return
    }
    try {
      const answered = this.#handler(request, reply, refused)
      if (answered instanceof Promise) answered.catch(done)
    } catch (error) {
      done(error as Error)
    }
  }
}

function send(reply: FastifyReply, { refusal: { status, contentType, body, headers } }: Refused): void {
  for (const [name, value] of headers) if (!reply.hasHeader(name)) reply.header(name, value)
  // A text that has its type is sent as it is, whatever the app serializes with.
  reply.code(status).header('cache-control', 'no-store').header('content-type', contentType).send(body)
}
