import type { Descriptor, Entry } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Caller } from 'sluice/internal/http-door/caller'
import { requestDescriptors } from 'sluice/internal/http-door/caller-descriptors'
import { withoutRepeats } from 'sluice/internal/http-door/charge-planner'
import { canonicalMethod } from 'sluice/internal/http-door/request-path'
import type { GatewayRequest } from '../gateway/gate.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import {
  type DomainPlan,
  GATEWAY_DOMAIN,
  type PlannedLimit,
  type PlannedRoute,
  type ValueSource,
} from './planned-route.ts'

/** What a request is charged to, and which limit each descriptor comes from. */
export interface RequestPlan {
  readonly charges: readonly PlannedCharge[]
  /** By the position of the descriptor. A domain's descriptors have none. */
  readonly limits: readonly PlannedLimit[]
  /** What the limits of the file were asked about. */
  readonly descriptors: readonly Descriptor[]
}

/** Which limits a plan covers: limits that need nothing of the body, the others, or all. */
export type PlanPart = 'head' | 'body' | 'all'

/** Returns what a request is charged to: by the limits of its route, and by the rules of its domain. */
export function planRequest(
  limiter: GatewayLimiter,
  request: GatewayRequest,
  caller: Caller,
  part: PlanPart = 'all',
): RequestPlan {
  const route = request.route as PlannedRoute
  const limits: PlannedLimit[] = []
  const descriptors: Descriptor[] = []
  for (const limit of route.limits) {
    if (isOf(part, limit.readsBody)) addLimit(limit, request, caller, limits, descriptors)
  }
  const counted =
    descriptors.length === 0 ? [] : limiter.plan({ domain: GATEWAY_DOMAIN, descriptors, cost: route.cost })
  const own = limits.some(({ isBlock }) => isBlock) ? counted.map((charge) => asCondition(charge, limits)) : counted
  const { domain } = route
  if (domain === undefined || !isOf(part, domain.readsBody) || isDecided(own)) {
    return { charges: own, limits, descriptors }
  }
  const given = { domain: domain.name, descriptors: domainDescriptors(limiter, domain, request, caller) }
  const planned = limiter.plan({ ...given, cost: route.cost }, domain.view)
  const others = request.otherPath === undefined ? planned : withoutRepeats(planned)
  if (isDecided(others)) return { charges: others, limits: [], descriptors: [] }
  const shifted = others.map((charge) => ({ ...charge, descriptor: charge.descriptor + descriptors.length }))
  return { charges: own.length === 0 ? shifted : [...own, ...shifted], limits, descriptors }
}

function isOf(part: PlanPart, readsBody: boolean): boolean {
  return part === 'all' || (part === 'body') === readsBody
}

/** Has a look at a block refuse as what it is. */
function asCondition(charge: PlannedCharge, limits: readonly PlannedLimit[]): PlannedCharge {
  return limits[charge.descriptor]?.isBlock === true && charge.verdict === undefined
    ? { ...charge, isCondition: true }
    : charge
}

/** isDecided: the caller is blocked, and no counter is asked. */
export function isDecided(charges: readonly PlannedCharge[]): boolean {
  return charges.length === 1 && charges[0].verdict !== undefined
}

function addLimit(
  limit: PlannedLimit,
  request: GatewayRequest,
  caller: Caller,
  limits: PlannedLimit[],
  descriptors: Descriptor[],
): void {
  const cost = limit.cost(request)
  for (const entries of entriesOf(limit, request, caller)) {
    limits.push(limit)
    descriptors.push({ entries, cost })
    if (limit.escalation === undefined) continue
    for (const block of limit.escalation.blocks) {
      limits.push(block)
      descriptors.push({ entries: [...block.prefix, ...entries.slice(limit.prefix.length)], cost: 0 })
    }
  }
}

/** Returns the budgets that a request takes of a limit: that of its owner, or of each of several. */
function entriesOf({ prefix, owners }: PlannedLimit, request: GatewayRequest, caller: Caller): readonly Entry[][] {
  for (const owner of owners) {
    const found =
      owner.length === 1 ? single(prefix, owner[0], request, caller) : products(owner, request, caller, prefix)
    if (found.length > 0) return found
  }
  return [[...prefix]]
}

function single(
  prefix: readonly Entry[],
  { key, values }: ValueSource,
  request: GatewayRequest,
  caller: Caller,
): readonly Entry[][] {
  return values(request, caller).map((value) => [...prefix, { key, value }])
}

const NO_PATHS: readonly string[] = []
const UNKNOWN_DOMAIN = { hasTiers: false, evaluatePath: false }

/**
 * Returns what the rules of a domain are asked about. A part that a request does not have leaves its descriptor out.
 */
function domainDescriptors(
  limiter: GatewayLimiter,
  { name, descriptors }: DomainPlan,
  request: GatewayRequest,
  caller: Caller,
): readonly Descriptor[] {
  if (descriptors === undefined) {
    return requestDescriptors(
      limiter.domain(name) ?? UNKNOWN_DOMAIN,
      caller,
      canonicalMethod(request.method),
      request.path,
      request.otherPath === undefined ? NO_PATHS : [request.otherPath],
    )
  }
  return descriptors.flatMap((sources) => products(sources, request, caller).map((entries) => ({ entries })))
}

/** How many descriptors one of the file becomes where a request has several values of its parts. */
const MAX_PRODUCTS = 16

function products(
  sources: readonly ValueSource[],
  request: GatewayRequest,
  caller: Caller,
  prefix: readonly Entry[] = [],
): readonly Entry[][] {
  let all: Entry[][] = [[...prefix]]
  for (const { key, values } of sources) {
    const found = values(request, caller)
    all = all.flatMap((entries) => found.map((value) => [...entries, { key, value }])).slice(0, MAX_PRODUCTS)
  }
  return all
}
