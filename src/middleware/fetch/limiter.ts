import { checkOptions } from '../../core/check-options.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { type Budget, NO_LIMIT } from '../../http-door/budget.ts'
import type { Caller } from '../../http-door/caller.ts'
import { Gate, type Pass } from '../../http-door/gate.ts'
import { LOOSE, targetPath } from '../../http-door/request-path.ts'
import type { RequestReader } from '../../http-door/request-reader.ts'
import { delayed, pathOf, runtimeAddress } from '../../http-door/web-request.ts'
import { refusalHeaders } from '../../http-door/web-response.ts'
import { Checked } from './checked.ts'
import { FETCH_FORMS, type FetchHandler, type FetchOptions } from './options.ts'

/** What nginx logs for a client that left before there was an answer. It is never sent. */
const CLIENT_LEFT = 499
/** RFC 7239's identifier for an unknown address: counted proxies may still stand before it. */
const UNKNOWN_PEER = 'unknown'

/** The remaining budgets of requests that handlers work on. */
const budgets = new WeakMap<Request, Budget>()

/**
 * Returns what a handler that `protect` guards may know of its request's budget, and settles its cost: `await
 * rateLimitOf(request).settle(tokens)`.
 */
export function rateLimitOf(request: Request): Budget {
  return budgets.get(request) ?? NO_LIMIT
}

/** Limits the requests of fetch handlers. */
export class FetchLimiter {
  readonly #gate: Gate<Request>
  readonly #handler: FetchOptions['handler']
  readonly #address: NonNullable<FetchOptions['address']>
  /** What runtimes passed in addition to requests. */
  readonly #extras = new WeakMap<Request, readonly unknown[]>()

  constructor(given: FetchOptions) {
    checkOptions(given, FETCH_FORMS)
    const { handler, address, ...options } = given
    this.#handler = handler
    this.#address = address ?? runtimeAddress
    this.#gate = new Gate(options, this.#reader())
  }

  /**
   * Decides about a request. `extra` is what the runtime passed to the handler in addition, for the address. Rejects
   * only where the app's `handler` does.
   */
  async check(request: Request, ...extra: readonly unknown[]): Promise<Checked> {
    if (extra.length > 0) this.#extras.set(request, extra)
    const pass = await this.#gate.enter(request)
    return new Checked(this.#gate, pass, request, pass.allowed ? undefined : await this.#refuse(pass, request))
  }

  /** Returns a handler that answers what is refused, and leaves the rest to the one given. */
  protect<R extends Request, A extends readonly unknown[], T>(
    handler: FetchHandler<R, A, T>,
  ): (request: R, ...extra: A) => Promise<T | Response> {
    return async (request, ...extra) => {
      const checked = await this.check(request, ...extra)
      if (checked.response !== undefined) return checked.response
      if (checked.delayMs > 0 && !(await delayed(checked.delayMs, request.signal))) {
        checked.end()
        return new Response(null, { status: CLIENT_LEFT })
      }
      if (checked.budget !== undefined) budgets.set(request, checked.budget)
      return await this.#answered(checked, request, () => handler(request, ...extra))
    }
  }

  /** Gives a caller the whole budget again. */
  reset(caller: Partial<Caller>): Promise<void> {
    return this.#gate.reset(caller)
  }

  /** Gives all callers the whole budget again, for instance between tests. Only counters in memory can. */
  resetAll(): Promise<void> {
    return this.#gate.resetAll()
  }

  /** Closes the store and stops watching rules. */
  close(): Promise<void> {
    return this.#gate.close()
  }

  async #answered<T>(checked: Checked, request: Request, answer: () => MaybePromise<T>): Promise<T | Response> {
    let response: T
    try {
      response = await answer()
    } catch (error) {
      checked.end(request.signal.aborted ? undefined : 500)
      throw error
    }
    if (response instanceof Response) return checked.answer(response)
    // A middleware of Next.js that returns nothing lets the request continue; a handler on Bun, that it became a
    // WebSocket.
    checked.end(200)
    return response
  }

  #refuse(pass: Pass, request: Request): MaybePromise<Response> {
    const fields = this.#gate.fields(pass)
    const refusal = this.#gate.refusal(pass, request, fields.retryAfterSeconds)
    if (this.#handler !== undefined) return this.#handler(request, { pass, refusal })
    const body = request.method === 'HEAD' ? null : refusal.body
    return new Response(body, { status: refusal.status, headers: refusalHeaders(refusal, fields) })
  }

  #reader(): RequestReader<Request> {
    const address = (request: Request): string | undefined =>
      this.#address(request, ...(this.#extras.get(request) ?? []))
    return {
      address,
      peer: (request) => address(request) ?? UNKNOWN_PEER,
      header: (request, name) => request.headers.get(name) ?? undefined,
      method: ({ method }) => method,
      url: ({ url }) => pathOf(url),
      route: ({ url }) => ({ path: targetPath(url), ...LOOSE }),
    }
  }
}
