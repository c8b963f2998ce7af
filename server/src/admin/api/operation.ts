import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode } from 'sluice/internal/core/errors'
import type { ChoiceSchema, NumberSchema, Schema, TextSchema, Value } from 'sluice/internal/core/schema/schema'
import type { Actor } from '../../quotas/audit/actor.ts'
import type { Identity } from '../access/roles.ts'
import type { Role } from '../tokens/table.ts'
import type { InForce, ProposedChange } from './change.ts'
import type { AdminParts } from './parts.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A QueryParam is one parameter of a query. Numbers are read from their digits. */
export interface QueryParam {
  readonly schema: TextSchema | NumberSchema | ChoiceSchema
  readonly required?: true
  readonly doc: string
}

export interface PathParam {
  readonly schema: TextSchema | NumberSchema
  readonly doc: string
}

/** An AnswerForm is what an operation answers when it succeeds. */
export interface AnswerForm {
  readonly status: 200 | 201 | 204
  /** Undefined: there is no body. */
  readonly schema?: Schema
  /** The answer has an ETag. */
  readonly etag?: true
  /** Other forms of the same, by their content type. */
  readonly types?: readonly string[]
}

type ValuesOf<P> = {
  readonly [K in keyof P]: P[K] extends { readonly schema: infer S; readonly required: true }
    ? Value<S>
    : P[K] extends { readonly schema: infer S }
      ? Value<S> | undefined
      : never
}

/** A Call is a request that has the form of its operation, and whose sender may make it. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly parts: AdminParts
  readonly identity: Identity
  readonly by: Actor
  readonly params: { readonly [K in keyof P]: P[K] extends { readonly schema: infer S } ? Value<S> : never }
  readonly query: ValuesOf<Q>
  readonly body: Value<B>
  /** What If-Match says: a version, or undefined for any. */
  readonly version: number | undefined
  readonly nowMs: number
  /** next encodes the cursor of the following page; after reads the one that was given. */
  readonly cursor: { readonly after: string | undefined; next(from: string | undefined): string | null }
  /** For the few operations whose answers are no JSON. */
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A Reply is what is answered: a body as JSON, with a version where the record has one. */
export interface Reply {
  readonly body?: unknown
  readonly version?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Another form than JSON. */
  readonly text?: { readonly type: string; readonly text: string }
}

/** HANDLED says that the operation has written its answer itself. */
export const HANDLED = Symbol('handled')

/** A Change is something that will be done unless the caller only wants to know what would come of it. */
export interface Change {
  readonly changes: readonly ProposedChange[]
  /** Where it is in force, if it is one of limits. */
  readonly inForce?: InForce
  /** `by` is who makes it, where more is known of that than when it was planned. */
  commit(by?: Actor): Promise<Reply>
}

interface Common<P, Q, B> {
  readonly id: string
  readonly method: Method
  /** Below /admin/v1, with `{name}` for parameters. */
  readonly path: string
  readonly tag: string
  /** The least role that may. `anyone`: no token is needed. */
  readonly role: Role | 'anyone'
  readonly summary: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Bytes of a body. Default: 64 KiB. */
  readonly maxBodyBytes?: number
  readonly answer: AnswerForm
  /** In addition to the ones that every operation has. */
  readonly errors?: readonly ErrorCode[]
  /** If-Match: needed, or taken where it is sent. Default: neither. */
  readonly ifMatch?: 'required' | 'optional'
  /** Takes an Idempotency-Key. */
  readonly isCreation?: true
  /** It changes what is not in the database: which nodes have it cannot be known. */
  readonly isUnconfirmed?: true
  /** Its answers are pages. */
  readonly isPaged?: true
}

/**
 * A look reads, or does what has no preview, as the ledger does for programs. A change can be previewed with `dry_run`.
 */
export type Operation<P = unknown, Q = unknown, B = unknown> = Common<P, Q, B> &
  (
    | { readonly kind: 'look'; run(call: Call<P, Q, B>): Promise<Reply | typeof HANDLED> }
    | { readonly kind: 'change'; plan(call: Call<P, Q, B>): Promise<Change> }
  )

type Params = Readonly<Record<string, PathParam>>
type Query = Readonly<Record<string, QueryParam>>

/** AnyOperation is an operation of the table, whatever its parameters are. */
export type AnyOperation = Common<Params, Query, Schema> &
  (
    | { readonly kind: 'look'; run(call: never): Promise<Reply | typeof HANDLED> }
    | { readonly kind: 'change'; plan(call: never): Promise<Change> }
  )

/** operation states an operation. Its handler gets values of the types that its schemas describe. */
export function operation<const P extends Params, const Q extends Query, const B extends Schema>(
  spec: Operation<P, Q, B>,
): AnyOperation {
  return spec
}
