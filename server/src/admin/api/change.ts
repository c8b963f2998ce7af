import type { QuotaTable } from '../../quotas/model.ts'
import { partKey } from './parts.ts'

export const PREVIEW = partKey<Preview>('preview')

/** A ProposedChange is a change before it is made. */
export type ProposedChange =
  | {
      readonly kind: 'record'
      readonly table: QuotaTable
      readonly id: string
      readonly before: unknown
      readonly after: unknown
    }
  | { readonly kind: 'rules'; readonly text: string }
  | { readonly kind: 'counters'; readonly target: CounterTarget }
  | { readonly kind: 'ledger'; readonly before: unknown; readonly after: unknown }
  | { readonly kind: 'token'; readonly before: unknown; readonly after: unknown }
  | { readonly kind: 'webhook'; readonly id: string; readonly before: unknown; readonly after: unknown }

/** A CountRange is what is known of a number. Both are the same where it is known. */
export interface CountRange {
  readonly atLeast: number
  readonly atMost: number
}

/** A LimitTraffic is what one limit did in a period, and what it would have done under a change. */
export interface LimitTraffic {
  readonly domain: string
  readonly ruleId: string
  /** Requests that the limit decided about, and requests that it refused. Undefined: they were not counted. */
  readonly requests: number | undefined
  readonly refused: number | undefined
  /** How many of the requests would not have been admitted. Undefined: nothing is known of it. */
  readonly refusedAfter: CountRange | undefined
  /** Why it is not one number, as a sentence. */
  readonly why: string | undefined
}

/** A TrafficPeriod is requests that were made, had a change been in force from its beginning on. */
export interface TrafficPeriod {
  /**
   * The hour that runs, by the use of customers; the busiest of the week before; or the last hour of rules, all
   * callers.
   */
  readonly kind: 'this_hour' | 'busiest_hour' | 'last_hour'
  readonly fromMs: number
  readonly toMs: number
  /** Limits that would have done something else, the ones with the most requests first. */
  readonly limits: readonly LimitTraffic[]
  readonly limitsLeftOut: number
}

/** A PreviewOutcome is what changes would do, as far as it is known. */
export interface PreviewOutcome {
  /** Undefined: it is not known how many. */
  readonly affectedCustomers: number | undefined
  readonly traffic: readonly TrafficPeriod[]
  /** Why there is no traffic to compare with, or none that says what would come of the change; a sentence. */
  readonly trafficUnknown: string | undefined
  /** For people, a sentence each. */
  readonly notes: readonly string[]
}

/** A PlainLimit is the numbers of a limit, as people read them. */
export interface PlainLimit {
  readonly requestsPerUnit: number
  /** Undefined: the window is not a unit. */
  readonly unit: string | undefined
  /** Undefined: it counts requests at the same time. */
  readonly windowMs: number | undefined
  /** Of a bucket that holds more or less than its limit. */
  readonly burst: number | undefined
}

/**
 * LIMIT_EFFECTS are what a change can do to a limit; `replaced`: requests at the same time in place of those in a
 * window, or the reverse.
 */
export const LIMIT_EFFECTS = ['raised', 'lowered', 'same', 'replaced'] as const

export type LimitEffect = (typeof LIMIT_EFFECTS)[number]

/** A RuleInForce is a rule that changed records are in force on, or were. */
export interface RuleInForce {
  readonly domain: string
  readonly ruleId: string
  /** As in response headers and in explanations. */
  readonly ruleName: string
  /** Undefined: no limit. */
  readonly before: PlainLimit | undefined
  readonly after: PlainLimit | undefined
  readonly effect: LimitEffect
  /** The changed override that the limit after the change comes from. */
  readonly overrideId: string | undefined
}

/** An InForce says where changes of records are in force. */
export interface InForce {
  readonly rules: readonly RuleInForce[]
  /** What a person has to know who makes the change, a sentence each: such as that no rule uses it. */
  readonly warnings: readonly string[]
}

/** A Preview says what changes would come to. */
export interface Preview {
  preview(changes: readonly ProposedChange[]): Promise<PreviewOutcome>
  /** Returns the rules that changes of records would be in force on: what the next decisions are made by. */
  inForce(changes: readonly ProposedChange[]): Promise<InForce>
}

/** Whose counters are meant: all of a customer, all of a key, or the ones that descriptors lead to. */
export type CounterTarget =
  | { readonly kind: 'customer'; readonly customerId: string }
  /** `apiKey` is the key itself, where the request has it: counters are named by it. */
  | { readonly kind: 'key'; readonly keyId: string; readonly apiKey?: string }
  | {
      readonly kind: 'descriptors'
      readonly domain: string
      readonly descriptors: readonly (readonly { readonly key: string; readonly value: string }[])[]
    }
