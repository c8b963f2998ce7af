/** A UsageDelta is what one caller did under one limit since the last news. */
export interface UsageDelta {
  /** '' for an API key that belongs to no customer. */
  readonly customerId: string
  /** Undefined: the request named the customer itself. */
  readonly keyId: string | undefined
  /** The domain and the id of the rule, as `api/api_key`. */
  readonly limit: string
  readonly allowed: number
  readonly refused: number
  /** What admitted requests cost, less what was given back. */
  readonly cost: number
}

/** A Crossing is that a caller has used a share of a calendar quota. */
export interface Crossing {
  readonly customerId: string
  readonly keyId: string | undefined
  readonly limit: string
  /** In percent. */
  readonly threshold: number
  readonly used: number
  readonly quota: number
  readonly periodStartMs: number
  readonly periodEndMs: number
}

/** What one process that decides reports about once a second: plain data, which workers send. */
export interface UsageNews {
  /** A time within the second that it is about. */
  readonly atMs: number
  /** Everything that the process counted before is in these news, or in earlier ones. */
  readonly untilMs: number
  readonly deltas: readonly UsageDelta[]
  readonly crossings: readonly Crossing[]
}
