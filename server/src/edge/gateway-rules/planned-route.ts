import type { Entry } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { Caller, CallerFinder } from 'sluice/internal/http-door/caller'
import type { PriorityHeader } from 'sluice/internal/http-door/priority-header'
import type { GatewayRequest } from '../gateway/gate.ts'
import type { Route } from '../gateway/options.ts'
import type { CeilingRates } from './ceiling.ts'
import type { RoomBounds } from './waiting-room.ts'

/** The domain that the limits of a routes file are in. */
export const GATEWAY_DOMAIN = 'gateway'

/** A ValueSource says what a request has of something: nothing, a value, or several of which each is charged. */
export interface ValueSource {
  /** The key of the entry that it makes. */
  readonly key: string
  readonly isSecret: boolean
  readonly readsBody: boolean
  values(request: GatewayRequest, caller: Caller): readonly string[]
}

/** Whose budget something is: each value of one source, or each combination of the values of several. */
export type Owner = readonly ValueSource[]

/** Where the real cost of a request stands in its answer: a field, or a body by its type. */
export interface SettleSource {
  /** In lower case. */
  readonly header?: string | undefined
  readonly json?: string | undefined
  readonly sse?: string | undefined
}

/** One limit of a route, as requests meet it. */
export interface PlannedLimit {
  /** What its descriptors begin with. */
  readonly prefix: readonly Entry[]
  /** The first one that a request has determines whose budget it is. Without any, all callers share it. */
  readonly owners: readonly Owner[]
  /** Whose budget it is, or what a request takes, stands in its body. */
  readonly readsBody: boolean
  /** What a request takes before its real cost is known. 0 looks. */
  cost(request: GatewayRequest): number
  /** Only requests with one of these statuses count. */
  readonly statuses: ReadonlySet<number> | undefined
  readonly settle: SettleSource | undefined
  /** Requests that leave less than this share are delayed by this time. */
  readonly delay: { readonly ms: number; readonly leftShare: number } | undefined
  /** What happens to callers that continue after refusals. */
  readonly escalation: Escalation | undefined
  /** It is a block: requests look at it, and are refused while it is in force. */
  readonly isBlock: boolean
}

/** Counts refusals, and blocks callers that have had too many. */
export interface Escalation {
  /** What the descriptors that count refusals begin with. */
  readonly strikes: readonly Entry[]
  /** What the descriptor that counts blocks begins with; undefined where all blocks are as long. */
  readonly offences: readonly Entry[] | undefined
  /**
   * The first block, the second and so on, each no shorter than the one before. Every request looks at them: each has
   * room for one hit, and a caller that has hit it is blocked until its window ends.
   */
  readonly blocks: readonly PlannedLimit[]
}

/** Which rules of others apply to a route. */
export interface DomainPlan {
  readonly name: string
  /** Returns the rules in force, with their paths read as the route reads request paths. */
  readonly view?: (rules: RuleSet) => RuleSet
  /** Undefined: the parts of the caller, with method and path. */
  readonly descriptors: readonly (readonly ValueSource[])[] | undefined
  /**
   * One of the descriptors names a part of the body. All rules of a domain are asked at the same time: some replace
   * others, and of those in quota mode one is enough.
   */
  readonly readsBody: boolean
}

/** What all routes of one file have in common. */
export interface SharedPlan {
  readonly finder: CallerFinder<GatewayRequest>
  readonly ceiling: CeilingRates
  readonly room: RoomBounds
  /** By which trusted callers say how much a request matters. */
  readonly priorityHeader: PriorityHeader | undefined
}

/** A route with its limits. */
export interface PlannedRoute extends Route {
  readonly limits: readonly PlannedLimit[]
  readonly domain: DomainPlan | undefined
  readonly cost: number
  /** Undefined: what rules say, or the method. */
  readonly priority: Priority | undefined
  readonly shared: SharedPlan
}
