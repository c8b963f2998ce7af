/** One (key, value) pair of what a request is about. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** Asks whether a request passes: every rule that matches one of the descriptors has to have budget. */
export interface CheckRequest {
  readonly domain: string
  readonly descriptors: readonly {
    readonly entries: readonly Entry[]
    /** Instead of the request's. */
    readonly cost?: number
  }[]
  /** Default: 1. 0 looks, below 0 gives back (for trusted callers). */
  readonly cost?: number
}

/** What one rule said. */
export interface RuleVerdict {
  readonly rule: string
  /** The position of the descriptor that it matched. */
  readonly descriptor: number
  readonly kind: 'allowed' | 'refused' | 'impossible' | 'unasked'
  readonly limit: number
  readonly remaining?: number
  readonly resetAfterMs?: number
  readonly retryAfterMs?: number
  readonly shadow?: boolean
  /** The service decided without its store, as the rule says. */
  readonly fallback?: string
  /** Of what was settled: what went beyond the debt that a budget may have. */
  readonly dropped?: number
}

/** What the service decided, or what was decided in its place. */
export interface CheckDecision {
  readonly allowed: boolean
  /** When a refused request would pass. Undefined: it passed, or waiting does not help. */
  readonly retryAfterMs?: number
  /** How long a request that passed waits before it continues. */
  readonly delayMs?: number
  /** The rule that refused, or came closest to it. */
  readonly rule?: string
  readonly reason?: string
  /** Why, for programs, where it is not a limit that refused: `LEDGER_SHORT`, `LOAD_SHED` and others. */
  readonly code?: string
  /** What the ledger says, for each meter that a rule names: what paid, or what ran out and what would help. */
  readonly ledger?: readonly Readonly<Record<string, unknown>>[]
  readonly verdicts: readonly RuleVerdict[]
  /** What a refused caller is to get, where the rule says so. */
  readonly response?: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** The service did not answer in time, or with a fault: the failure policy decided. */
  readonly failure?: unknown
}

/**
 * The result of a renewal. `renewed`: the permits are held for another `leaseTtlMs`. `lost`: they had expired or were
 * released; acquire again. `failed`: unknown; try again.
 */
export type Renewed = 'renewed' | 'lost' | 'failed'

/** A decision that may hold permits of `concurrency` rules. */
export interface LeasedPermit extends CheckDecision {
  /** How long permits are held without being renewed. Undefined where none is held. */
  readonly leaseTtlMs?: number
  /** Renews now. Sends nothing where no permit is held. */
  renew(): Promise<Renewed>
  /** Gives the permits back. May be called more than once. */
  release(): Promise<void>
}

/** A permit that the client renews, every third of its `leaseTtlMs`, until it is released. */
export interface Permit extends LeasedPermit {
  /** Aborts when the permits were lost and cannot be acquired again: another caller may have them now. */
  readonly signal: AbortSignal
}

/** What work receives while permits are held for it. */
export interface Holder {
  /** The decision that let the work begin. */
  readonly permit: Permit
  /** That of the permit. */
  readonly signal: AbortSignal
}

/** A decision about an estimate. settle says what it came to: true the first time, if it was taken. */
export interface Reservation extends CheckDecision {
  settle(cost: number): Promise<boolean>
}
