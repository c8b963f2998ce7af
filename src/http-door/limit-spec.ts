import { MAX_COUNT } from '../core/limit.ts'
import { LIMIT_FORMS, type PlainLimit } from '../core/limit-forms.ts'
import { RULE_OPTIONS } from '../core/limit-options.ts'
import {
  BOOLEAN,
  either,
  type Form,
  type FormsOf,
  FUNCTION,
  fields,
  listOf,
  oneOf,
  whole,
} from '../core/option-forms.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Caller } from './caller.ts'

/** Whose budget a limit is: the first of several that a caller has. All of them end at the address. */
export const OWNERS = ['ip', 'api_key', 'user', 'tenant', 'everyone'] as const

export type By = (typeof OWNERS)[number]

/** How many: always the same, by the caller's tier (one that is not named gets the least), or as a function says. */
export type Amount<R> =
  | number
  | Readonly<Record<string, number>>
  | ((request: R, caller: Caller) => MaybePromise<number>)

/** One limit of a middleware. */
export interface LimitSpec<R> extends Omit<PlainLimit, 'limit'> {
  readonly limit: Amount<R>
  /**
   * The name that callers see, and of the counters: in Redis, limits with the same name share their counters. Default:
   * derived from the limit, as in `100-in-1m`.
   */
  readonly name?: string
  /**
   * Whose budget it is. Default: the user's, else the API key's, else the address's, as far as `identity` provides
   * them.
   */
  readonly by?: By | readonly By[] | ((request: R, caller: Caller) => MaybePromise<string | undefined>)
  /** How much a request takes of this limit. Default: the middleware's `cost`. */
  readonly cost?: number | ((request: R, caller: Caller) => MaybePromise<number>)
  /** Reports, but never refuses. Default: false. */
  readonly shadow?: boolean
  /** What happens while Redis does not answer. Default: `local`. */
  readonly onStoreFailure?: 'open' | 'closed' | 'local'
  /** local: the share of the budget that this process alone may admit. Default: 1. */
  readonly localShare?: number
  /** open: how long an outage is admitted; then requests are counted in this process. Default: without end. */
  readonly openFor?: string
  /** How long Redis may take. Default: that of `redisTimeoutMs`, 5. */
  readonly timeoutMs?: number
  /**
   * How processes that share Redis count together: docs/consistency.md. Default: `exact`; `leased` for a budget of
   * `everyone`, which all of them ask about all the time.
   */
  readonly consistency?: 'exact' | 'leased' | 'eventual' | 'sampled'
  /** eventual: how often counts are exchanged. Default: `'100ms'`. */
  readonly syncInterval?: string
  /** Spread Retry-After by up to this much. Default: 0. */
  readonly retryAfterJitter?: string | 0
  /** What a refused caller gets. Default: 429 and the error as JSON. */
  readonly response?: SpecResponse | undefined
}

/** What a refused caller gets: an object as the body is sent as JSON. */
export interface SpecResponse {
  /** From 400 to 599. Default: 429. */
  readonly status?: number
  readonly body?: string | object | undefined
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[]
}

/** The options of a LimitSpec that are not options of a limit. */
export const SPEC_OPTIONS = ['by', 'shadow', ...RULE_OPTIONS] as const satisfies readonly (keyof LimitSpec<never>)[]

const TIERS: Form = { expected: 'an amount for each tier', is: (value) => typeof value === 'object' && value !== null }
const OWNER = oneOf(...OWNERS)
const BODY: Form = { expected: 'a text or an object', is: (value) => typeof value === 'string' || TIERS.is(value) }
/** Which names and values fields have is checked where they are read. */
const HEADERS: Form = { expected: '{ name: value } or [[name, value]]', is: TIERS.is }

const RESPONSE_FORMS: FormsOf<SpecResponse> = {
  status: { ...whole(400, 599), expected: 'from 400 to 599' },
  body: BODY,
  headers: HEADERS,
}

/** Returns the form of what a request takes. */
export const COST = either(whole(-MAX_COUNT, MAX_COUNT, 'COST_INVALID'), FUNCTION)

/** The forms of a LimitSpec. */
export const SPEC_FORMS: FormsOf<LimitSpec<never>> = {
  ...LIMIT_FORMS,
  limit: either(whole(0, MAX_COUNT, 'LIMIT_INVALID'), TIERS, FUNCTION),
  by: either(OWNER, listOf(OWNER), FUNCTION),
  cost: COST,
  shadow: BOOLEAN,
  response: fields(RESPONSE_FORMS),
}
