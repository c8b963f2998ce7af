import type { Refusal } from '../../core/http/refusal.ts'
import { type FormsOf, FUNCTION } from '../../core/option-forms.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { GATE_FORMS, type GateOptions, type Pass } from '../../http-door/gate.ts'

/** What a handler of refused requests is told. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

/** FetchOptions are the options for fetch handlers: those of every middleware, and two more. */
export interface FetchOptions extends GateOptions<Request> {
  /**
   * The address of the connection, of the request and of what the runtime hands to handlers beside it. A Request does
   * not have one. Default: what Deno and Bun hand over; unknown elsewhere, and those of unknown address share a budget.
   */
  readonly address?: (request: Request, ...beside: readonly unknown[]) => string | undefined
  /** Answers refused requests; the fields are added to what it returns. Default: the refusal. */
  readonly handler?: (request: Request, refused: Refused) => MaybePromise<Response>
}

export const FETCH_FORMS: FormsOf<FetchOptions> = { ...GATE_FORMS, handler: FUNCTION, address: FUNCTION }

/** A FetchHandler answers requests. What a runtime hands to it beside the request stays as it is. */
export type FetchHandler<R extends Request, A extends readonly unknown[], T> = (
  request: R,
  ...beside: A
) => MaybePromise<T>
