import type { Refusal } from '../../core/http/refusal.ts'
import { type FormsOf, FUNCTION } from '../../core/option-forms.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { GATE_FORMS, type GateOptions, type Pass } from '../../http-door/gate.ts'

/** What a handler of refused requests receives. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

/** The options for fetch handlers: the options of every middleware, and two more. */
export interface FetchOptions extends GateOptions<Request> {
  /**
   * Returns the address of the connection, from the request and what the runtime passes to handlers in addition. A
   * Request does not have one. Default: what Deno and Bun pass; unknown elsewhere, and callers with an unknown address
   * share a budget.
   */
  readonly address?: (request: Request, ...extra: readonly unknown[]) => string | undefined
  /** Answers refused requests; the fields are added to what it returns. Default: the refusal. */
  readonly handler?: (request: Request, refused: Refused) => MaybePromise<Response>
}

export const FETCH_FORMS: FormsOf<FetchOptions> = { ...GATE_FORMS, handler: FUNCTION, address: FUNCTION }

/** Answers requests. What a runtime passes in addition to the request is passed on unchanged. */
export type FetchHandler<R extends Request, A extends readonly unknown[], T> = (
  request: R,
  ...extra: A
) => MaybePromise<T>
