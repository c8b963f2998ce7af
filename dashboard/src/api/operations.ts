// Written by scripts/dashboard-types.mjs from the operations of the admin API. Do not edit.

/** Nothing is what an operation takes that takes nothing. */

export type Nothing = Readonly<Record<never, never>>

export type ApiKey = {
  readonly id: string
  /** the first characters of the key */
  readonly prefix: string
  readonly customer_id: string | null
  readonly name: string
  /** the key's tier, which comes before the customer's */
  readonly tier: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly revoked_at: string | null
}

export type Asked = {
  readonly domain: string
  readonly descriptors: readonly {
    readonly entries: readonly {
      readonly key: string
      readonly value: string
    }[]
  }[]
}

export type AskedToExplain = {
  readonly domain: string
  readonly descriptors: readonly {
    readonly entries: readonly {
      readonly key: string
      readonly value: string
    }[]
  }[]
}

export type AuditEntry = {
  readonly sequence: number
  readonly at: string
  readonly actor: {
    readonly id: string
    readonly name: string
    readonly address: string | null
  }
  readonly reason: string | null
  readonly action: string
  readonly target: {
    readonly kind: string
    readonly id: string
  }
  readonly customer_id: string | null
  readonly before: unknown
  readonly after: unknown
  readonly hash: string
}

export type Available = {
  /** of the plan, what was carried over included */
  readonly allowance: number
  readonly grants: number
  readonly credits: number
  readonly overdraft: number
}

export type Block = {
  readonly id: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
  readonly cidr: string | null
  readonly reason: string | null
  /** 403 by default */
  readonly status: number
  /** what the caller is answered */
  readonly body: string | null
  /** when it takes effect; now by default */
  readonly effective_at: string
  /** when it ends; null: never */
  readonly expires_at: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
}

export type BlockedBy = {
  readonly id: string
  readonly reason: string | null
  readonly status: number
  /** null: without end */
  readonly ends_in_ms: number | null
  readonly what_would_admit: string
}

export type Closed = {
  readonly balance: LedgerBalance
}

export type Commit = {
  readonly customer: string
  readonly meter: string
  /** chosen by the caller, once for each request */
  readonly id: string
  /** 0 releases */
  readonly used: number
}

export type Corrected = {
  readonly id: string
  readonly amount: number
  /** it had been done before, and was not done again */
  readonly repeated: boolean
  readonly balance: LedgerBalance
}

export type Counter = {
  /** the position of the descriptor in the request */
  readonly descriptor: number
  readonly rule_id: string
  readonly rule_name: string
  readonly described: string
  readonly is_unlimited: boolean
  readonly is_shadow: boolean
  readonly switched_to: 'off' | 'shadow' | 'enforce' | null
  readonly source: LimitSource
  /** the key of the counter; secrets are hashed */
  readonly key: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly reset_after_ms: number
  readonly retry_after_ms: number
  readonly would_refuse: boolean
  /** whose request it is; null: no entry on the way to the rule says so */
  readonly customer_id: string | null
  /** where it is full: extra budget of the caller, in the order of its use */
  readonly grants: readonly {
    readonly id: string
    readonly remaining: number
  }[]
  readonly what_would_admit: string
}

export type Customer = {
  readonly id: string
  /** the id by default */
  readonly name: string
  readonly tier: string | null
  readonly status: 'active' | 'suspended'
  /** an IANA name; UTC by default */
  readonly time_zone: string
  /** the first day of a period */
  readonly period_anchor: string | null
  /** free, at most 50 values: a billing id, a sales contact */
  readonly metadata: { readonly [name: string]: string }
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
}

export type CustomerChanged = {
  readonly id: string
  /** the id by default */
  readonly name: string
  readonly tier: string | null
  readonly status: 'active' | 'suspended'
  /** an IANA name; UTC by default */
  readonly time_zone: string
  /** the first day of a period */
  readonly period_anchor: string | null
  /** free, at most 50 values: a billing id, a sales contact */
  readonly metadata: { readonly [name: string]: string }
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type CustomerFields = {
  /** the id by default */
  readonly name?: string | null | undefined
  readonly tier?: string | null | undefined
  readonly status?: 'active' | 'suspended' | null | undefined
  /** an IANA name; UTC by default */
  readonly time_zone?: string | null | undefined
  /** the first day of a period */
  readonly period_anchor?: string | null | undefined
  /** free, at most 50 values: a billing id, a sales contact */
  readonly metadata?: { readonly [name: string]: string } | null | undefined
  /** why; for the audit log */
  readonly reason?: string | null | undefined
}

export type CustomerParts = {
  /** as /customers/{customer_id}/limits has them */
  readonly limits?: LimitStates | null | undefined
  /** API keys; at most 500 */
  readonly keys?:
    | {
        readonly items: readonly ApiKey[]
        /** there are more; its list has them all */
        readonly has_more: boolean
      }
    | null
    | undefined
  /** overrides of the customer and of its keys; at most 500 */
  readonly overrides?:
    | {
        readonly items: readonly Override[]
        /** there are more; its list has them all */
        readonly has_more: boolean
      }
    | null
    | undefined
  /** grants; at most 500 */
  readonly grants?:
    | {
        readonly items: readonly Grant[]
        /** there are more; its list has them all */
        readonly has_more: boolean
      }
    | null
    | undefined
  /** blocks of the customer and of its keys; at most 500 */
  readonly blocks?:
    | {
        readonly items: readonly Block[]
        /** there are more; its list has them all */
        readonly has_more: boolean
      }
    | null
    | undefined
  /** the last refusals, at most 20 */
  readonly refusals?:
    | {
        /** how many nodes it is made of */
        readonly nodes: number
        /** nodes that did not answer in time, or were too many to ask */
        readonly nodes_left_out: number
        readonly refusals: readonly Refusal[]
      }
    | null
    | undefined
  /** what was allowed and refused on each of the last 30 days of UTC, today included, by limit */
  readonly usage?:
    | {
        readonly items: readonly UsageRow[]
        /** there are more; its list has them all */
        readonly has_more: boolean
        /** no use before this is missing: every node has written it */
        readonly complete_until: string
      }
    | null
    | undefined
  /** the last 50 entries of the audit log that concern the customer */
  readonly changes?:
    | {
        readonly items: readonly AuditEntry[]
        /** there are more; its list has them all */
        readonly has_more: boolean
      }
    | null
    | undefined
  /** parts that could not be read, and why; the others are there */
  readonly problems: readonly {
    readonly part: string
    readonly code: string
    readonly detail: string
  }[]
}

export type CustomerWithParts = {
  readonly id: string
  /** the id by default */
  readonly name: string
  readonly tier: string | null
  readonly status: 'active' | 'suspended'
  /** an IANA name; UTC by default */
  readonly time_zone: string
  /** the first day of a period */
  readonly period_anchor: string | null
  /** free, at most 50 values: a billing id, a sales contact */
  readonly metadata: { readonly [name: string]: string }
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** what `include` names; absent without it */
  readonly included?: CustomerParts | null | undefined
}

export type EventResult = {
  readonly id: string
  readonly result: 'accepted' | 'duplicate' | 'buffered' | 'refused'
  /** why it was refused, as in docs/errors.md */
  readonly code: string | null
  readonly paid_from: PaidFrom | null
  readonly shortage: Shortage | null
}

export type Events = {
  readonly events: readonly {
    readonly customer: string
    readonly meter: string
    /** chosen by the caller, once for each request */
    readonly id: string
    readonly amount: number
    /** when it happened; now by default */
    readonly at?: string | null | undefined
  }[]
}

export type Grant = {
  readonly id: string
  readonly customer_id: string
  /** `default` by default */
  readonly descriptor: string
  readonly amount: number
  readonly reason: string | null
  readonly ticket: string | null
  /** when it takes effect; now by default */
  readonly effective_at: string
  /** when it ends; null: never */
  readonly expires_at: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
}

export type GrantMade = {
  readonly id: string
  readonly customer_id: string
  /** `default` by default */
  readonly descriptor: string
  readonly amount: number
  readonly reason: string | null
  readonly ticket: string | null
  /** when it takes effect; now by default */
  readonly effective_at: string
  /** when it ends; null: never */
  readonly expires_at: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type Issued = {
  readonly id: string
  readonly amount: number
  /** it had been done before, and was not done again */
  readonly repeated: boolean
  readonly balance: LedgerBalance
}

export type KeyUsage = {
  readonly api_key: string
  /** of the first limit */
  readonly current_window: {
    readonly start: string
    readonly end: string
  } | null
  readonly usage: {
    readonly [name: string]: {
      readonly used: number
      readonly limit: number
      readonly remaining: number
    }
  }
}

export type Layer = {
  readonly layer: 'rate' | 'concurrency' | 'fleet' | 'worker' | 'upstream'
  /** null: what the settings and the rules say */
  readonly mode: 'on' | 'shadow' | 'off' | null
  readonly reason: string | null
  readonly version: number | null
  readonly updated_at: string | null
}

export type LedgerBalance = {
  /** what a request could be paid from now */
  readonly available: Available
  /** kept for open reservations */
  readonly held: number
  readonly debt: number
  readonly period: {
    readonly start: string
    readonly end: string
  }
}

export type LedgerEntry = {
  /** 1, 2, 3, … within the account, without a gap */
  readonly number: number
  /** as the caller named it; null: the ledger made it */
  readonly id: string | null
  readonly kind: string
  /** 0: the overdraft; -1: paid for by nothing */
  readonly lot: number
  readonly amount: number
  readonly reserved: number | null
  /** when it was booked */
  readonly at: string
  /** when it happened */
  readonly event_at: string
  /** the number of the entry that it corrects */
  readonly corrects: number | null
  readonly note: string | null
}

export type LedgerLot = {
  readonly number: number
  readonly kind: 'carried' | 'allowance' | 'grant' | 'credit'
  /** lower pays first, within a kind */
  readonly priority: number
  readonly effective_at: string
  readonly expires_at: string | null
  readonly issued: number
  readonly remaining: number
  readonly held: number
}

export type LimitChange = {
  /** rules as YAML */
  readonly text: string
  readonly domain: string
  /** of the rule */
  readonly id: string
  /** the tier whose limit it is */
  readonly tier?: string | null | undefined
  /** what the limit is to say; what is null is taken away */
  readonly change?:
    | {
        readonly requests?: string | null | undefined
        readonly unit?: string | null | undefined
        readonly window?: string | null | undefined
        readonly burst?: string | null | undefined
        readonly shadow: boolean
      }
    | null
    | undefined
}

export type LimitDraft = {
  /** where the limit stands */
  readonly line: number
  readonly says: {
    /** null: it is not in the text */
    readonly requests: string | null
    readonly unit: string | null
    readonly window: string | null
    readonly burst: string | null
    readonly shadow: boolean
  }
  readonly has_calendar: boolean
  readonly is_bucket: boolean
  readonly is_unlimited: boolean
  /** whether shadow mode can be said here */
  readonly has_shadow: boolean
  /** the rules, with the change */
  readonly text: string
}

export type LimitSource = {
  readonly kind: 'key_override' | 'customer_override' | 'tier' | 'rule' | 'grant'
  readonly id: string | null
}

export type LimitState = {
  /** default, or what stands below the caller's entry: `endpoint:GET /`, or `endpoint` alone for any value of it */
  readonly descriptor: string
  /** what stands before the caller's entry; empty: nothing */
  readonly above: string
  readonly domain: string
  readonly rule_id: string
  /** as in response headers and in explanations */
  readonly rule_name: string
  /** it stands for values that are not known; each has a counter, which is not looked at */
  readonly is_pattern: boolean
  /** where the number comes from */
  readonly source: LimitSource
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly window_ms: number
  readonly unit: string | null
  /** of a window that follows the calendar: the zone of its days */
  readonly time_zone: string | null
  readonly window_start: string
  readonly resets_at: string
  /** of which key it is; null: of the customer */
  readonly api_key_id: string | null
  readonly api_key_prefix: string | null
  /** false: what was used is not known. No request has carried this key since the node began, or values are not known */
  readonly is_use_known: boolean
}

export type LimitStates = {
  readonly limits: readonly LimitState[]
  /** descriptors that were not looked at, because there are more than 1,000: those that nodes remember come first */
  readonly omitted: number
}

export type LimitTraffic = {
  readonly domain: string
  readonly rule_id: string
  /** that the limit admitted or refused; null: they were not counted */
  readonly requests: number | null
  /** of these requests, by this limit */
  readonly refused: number | null
  /** of these requests, with the change; both are equal where it is known exactly; null: not known */
  readonly refused_after: {
    readonly at_least: number
    readonly at_most: number
  } | null
  /** why it is not known exactly, as a sentence */
  readonly why: string | null
}

export type LimitsRemoved = {
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type LiveFrame = {
  readonly at: string
  /** the id of the event */
  readonly at_ms: number
  readonly allowed: number
  readonly refused: number
  /** what rules in shadow mode would have refused */
  readonly shadow_refused: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly nodes: number
  readonly nodes_away: number
  readonly store: 'memory' | 'up' | 'away'
  readonly database: 'none' | 'up' | 'away'
  readonly rule_version: string
  /** the busiest, at most 100 */
  readonly rules: readonly {
    readonly domain: string
    readonly id: string
    /** as in response headers and in explanations */
    readonly name: string
    readonly allowed: number
    readonly refused: number
    readonly shadow_refused: number
  }[]
}

export type Login = {
  readonly token: string
}

export type MadeChange = {
  readonly at: string
  readonly kind: 'rules' | 'tiers' | 'switches' | 'overrides' | 'blocks' | 'rule_files'
  /** what was changed, in words */
  readonly text: string
  /** the name of who made it; `rule files` where a file was changed */
  readonly actor: string
}

export type MadeToken = {
  readonly id: string
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'admin' | 'ledger'
  /** the first characters of the token */
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  /** shown this once */
  readonly token: string
}

export type MadeWebhook = {
  readonly id: string
  readonly url: string
  readonly description: string
  /** only events of this customer; null: of every customer */
  readonly customer_id: string | null
  /** all by default */
  readonly events: readonly ('quota.threshold' | 'ledger.balance_low')[]
  /** in percent; 50, 80 and 100 by default */
  readonly thresholds: readonly number[]
  readonly enabled: boolean
  /** why the service switched it off */
  readonly disabled_reason: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** signs every message; shown this once */
  readonly secret: string
}

export type Matched = {
  /** where nothing applies: why */
  readonly note: string | null
  readonly steps: readonly {
    readonly key: string
    /** null: secret */
    readonly value: string | null
    readonly how: string
    readonly pattern: string | null
    /** where nothing matches: what there is on this level */
    readonly known: readonly string[]
  }[]
}

export type Meter = {
  readonly id: string
  /** what it counts, for people; the id by default */
  readonly unit: string
  /** for how long an allowance is; `month` by default */
  readonly period: 'day' | 'week' | 'month' | 'year'
  /** what a customer may use in a period whose tier is not in `allowances`; 0 by default */
  readonly allowance: number
  /** what customers may use in a period, by tier */
  readonly allowances: { readonly [name: string]: number }
  /** how much of an allowance is carried over if it was not used, at most; 0 by default */
  readonly carry_most: number
  /** for how many periods it is carried over; 1 by default */
  readonly carry_periods: number
  /** for how long after its end a period takes events that happened in it; 0 by default */
  readonly grace_seconds: number
  /** how far below zero a customer may go; 0 by default */
  readonly overdraft: number
  /** for how long a reservation lasts that does not say; 300 by default */
  readonly hold_seconds: number
  /** the status of refusals, 402 or 429; 402 by default */
  readonly refusal_status: number
  /** while the database is unavailable: `closed` refuses, `buffer` takes what was last seen available, `open` takes all; `closed` by default */
  readonly when_unavailable: 'closed' | 'buffer' | 'open'
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
}

export type MeterFields = {
  /** what it counts, for people; the id by default */
  readonly unit?: string | null | undefined
  /** for how long an allowance is; `month` by default */
  readonly period?: 'day' | 'week' | 'month' | 'year' | null | undefined
  /** what a customer may use in a period whose tier is not in `allowances`; 0 by default */
  readonly allowance?: number | null | undefined
  /** what customers may use in a period, by tier */
  readonly allowances?: { readonly [name: string]: number } | null | undefined
  /** how much of an allowance is carried over if it was not used, at most; 0 by default */
  readonly carry_most?: number | null | undefined
  /** for how many periods it is carried over; 1 by default */
  readonly carry_periods?: number | null | undefined
  /** for how long after its end a period takes events that happened in it; 0 by default */
  readonly grace_seconds?: number | null | undefined
  /** how far below zero a customer may go; 0 by default */
  readonly overdraft?: number | null | undefined
  /** for how long a reservation lasts that does not say; 300 by default */
  readonly hold_seconds?: number | null | undefined
  /** the status of refusals, 402 or 429; 402 by default */
  readonly refusal_status?: number | null | undefined
  /** while the database is unavailable: `closed` refuses, `buffer` takes what was last seen available, `open` takes all; `closed` by default */
  readonly when_unavailable?: 'closed' | 'buffer' | 'open' | null | undefined
  /** why; for the audit log */
  readonly reason?: string | null | undefined
}

export type MeterState = {
  /** the position of the descriptor in the request */
  readonly descriptor: number
  readonly rule_id: string
  readonly rule_name: string
  readonly meter: string
  /** what a request of cost 1 takes */
  readonly takes: number
  /** who pays; null: no entry leads to a customer */
  readonly customer_id: string | null
  /** why it would refuse; null: it would pay */
  readonly code: 'LEDGER_SHORT' | 'LEDGER_CUSTOMER_UNKNOWN' | 'LEDGER_UNAVAILABLE' | null
  /** of the refusal */
  readonly status: number | null
  /** what the customer has; null: not known */
  readonly balance: LedgerBalance | null
  readonly what_would_admit: string
}

export type NearLimit = {
  /** the id of the node that decided */
  readonly node: string
  readonly at: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
  readonly domain: string
  /** its id */
  readonly rule: string
  /** as in response headers and in explanations */
  readonly rule_name: string
  /** whom it is about; secrets are hashed */
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly window_ms: number
  readonly resets_at: string
}

export type NewApiKey = {
  readonly id: string
  /** the first characters of the key */
  readonly prefix: string
  readonly customer_id: string | null
  readonly name: string
  /** the key's tier, which comes before the customer's */
  readonly tier: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly revoked_at: string | null
  /** the key itself, if it was made here: shown this once */
  readonly key: string | null
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type NewBlock = {
  readonly reason?: string | null | undefined
  /** 403 by default */
  readonly status?: number | null | undefined
  /** what the caller is answered */
  readonly body?: string | null | undefined
  /** when it takes effect; now by default */
  readonly effective_at?: string | null | undefined
  /** when it ends; null: never */
  readonly expires_at?: string | null | undefined
  readonly customer_id?: string | null | undefined
  readonly api_key_id?: string | null | undefined
  /** the key itself; it is not kept */
  readonly api_key?: string | null | undefined
  /** such as 198.51.100.0/24 */
  readonly cidr?: string | null | undefined
}

export type NewCorrection = {
  readonly id: string
  /** the id of the reservation or event */
  readonly corrects: string
  /** how much of it */
  readonly amount: number
  readonly reason?: string | null | undefined
}

export type NewCustomer = {
  /** the id by default */
  readonly name?: string | null | undefined
  readonly tier?: string | null | undefined
  readonly status?: 'active' | 'suspended' | null | undefined
  /** an IANA name; UTC by default */
  readonly time_zone?: string | null | undefined
  /** the first day of a period */
  readonly period_anchor?: string | null | undefined
  /** free, at most 50 values: a billing id, a sales contact */
  readonly metadata?: { readonly [name: string]: string } | null | undefined
  readonly id: string
  /** why; for the audit log */
  readonly reason?: string | null | undefined
}

export type NewGrant = {
  /** `default` by default */
  readonly descriptor?: string | null | undefined
  readonly amount: number
  readonly reason?: string | null | undefined
  readonly ticket?: string | null | undefined
  /** when it takes effect; now by default */
  readonly effective_at?: string | null | undefined
  /** when it ends; null: never */
  readonly expires_at?: string | null | undefined
}

export type NewIssue = {
  /** chosen by the caller: the same id is booked once */
  readonly id: string
  readonly kind: 'grant' | 'credit'
  readonly amount: number
  /** lower pays first; 50 by default */
  readonly priority?: number | null | undefined
  /** when it takes effect; now by default */
  readonly effective_at?: string | null | undefined
  /** when it expires; null: never */
  readonly expires_at?: string | null | undefined
  readonly reason?: string | null | undefined
}

export type NewKey = {
  readonly name?: string | null | undefined
  /** the key's tier, which comes before the customer's */
  readonly tier?: string | null | undefined
  /** a key that you have; left out, one is made */
  readonly key?: string | null | undefined
  /** why; for the audit log */
  readonly reason?: string | null | undefined
}

export type NewLayer = {
  readonly layer: 'rate' | 'concurrency' | 'fleet' | 'worker' | 'upstream'
  readonly mode: 'on' | 'shadow' | 'off'
  readonly reason?: string | null | undefined
}

export type NewRules = {
  /** YAML, as in a rule file */
  readonly text: string
  readonly comment?: string | null | undefined
}

export type NewSecret = {
  /** made here by default */
  readonly secret?: string | null | undefined
  readonly reason?: string | null | undefined
}

export type NewSwitch = {
  readonly mode: 'off' | 'shadow' | 'enforce'
  readonly reason?: string | null | undefined
  /** null: every rule */
  readonly rule: {
    readonly domain: string
    readonly id: string
  } | null
}

export type NewToken = {
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'admin' | 'ledger'
  readonly expires_at?: string | null | undefined
  readonly reason?: string | null | undefined
}

export type NewWebhook = {
  readonly url: string
  readonly description?: string | null | undefined
  /** only events of this customer; null: of every customer */
  readonly customer_id?: string | null | undefined
  /** all by default */
  readonly events?: readonly ('quota.threshold' | 'ledger.balance_low')[] | null | undefined
  /** in percent; 50, 80 and 100 by default */
  readonly thresholds?: readonly number[] | null | undefined
  readonly enabled?: boolean | null | undefined
  /** made here by default */
  readonly secret?: string | null | undefined
  readonly reason?: string | null | undefined
}

export type Node = {
  /** of this run: a node that is started again has another */
  readonly id: string
  /** what it is called: the same after a restart */
  readonly name: string
  readonly host: string
  /** the node that answers */
  readonly is_here: boolean
  readonly is_away: boolean
  readonly started_at: string
  readonly seen_at: string
  /** of a silent node: until then, or until a node of its name is started */
  readonly listed_until: string | null
  readonly version: string
  readonly rule_version: string
  /** of the quotas that it decides by */
  readonly revision: number
  readonly store: 'memory' | 'up' | 'away'
  /** of calls to the store: the worst of its processes; null: counters are in memory, or nothing was reported yet */
  readonly circuit: 'closed' | 'half_open' | 'open' | null
  /** of the last second */
  readonly decisions_per_second: number
  /** resident, of all its processes */
  readonly memory_bytes: number
  /** of its slowest process, at the 99th percentile of the last second */
  readonly event_loop_delay_ms: number | null
  /** where its admin port listens */
  readonly admin_address: string | null
  readonly workers: readonly {
    readonly id: string
    readonly pid: number | null
    readonly state: string
    readonly started_at: string
    /** of the last second */
    readonly decisions_per_second: number | null
  }[]
}

export type Override = {
  readonly id: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
  /** `default`, or such as `endpoint:POST /api/v1/orders`; `default` by default */
  readonly descriptor: string
  /** for the rules of one domain alone */
  readonly domain: string | null
  /** for one rule of that domain alone, by its id or name */
  readonly rule: string | null
  readonly requests_per_unit: number
  readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  /** that of the rule by default */
  readonly algorithm: string | null
  readonly burst: number | null
  readonly reason: string | null
  readonly ticket: string | null
  /** when it takes effect; now by default */
  readonly effective_at: string
  /** when it ends; null: never */
  readonly expires_at: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** why it has no effect; null: nothing is wrong with it */
  readonly problem: string | null
}

export type OverrideChanged = {
  readonly id: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
  /** `default`, or such as `endpoint:POST /api/v1/orders`; `default` by default */
  readonly descriptor: string
  /** for the rules of one domain alone */
  readonly domain: string | null
  /** for one rule of that domain alone, by its id or name */
  readonly rule: string | null
  readonly requests_per_unit: number
  readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  /** that of the rule by default */
  readonly algorithm: string | null
  readonly burst: number | null
  readonly reason: string | null
  readonly ticket: string | null
  /** when it takes effect; now by default */
  readonly effective_at: string
  /** when it ends; null: never */
  readonly expires_at: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** why it has no effect; null: nothing is wrong with it */
  readonly problem: string | null
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type OverrideFields = {
  /** `default`, or such as `endpoint:POST /api/v1/orders`; `default` by default */
  readonly descriptor?: string | null | undefined
  /** for the rules of one domain alone */
  readonly domain?: string | null | undefined
  /** for one rule of that domain alone, by its id or name */
  readonly rule?: string | null | undefined
  readonly requests_per_unit: number
  readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  /** that of the rule by default */
  readonly algorithm?:
    | 'sliding_window'
    | 'token_bucket'
    | 'gcra'
    | 'leaky_bucket'
    | 'fixed_window'
    | 'sliding_log'
    | 'concurrency'
    | null
    | undefined
  readonly burst?: number | null | undefined
  readonly reason?: string | null | undefined
  readonly ticket?: string | null | undefined
  /** when it takes effect; now by default */
  readonly effective_at?: string | null | undefined
  /** when it ends; null: never */
  readonly expires_at?: string | null | undefined
  /** true: an override without domain and rule is for every rule, however many those are now */
  readonly all?: boolean | null | undefined
  /** raise: refused if it lowers any limit */
  readonly intent?: 'raise' | null | undefined
  /** true: it may lower limits, although it raises others or is meant as a raise */
  readonly allow_lower?: boolean | null | undefined
  /** for one key of the customer's; for all of them by default */
  readonly api_key_id?: string | null | undefined
}

export type PaidFrom = {
  /** of the plan, what was carried over included */
  readonly allowance: number
  readonly grants: number
  readonly credits: number
  readonly overdraft: number
  /** used, and paid for by nothing */
  readonly unpaid: number
}

export type PeriodToClose = {
  /** of the period */
  readonly start: string
  readonly reason?: string | null | undefined
}

export type PlainLimit = {
  readonly requests_per_unit: number
  /** null: the window is not a unit */
  readonly unit: string | null
  /** null: it counts requests at the same time */
  readonly window_ms: number | null
  /** of a bucket that holds more or less than its limit */
  readonly burst: number | null
}

export type Preview = {
  /** true: nothing was changed */
  readonly dry_run: boolean
  readonly changes: readonly {
    readonly kind: 'record' | 'rules' | 'counters' | 'token' | 'webhook' | 'ledger'
    readonly table: string | null
    readonly id: string | null
    readonly before: unknown
    readonly after: unknown
  }[]
  /** null: not known */
  readonly affected_customers: number | null
  /** requests that were made, had the change been in force */
  readonly traffic: readonly TrafficPeriod[]
  /** why there is no traffic to compare with, as a sentence; null: there is, or the change is not about requests */
  readonly traffic_unknown: string | null
  readonly notes: readonly string[]
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** from the registry, docs/errors.md */
  readonly code: string
  /** of rules: each problem with file, line, column, code, message and rule */
  readonly problems?: readonly unknown[] | null | undefined
  readonly omitted?: number | null | undefined
}

export type Quota = {
  readonly api_key: string
  readonly tier: string | null
  readonly quotas: {
    /** the override named default for every domain; or else the limit of the first rule that API keys lead to */
    readonly default: {
      readonly requests_per_unit: number
      readonly unit: string
      /** of the rule; null: every domain */
      readonly domain: string | null
      /** the id of the rule; null: every rule */
      readonly rule: string | null
    } | null
    readonly overrides: readonly {
      readonly descriptor: string
      readonly requests_per_unit: number
      readonly unit: string
      /** null: for every domain */
      readonly domain: string | null
      /** null: for every rule */
      readonly rule: string | null
    }[]
  }
  readonly updated_at: string
}

export type QuotaChanged = {
  readonly api_key: string
  readonly tier: string | null
  readonly quotas: {
    /** the override named default for every domain; or else the limit of the first rule that API keys lead to */
    readonly default: {
      readonly requests_per_unit: number
      readonly unit: string
      /** of the rule; null: every domain */
      readonly domain: string | null
      /** the id of the rule; null: every rule */
      readonly rule: string | null
    } | null
    readonly overrides: readonly {
      readonly descriptor: string
      readonly requests_per_unit: number
      readonly unit: string
      /** null: for every domain */
      readonly domain: string | null
      /** null: for every rule */
      readonly rule: string | null
    }[]
  }
  readonly updated_at: string
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type QuotaFields = {
  readonly tier?: string | null | undefined
  readonly overrides?:
    | readonly {
        /** `default`, or such as `endpoint:POST /api/v1/orders`; `default` by default */
        readonly descriptor?: string | null | undefined
        /** for the rules of one domain alone */
        readonly domain?: string | null | undefined
        /** for one rule of that domain alone, by its id or name */
        readonly rule?: string | null | undefined
        readonly requests_per_unit: number
        readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
        /** that of the rule by default */
        readonly algorithm?:
          | 'sliding_window'
          | 'token_bucket'
          | 'gcra'
          | 'leaky_bucket'
          | 'fixed_window'
          | 'sliding_log'
          | 'concurrency'
          | null
          | undefined
        readonly burst?: number | null | undefined
      }[]
    | null
    | undefined
  /** true: an override without domain and rule is for every rule, however many those are now */
  readonly all?: boolean | null | undefined
  /** raise: refused if it lowers any limit */
  readonly intent?: 'raise' | null | undefined
  /** true: it may lower limits, although it raises others or is meant as a raise */
  readonly allow_lower?: boolean | null | undefined
  /** when it takes effect; now by default */
  readonly effective_at?: string | null | undefined
  /** when it expires; null: never */
  readonly expires_at?: string | null | undefined
  readonly reason?: string | null | undefined
}

export type Refusal = {
  /** the id of the node that decided */
  readonly node: string
  readonly at: string
  readonly customer_id: string | null
  readonly api_key_id: string | null
  readonly domain: string
  /** its id */
  readonly rule: string
  /** as in response headers and in explanations */
  readonly rule_name: string
  /** whom it is about; secrets are hashed */
  readonly key: string
  /** as the decision log has it, or blocked */
  readonly reason: string
  /** of a block: why, or its id */
  readonly detail: string | null
  readonly retry_after_ms: number | null
}

export type Release = {
  readonly customer: string
  readonly meter: string
  /** chosen by the caller, once for each request */
  readonly id: string
}

export type Released = {
  readonly id: string
  /** it had been done before, and was not done again */
  readonly repeated: boolean
  /** the database is unavailable: it is kept on the disk of the node, and booked when the database has recovered */
  readonly buffered: boolean
  /** null: it is buffered */
  readonly balance: LedgerBalance | null
}

export type Reservation = {
  readonly customer: string
  readonly meter: string
  /** chosen by the caller, once for each request */
  readonly id: string
  /** the most that the request may use */
  readonly amount: number
  /** for how long; as the meter says by default */
  readonly hold_seconds?: number | null | undefined
}

export type Reserved = {
  readonly id: string
  readonly amount: number
  readonly state: 'held' | 'committed' | 'released' | 'expired'
  /** null: it is not held any more, or is buffered */
  readonly expires_at: string | null
  readonly paid_from: PaidFrom
  /** it had been done before, and was not done again */
  readonly repeated: boolean
  /** the database is unavailable: it is kept on the disk of the node, and booked when the database has recovered */
  readonly buffered: boolean
  /** null: it is buffered */
  readonly balance: LedgerBalance | null
}

export type Reset = {
  readonly customer_id?: string | null | undefined
  readonly api_key_id?: string | null | undefined
  readonly api_key?: string | null | undefined
  readonly domain?: string | null | undefined
  readonly descriptors?:
    | readonly {
        readonly entries: readonly {
          readonly key: string
          readonly value: string
        }[]
      }[]
    | null
    | undefined
  readonly reason?: string | null | undefined
}

export type RuleActivity = {
  readonly domain: string
  readonly id: string
  /** it only reports now, by its rule or by a switch */
  readonly is_shadow: boolean
  readonly last_minute: {
    readonly allowed: number
    readonly refused: number
    /** what it would have refused, had it not been in shadow mode */
    readonly shadow_refused: number
  }
  readonly last_hour: {
    readonly allowed: number
    readonly refused: number
    /** what it would have refused, had it not been in shadow mode */
    readonly shadow_refused: number
  }
}

export type RuleInForce = {
  readonly domain: string
  /** its id */
  readonly rule: string
  /** as in response headers and in explanations */
  readonly rule_name: string
  /** null: no limit */
  readonly before: PlainLimit | null
  /** null: no limit */
  readonly after: PlainLimit | null
  /** lowered: fewer requests over time or, where that is equal, in a window. replaced: one counts requests at the same time, the other those in a window */
  readonly effect: 'raised' | 'lowered' | 'same' | 'replaced'
}

export type RuleLimit = {
  readonly id: string
  readonly name: string
  /** the limit in words */
  readonly described: string
  /** null: unlimited */
  readonly limit: number | null
  readonly algorithm: string
  readonly is_shadow: boolean
  readonly is_quota: boolean
}

export type RuleNode = {
  /** the path of the pattern */
  readonly id: string
  /** the tier whose limits stand here; null: of every caller */
  readonly tier: string | null
  readonly limits: readonly RuleLimit[]
  readonly below: readonly RuleNode[]
}

export type RuleText = {
  readonly version: number
  readonly is_active: boolean
  readonly created_at: string
  readonly by: string
  readonly comment: string | null
  readonly limits: number
  readonly domains: readonly string[]
  /** YAML */
  readonly text: string
}

export type RuleTree = {
  /** how many there are in all */
  readonly limits: number
  /** how many patterns there are of what was asked for */
  readonly found: number
  /** how many of those come after the ones that are listed; `skip` leads there */
  readonly omitted: number
  readonly domains: readonly {
    readonly name: string
    readonly version: string | null
    readonly evaluates_path: boolean
    /** how many there are in the domain, listed or not */
    readonly limits: number
    readonly patterns: readonly RuleNode[]
  }[]
}

export type RuleVersion = {
  readonly version: number
  readonly is_active: boolean
  readonly created_at: string
  readonly by: string
  readonly comment: string | null
  readonly limits: number
  readonly domains: readonly string[]
}

export type Session = {
  /** the id of the token */
  readonly id: string
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'admin' | 'ledger'
  readonly via: 'token' | 'session' | 'loopback'
  /** of the session */
  readonly expires_at: string | null
}

export type Settled = {
  readonly id: string
  readonly used: number
  readonly paid_from: PaidFrom
  /** its reservation had expired */
  readonly late: boolean
  /** it had been done before, and was not done again */
  readonly repeated: boolean
  /** the database is unavailable: it is kept on the disk of the node, and booked when the database has recovered */
  readonly buffered: boolean
  /** null: it is buffered */
  readonly balance: LedgerBalance | null
}

export type Shortage = {
  readonly needed: number
  readonly available: Available
  /** the parts that were asked */
  readonly ran_out: readonly ('allowance' | 'grants' | 'credits')[]
  /** when the next allowance alone would pay for it; null: it would not */
  readonly renews_at: string | null
  readonly would_help: readonly ('next_period' | 'credits')[]
}

export type Statement = {
  readonly start: string
  readonly end: string
  readonly state: 'open' | 'ended' | 'closed'
  readonly closed_at: string | null
  readonly totals: {
    readonly opening: number
    readonly issued: number
    readonly carried: number
    readonly used: number
    readonly lapsed: number
    readonly unpaid: number
    readonly closing: number
  }
  readonly items: readonly LedgerEntry[]
  readonly next_cursor: string | null
}

export type Switch = {
  /** null: every rule */
  readonly rule: {
    readonly domain: string
    readonly id: string
  } | null
  readonly mode: 'off' | 'shadow' | 'enforce'
  readonly reason: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly updated_at: string
}

export type Tier = {
  readonly domain: string
  readonly name: string
  /** as below the name of a tier in a rule file */
  readonly limits: unknown
  /** rises with every change; the ETag */
  readonly version: number
  readonly updated_at: string
  /** why it has no effect; null: nothing is wrong with it */
  readonly problem: string | null
}

export type TierChanged = {
  readonly domain: string
  readonly name: string
  /** as below the name of a tier in a rule file */
  readonly limits: unknown
  /** rises with every change; the ETag */
  readonly version: number
  readonly updated_at: string
  /** why it has no effect; null: nothing is wrong with it */
  readonly problem: string | null
  /** the rules that the change is in force on, or was; at most 100, the ones whose limit is lowered first */
  readonly in_force_on: readonly RuleInForce[]
  /** how many there are */
  readonly in_force_on_total: number
  /** sentences for people: above all, that no rule uses the change, and why */
  readonly warnings: readonly string[]
}

export type TierFields = {
  /** as below the name of a tier in a rule file: as a value, or as a text in YAML */
  readonly limits: unknown
  /** why; for the audit log */
  readonly reason?: string | null | undefined
}

export type TierUse = {
  /** null: customers without a tier */
  readonly tier: string | null
  /** how many have it now */
  readonly customers: number
  readonly allowed: number
  readonly refused: number
  /** of requests that were allowed, less what was given back */
  readonly cost: number
}

export type Token = {
  readonly id: string
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'admin' | 'ledger'
  /** the first characters of the token */
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

export type TopKey = {
  readonly domain: string
  /** its id */
  readonly rule: string
  /** as in response headers and in explanations */
  readonly rule_name: string
  /** whom it is about; secrets are hashed */
  readonly key: string
  /** where it is known whose the key is */
  readonly customer_id: string | null
  readonly api_key_id: string | null
  /** at least */
  readonly count: number
  /** by how much the count may be too low */
  readonly missed: number
  /** of all that the rule refused, or was asked about: from 0 to 1 */
  readonly share: number
  /** the rule only reports */
  readonly is_shadow: boolean
}

export type TrafficPeriod = {
  /** this_hour: of the affected customers, until now. busiest_hour: theirs, of the week before. last_hour: of the rules, 60 to 65 minutes, all callers */
  readonly period: 'this_hour' | 'busiest_hour' | 'last_hour'
  readonly from: string
  readonly to: string
  /** the limits that the change is about, the most requests first; at most 20 */
  readonly limits: readonly LimitTraffic[]
  readonly limits_left_out: number
}

export type UsageRow = {
  readonly customer_id: string
  readonly limit: string
  /** the beginning of the hour or day */
  readonly at: string
  readonly allowed: number
  readonly refused: number
  /** of requests that were allowed, less what was given back */
  readonly cost: number
}

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly description: string
  /** only events of this customer; null: of every customer */
  readonly customer_id: string | null
  /** all by default */
  readonly events: readonly ('quota.threshold' | 'ledger.balance_low')[]
  /** in percent; 50, 80 and 100 by default */
  readonly thresholds: readonly number[]
  readonly enabled: boolean
  /** why the service switched it off */
  readonly disabled_reason: string | null
  /** rises with every change; the ETag */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
}

export type WebhookChange = {
  readonly url?: string | null | undefined
  readonly description?: string | null | undefined
  /** only events of this customer; null: of every customer */
  readonly customer_id?: string | null | undefined
  /** all by default */
  readonly events?: readonly ('quota.threshold' | 'ledger.balance_low')[] | null | undefined
  /** in percent; 50, 80 and 100 by default */
  readonly thresholds?: readonly number[] | null | undefined
  readonly enabled?: boolean | null | undefined
  readonly reason?: string | null | undefined
}

export type WebhookDelivery = {
  /** the `webhook-id` of every attempt */
  readonly id: string
  readonly event: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly next_attempt_at: string | null
  readonly last_status: number | null
  readonly last_error: string | null
  /** the body */
  readonly message: unknown
  readonly created_at: string
  readonly finished_at: string | null
}

/** Operations are what can be asked, by their ids: what each takes and answers. */

export interface Operations {
  readOpenApi: { params: Nothing; query: Nothing; body: undefined; answer: unknown }
  readSession: { params: Nothing; query: Nothing; body: undefined; answer: Session }
  logIn: { params: Nothing; query: Nothing; body: Login; answer: Session }
  logOut: { params: Nothing; query: Nothing; body: undefined; answer: undefined }
  listTop: {
    params: Nothing
    query: {
      readonly by?: 'refused' | 'used' | undefined
      readonly period?: '5m' | '1h' | '24h' | undefined
      readonly limit?: number | undefined
    }
    body: undefined
    answer: {
      readonly by: 'refused' | 'used'
      readonly period: '5m' | '1h' | '24h'
      readonly since: string
      /** how many nodes it is made of */
      readonly nodes: number
      /** nodes that did not answer in time, or were too many to ask */
      readonly nodes_left_out: number
      readonly items: readonly TopKey[]
    }
  }
  readUsageByTier: {
    params: Nothing
    query: { readonly period?: '1h' | '24h' | '30d' | undefined }
    body: undefined
    answer: {
      /** a whole hour, up to an hour before the period begins */
      readonly since: string
      /** no use before this is missing: every node has written it */
      readonly complete_until: string
      readonly tiers: readonly TierUse[]
    }
  }
  readRuleActivity: {
    params: Nothing
    query: { readonly scope?: 'fleet' | 'node' | undefined }
    body: undefined
    answer: {
      /** how many nodes it is made of */
      readonly nodes: number
      /** nodes that did not answer in time, or were too many to ask */
      readonly nodes_left_out: number
      /** rules that are not listed, because there are too many */
      readonly rules_left_out: number
      readonly rules: readonly RuleActivity[]
    }
  }
  listChanges: {
    params: Nothing
    query: { readonly since?: string | undefined }
    body: undefined
    answer: {
      readonly since: string
      readonly changes: readonly MadeChange[]
    }
  }
  readQuota: { params: { readonly api_key: string }; query: Nothing; body: undefined; answer: Quota }
  putQuota: { params: { readonly api_key: string }; query: Nothing; body: QuotaFields; answer: QuotaChanged }
  removeQuota: { params: { readonly api_key: string }; query: Nothing; body: undefined; answer: LimitsRemoved }
  readKeyUsage: { params: { readonly api_key: string }; query: Nothing; body: undefined; answer: KeyUsage }
  listCustomers: {
    params: Nothing
    query: {
      readonly search?: string | undefined
      readonly tier?: string | undefined
      readonly status?: 'active' | 'suspended' | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly Customer[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createCustomer: { params: Nothing; query: Nothing; body: NewCustomer; answer: CustomerChanged }
  readCustomer: {
    params: { readonly customer_id: string }
    query: { readonly include?: string | undefined }
    body: undefined
    answer: CustomerWithParts
  }
  replaceCustomer: {
    params: { readonly customer_id: string }
    query: Nothing
    body: CustomerFields
    answer: CustomerChanged
  }
  changeCustomer: {
    params: { readonly customer_id: string }
    query: Nothing
    body: CustomerFields
    answer: CustomerChanged
  }
  removeCustomer: { params: { readonly customer_id: string }; query: Nothing; body: undefined; answer: undefined }
  readCustomerLimits: { params: { readonly customer_id: string }; query: Nothing; body: undefined; answer: LimitStates }
  listKeys: {
    params: { readonly customer_id: string }
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly ApiKey[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createKey: { params: { readonly customer_id: string }; query: Nothing; body: NewKey; answer: NewApiKey }
  readKey: {
    params: { readonly customer_id: string; readonly key_id: string }
    query: Nothing
    body: undefined
    answer: ApiKey
  }
  revokeKey: {
    params: { readonly customer_id: string; readonly key_id: string }
    query: Nothing
    body: undefined
    answer: ApiKey
  }
  listOverrides: {
    params: { readonly customer_id: string }
    query: {
      readonly api_key_id?: string | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly Override[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createOverride: {
    params: { readonly customer_id: string }
    query: Nothing
    body: OverrideFields
    answer: OverrideChanged
  }
  readOverride: {
    params: { readonly customer_id: string; readonly override_id: string }
    query: Nothing
    body: undefined
    answer: Override
  }
  replaceOverride: {
    params: { readonly customer_id: string; readonly override_id: string }
    query: Nothing
    body: OverrideFields
    answer: OverrideChanged
  }
  removeOverride: {
    params: { readonly customer_id: string; readonly override_id: string }
    query: Nothing
    body: undefined
    answer: LimitsRemoved
  }
  listGrants: {
    params: { readonly customer_id: string }
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly Grant[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createGrant: { params: { readonly customer_id: string }; query: Nothing; body: NewGrant; answer: GrantMade }
  readGrant: {
    params: { readonly customer_id: string; readonly grant_id: string }
    query: Nothing
    body: undefined
    answer: Grant
  }
  removeGrant: {
    params: { readonly customer_id: string; readonly grant_id: string }
    query: Nothing
    body: undefined
    answer: LimitsRemoved
  }
  listBlocks: {
    params: Nothing
    query: {
      readonly customer_id?: string | undefined
      readonly api_key_id?: string | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly Block[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createBlock: { params: Nothing; query: Nothing; body: NewBlock; answer: Block }
  readBlock: { params: { readonly block_id: string }; query: Nothing; body: undefined; answer: Block }
  removeBlock: { params: { readonly block_id: string }; query: Nothing; body: undefined; answer: undefined }
  listTiersInForce: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly tiers: readonly {
        readonly domain: string
        readonly name: string
        readonly is_stored: boolean
        readonly limits: readonly RuleLimit[]
        /** what it limits of parts of the requests */
        readonly below: readonly RuleNode[]
      }[]
    }
  }
  listTiers: {
    params: Nothing
    query: {
      readonly domain?: string | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly Tier[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  readTier: {
    params: { readonly domain: string; readonly tier: string }
    query: Nothing
    body: undefined
    answer: Tier
  }
  putTier: {
    params: { readonly domain: string; readonly tier: string }
    query: Nothing
    body: TierFields
    answer: TierChanged
  }
  removeTier: {
    params: { readonly domain: string; readonly tier: string }
    query: Nothing
    body: undefined
    answer: LimitsRemoved
  }
  readRuleTree: {
    params: Nothing
    query: {
      readonly domain?: string | undefined
      readonly text?: string | undefined
      readonly only?: 'shadow' | 'refusing' | undefined
      readonly span?: 'minute' | 'hour' | undefined
      readonly skip?: number | undefined
      readonly limit?: number | undefined
    }
    body: undefined
    answer: RuleTree
  }
  readActiveRules: { params: Nothing; query: Nothing; body: undefined; answer: RuleText }
  putRules: { params: Nothing; query: Nothing; body: NewRules; answer: RuleVersion }
  listRuleVersions: {
    params: Nothing
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly RuleVersion[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  readRuleVersion: { params: { readonly version: number }; query: Nothing; body: undefined; answer: RuleText }
  rollBackRules: { params: { readonly version: number }; query: Nothing; body: undefined; answer: RuleVersion }
  draftLimit: { params: Nothing; query: Nothing; body: LimitChange; answer: LimitDraft }
  listSwitches: {
    params: Nothing
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly Switch[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  putSwitch: { params: Nothing; query: Nothing; body: NewSwitch; answer: Switch }
  removeSwitch: {
    params: Nothing
    query: { readonly domain?: string | undefined; readonly rule?: string | undefined }
    body: undefined
    answer: undefined
  }
  listLayers: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly items: readonly Layer[]
    }
  }
  putLayer: { params: Nothing; query: Nothing; body: NewLayer; answer: Layer }
  removeLayer: {
    params: Nothing
    query: { readonly layer: 'rate' | 'concurrency' | 'fleet' | 'worker' | 'upstream' }
    body: undefined
    answer: undefined
  }
  readCounters: {
    params: Nothing
    query: { readonly customer_id?: string | undefined; readonly api_key_id?: string | undefined }
    body: undefined
    answer: LimitStates
  }
  lookAtCounters: {
    params: Nothing
    query: Nothing
    body: Asked
    answer: {
      readonly counters: readonly Counter[]
    }
  }
  resetCounters: {
    params: Nothing
    query: Nothing
    body: Reset
    answer: {
      /** how many counters */
      readonly reset: number
    }
  }
  explain: {
    params: Nothing
    query: Nothing
    body: AskedToExplain
    answer: {
      /** whether a request of cost 1 would pass now */
      readonly admitted: boolean
      /** what refuses it before any rule is asked */
      readonly blocked: BlockedBy | null
      /** for each descriptor, how it was matched */
      readonly matched: readonly Matched[]
      readonly counters: readonly Counter[]
      /** what pays for what the limits admit, for each rule with a meter */
      readonly meters: readonly MeterState[]
    }
  }
  listMeters: {
    params: Nothing
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly Meter[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  readMeter: { params: { readonly meter_id: string }; query: Nothing; body: undefined; answer: Meter }
  putMeter: { params: { readonly meter_id: string }; query: Nothing; body: MeterFields; answer: Meter }
  removeMeter: { params: { readonly meter_id: string }; query: Nothing; body: undefined; answer: undefined }
  reserve: { params: Nothing; query: Nothing; body: Reservation; answer: Reserved }
  commit: { params: Nothing; query: Nothing; body: Commit; answer: Settled }
  release: { params: Nothing; query: Nothing; body: Release; answer: Released }
  bookEvents: {
    params: Nothing
    query: Nothing
    body: Events
    answer: {
      /** in the order of the events */
      readonly results: readonly EventResult[]
    }
  }
  readBalance: {
    params: Nothing
    query: { readonly customer: string; readonly meter: string }
    body: undefined
    answer: LedgerBalance
  }
  readLedger: {
    params: { readonly customer_id: string }
    query: Nothing
    body: undefined
    answer: {
      readonly accounts: readonly {
        readonly meter: string
        readonly period: {
          readonly start: string
          readonly end: string
        } | null
        /** in the period */
        readonly used: number
        readonly debt: number
        readonly open_holds: number
        readonly lots: readonly LedgerLot[]
      }[]
    }
  }
  issueQuota: {
    params: { readonly customer_id: string; readonly meter_id: string }
    query: Nothing
    body: NewIssue
    answer: Issued
  }
  correctUse: {
    params: { readonly customer_id: string; readonly meter_id: string }
    query: Nothing
    body: NewCorrection
    answer: Corrected
  }
  readStatement: {
    params: { readonly customer_id: string; readonly meter_id: string }
    query: {
      readonly at?: string | undefined
      readonly format?: 'json' | 'csv' | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: Statement
  }
  closePeriod: {
    params: { readonly customer_id: string; readonly meter_id: string }
    query: Nothing
    body: PeriodToClose
    answer: Closed
  }
  readBalanceAt: {
    params: { readonly customer_id: string; readonly meter_id: string }
    query: { readonly at: string }
    body: undefined
    answer: {
      readonly at: string
      /** what its lots had left */
      readonly balance: number
      readonly debt: number
    }
  }
  verifyLedger: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly ok: boolean
      readonly accounts: number
      readonly entries: number
      readonly sum: number
      readonly problems: readonly {
        readonly customer: string
        readonly meter: string
        readonly problem: string
      }[]
    }
  }
  listUsage: {
    params: Nothing
    query: {
      readonly customer_id?: string | undefined
      readonly from: string
      readonly to: string
      readonly granularity?: 'hour' | 'day' | undefined
      readonly format?: 'json' | 'csv' | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly UsageRow[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
      /** no use before this is missing: every node has written it */
      readonly complete_until: string
    }
  }
  listAudit: {
    params: Nothing
    query: {
      readonly actor?: string | undefined
      readonly action?: string | undefined
      readonly kind?:
        | 'customers'
        | 'api_keys'
        | 'overrides'
        | 'grants'
        | 'blocks'
        | 'tiers'
        | 'switches'
        | 'meters'
        | 'ledger'
        | 'tokens'
        | 'rules'
        | 'counters'
        | 'webhooks'
        | undefined
      readonly target?: string | undefined
      readonly customer_id?: string | undefined
      readonly up_to?: number | undefined
      readonly from?: string | undefined
      readonly to?: string | undefined
      readonly format?: 'json' | 'csv' | 'jsonl' | undefined
      readonly cursor?: string | undefined
      readonly page_size?: number | undefined
    }
    body: undefined
    answer: {
      readonly items: readonly AuditEntry[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  verifyAudit: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly ok: boolean
      readonly entries: number
      readonly head: string | null
      readonly broken: {
        readonly sequence: number
        readonly reason: string
      } | null
      /** what outside of the database the end was compared with; with none, an older copy of the whole log looks whole */
      readonly anchors: readonly string[]
      /** what it was not compared with, and why: it knows no entry yet, or cannot be read */
      readonly unread: readonly {
        readonly anchor: string
        readonly reason: string
      }[]
    }
  }
  watchLive: { params: Nothing; query: { readonly since?: number | undefined }; body: undefined; answer: undefined }
  readLiveHistory: {
    params: Nothing
    query: { readonly since?: number | undefined }
    body: undefined
    answer: {
      readonly frames: readonly LiveFrame[]
    }
  }
  listNodes: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly nodes: readonly Node[]
    }
  }
  listRefusals: {
    params: Nothing
    query: {
      readonly customer_id?: string | undefined
      readonly api_key_id?: string | undefined
      readonly scope?: 'fleet' | 'node' | undefined
      readonly limit?: number | undefined
    }
    body: undefined
    answer: {
      /** how many nodes it is made of */
      readonly nodes: number
      /** nodes that did not answer in time, or were too many to ask */
      readonly nodes_left_out: number
      readonly refusals: readonly Refusal[]
    }
  }
  listNearLimits: {
    params: Nothing
    query: {
      readonly min_window_ms?: number | undefined
      readonly scope?: 'fleet' | 'node' | undefined
      readonly limit?: number | undefined
    }
    body: undefined
    answer: {
      /** how many nodes it is made of */
      readonly nodes: number
      /** nodes that did not answer in time, or were too many to ask */
      readonly nodes_left_out: number
      readonly callers: readonly NearLimit[]
    }
  }
  listTokens: {
    params: Nothing
    query: Nothing
    body: undefined
    answer: {
      readonly tokens: readonly Token[]
    }
  }
  createToken: { params: Nothing; query: Nothing; body: NewToken; answer: MadeToken }
  revokeToken: { params: { readonly token_id: string }; query: Nothing; body: undefined; answer: Token }
  listWebhooks: {
    params: Nothing
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly Webhook[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  createWebhook: { params: Nothing; query: Nothing; body: NewWebhook; answer: MadeWebhook }
  readWebhook: { params: { readonly webhook_id: string }; query: Nothing; body: undefined; answer: Webhook }
  changeWebhook: { params: { readonly webhook_id: string }; query: Nothing; body: WebhookChange; answer: Webhook }
  removeWebhook: { params: { readonly webhook_id: string }; query: Nothing; body: undefined; answer: undefined }
  rotateWebhookSecret: { params: { readonly webhook_id: string }; query: Nothing; body: NewSecret; answer: MadeWebhook }
  testWebhook: { params: { readonly webhook_id: string }; query: Nothing; body: undefined; answer: WebhookDelivery }
  listWebhookDeliveries: {
    params: { readonly webhook_id: string }
    query: { readonly cursor?: string | undefined; readonly page_size?: number | undefined }
    body: undefined
    answer: {
      readonly items: readonly WebhookDelivery[]
      /** where the next page begins; null on the last one */
      readonly next_cursor: string | null
    }
  }
  redeliverWebhook: {
    params: { readonly webhook_id: string; readonly delivery_id: string }
    query: Nothing
    body: undefined
    answer: WebhookDelivery
  }
}

/** OPERATIONS says how each is asked. */

export const OPERATIONS: { readonly [K in keyof Operations]: readonly [method: string, path: string] } = {
  readOpenApi: ['GET', '/admin/v1/openapi.json'],
  readSession: ['GET', '/admin/v1/session'],
  logIn: ['POST', '/admin/v1/session'],
  logOut: ['DELETE', '/admin/v1/session'],
  listTop: ['GET', '/admin/v1/top'],
  readUsageByTier: ['GET', '/admin/v1/usage/by-tier'],
  readRuleActivity: ['GET', '/admin/v1/rules/activity'],
  listChanges: ['GET', '/admin/v1/changes'],
  readQuota: ['GET', '/admin/v1/quotas/{api_key}'],
  putQuota: ['PUT', '/admin/v1/quotas/{api_key}'],
  removeQuota: ['DELETE', '/admin/v1/quotas/{api_key}'],
  readKeyUsage: ['GET', '/admin/v1/usage/{api_key}'],
  listCustomers: ['GET', '/admin/v1/customers'],
  createCustomer: ['POST', '/admin/v1/customers'],
  readCustomer: ['GET', '/admin/v1/customers/{customer_id}'],
  replaceCustomer: ['PUT', '/admin/v1/customers/{customer_id}'],
  changeCustomer: ['PATCH', '/admin/v1/customers/{customer_id}'],
  removeCustomer: ['DELETE', '/admin/v1/customers/{customer_id}'],
  readCustomerLimits: ['GET', '/admin/v1/customers/{customer_id}/limits'],
  listKeys: ['GET', '/admin/v1/customers/{customer_id}/keys'],
  createKey: ['POST', '/admin/v1/customers/{customer_id}/keys'],
  readKey: ['GET', '/admin/v1/customers/{customer_id}/keys/{key_id}'],
  revokeKey: ['DELETE', '/admin/v1/customers/{customer_id}/keys/{key_id}'],
  listOverrides: ['GET', '/admin/v1/customers/{customer_id}/overrides'],
  createOverride: ['POST', '/admin/v1/customers/{customer_id}/overrides'],
  readOverride: ['GET', '/admin/v1/customers/{customer_id}/overrides/{override_id}'],
  replaceOverride: ['PUT', '/admin/v1/customers/{customer_id}/overrides/{override_id}'],
  removeOverride: ['DELETE', '/admin/v1/customers/{customer_id}/overrides/{override_id}'],
  listGrants: ['GET', '/admin/v1/customers/{customer_id}/grants'],
  createGrant: ['POST', '/admin/v1/customers/{customer_id}/grants'],
  readGrant: ['GET', '/admin/v1/customers/{customer_id}/grants/{grant_id}'],
  removeGrant: ['DELETE', '/admin/v1/customers/{customer_id}/grants/{grant_id}'],
  listBlocks: ['GET', '/admin/v1/blocks'],
  createBlock: ['POST', '/admin/v1/blocks'],
  readBlock: ['GET', '/admin/v1/blocks/{block_id}'],
  removeBlock: ['DELETE', '/admin/v1/blocks/{block_id}'],
  listTiersInForce: ['GET', '/admin/v1/tiers/in-force'],
  listTiers: ['GET', '/admin/v1/tiers'],
  readTier: ['GET', '/admin/v1/tiers/{domain}/{tier}'],
  putTier: ['PUT', '/admin/v1/tiers/{domain}/{tier}'],
  removeTier: ['DELETE', '/admin/v1/tiers/{domain}/{tier}'],
  readRuleTree: ['GET', '/admin/v1/rules'],
  readActiveRules: ['GET', '/admin/v1/rules/active'],
  putRules: ['PUT', '/admin/v1/rules/active'],
  listRuleVersions: ['GET', '/admin/v1/rules/versions'],
  readRuleVersion: ['GET', '/admin/v1/rules/versions/{version}'],
  rollBackRules: ['POST', '/admin/v1/rules/versions/{version}/activate'],
  draftLimit: ['POST', '/admin/v1/rules/draft'],
  listSwitches: ['GET', '/admin/v1/rules/switches'],
  putSwitch: ['PUT', '/admin/v1/rules/switches'],
  removeSwitch: ['DELETE', '/admin/v1/rules/switches'],
  listLayers: ['GET', '/admin/v1/layers'],
  putLayer: ['PUT', '/admin/v1/layers'],
  removeLayer: ['DELETE', '/admin/v1/layers'],
  readCounters: ['GET', '/admin/v1/counters'],
  lookAtCounters: ['POST', '/admin/v1/counters/look'],
  resetCounters: ['POST', '/admin/v1/counters/reset'],
  explain: ['POST', '/admin/v1/explain'],
  listMeters: ['GET', '/admin/v1/meters'],
  readMeter: ['GET', '/admin/v1/meters/{meter_id}'],
  putMeter: ['PUT', '/admin/v1/meters/{meter_id}'],
  removeMeter: ['DELETE', '/admin/v1/meters/{meter_id}'],
  reserve: ['POST', '/admin/v1/ledger/reserve'],
  commit: ['POST', '/admin/v1/ledger/commit'],
  release: ['POST', '/admin/v1/ledger/release'],
  bookEvents: ['POST', '/admin/v1/ledger/events'],
  readBalance: ['GET', '/admin/v1/ledger/balance'],
  readLedger: ['GET', '/admin/v1/customers/{customer_id}/ledger'],
  issueQuota: ['POST', '/admin/v1/customers/{customer_id}/ledger/{meter_id}/issues'],
  correctUse: ['POST', '/admin/v1/customers/{customer_id}/ledger/{meter_id}/corrections'],
  readStatement: ['GET', '/admin/v1/customers/{customer_id}/ledger/{meter_id}/statement'],
  closePeriod: ['POST', '/admin/v1/customers/{customer_id}/ledger/{meter_id}/close'],
  readBalanceAt: ['GET', '/admin/v1/customers/{customer_id}/ledger/{meter_id}/balance'],
  verifyLedger: ['GET', '/admin/v1/ledger/verify'],
  listUsage: ['GET', '/admin/v1/usage'],
  listAudit: ['GET', '/admin/v1/audit'],
  verifyAudit: ['GET', '/admin/v1/audit/verify'],
  watchLive: ['GET', '/admin/v1/live'],
  readLiveHistory: ['GET', '/admin/v1/live/history'],
  listNodes: ['GET', '/admin/v1/nodes'],
  listRefusals: ['GET', '/admin/v1/refusals'],
  listNearLimits: ['GET', '/admin/v1/near-limits'],
  listTokens: ['GET', '/admin/v1/tokens'],
  createToken: ['POST', '/admin/v1/tokens'],
  revokeToken: ['DELETE', '/admin/v1/tokens/{token_id}'],
  listWebhooks: ['GET', '/admin/v1/webhooks'],
  createWebhook: ['POST', '/admin/v1/webhooks'],
  readWebhook: ['GET', '/admin/v1/webhooks/{webhook_id}'],
  changeWebhook: ['PATCH', '/admin/v1/webhooks/{webhook_id}'],
  removeWebhook: ['DELETE', '/admin/v1/webhooks/{webhook_id}'],
  rotateWebhookSecret: ['POST', '/admin/v1/webhooks/{webhook_id}/secret'],
  testWebhook: ['POST', '/admin/v1/webhooks/{webhook_id}/test'],
  listWebhookDeliveries: ['GET', '/admin/v1/webhooks/{webhook_id}/deliveries'],
  redeliverWebhook: ['POST', '/admin/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver'],
}
