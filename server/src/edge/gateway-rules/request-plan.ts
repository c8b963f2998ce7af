import type { Descriptor, Entry } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Caller } from 'sluice/internal/http-door/caller'
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

/** A RequestPlan is what a request is charged to, and which limit each descriptor comes from. */
export interface RequestPlan {
  readonly charges: readonly PlannedCharge[]
  /** By the position of the descriptor. Those of a domain have none. */
  readonly limits: readonly PlannedLimit[]
  /** What the limits of the file were asked about. */
  readonly descriptors: readonly Descriptor[]
}

/** planRequest says what a request is charged to: by the limits of its route, and by the rules of its domain. */
export function planRequest(limiter: GatewayLimiter, request: GatewayRequest, caller: Caller): RequestPlan {
  const route = request.route as PlannedRoute
  const limits: PlannedLimit[] = []
  const descriptors: Descriptor[] = []
  for (const limit of route.limits) addLimit(limit, request, caller, limits, descriptors)
  const planned =
    descriptors.length === 0 ? [] : limiter.plan({ domain: GATEWAY_DOMAIN, descriptors, cost: route.cost })
  const own = limits.some(({ isBlock }) => isBlock) ? planned.map((charge) => asCondition(charge, limits)) : planned
  if (route.domain === undefined || isDecided(own)) return { charges: own, limits, descriptors }
  const given = { domain: route.domain.name, descriptors: domainDescriptors(route.domain, request, caller) }
  const others = limiter.plan({ ...given, cost: route.cost })
  if (isDecided(others)) return { charges: others, limits: [], descriptors: [] }
  const shifted = others.map((charge) => ({ ...charge, descriptor: charge.descriptor + descriptors.length }))
  return { charges: own.length === 0 ? shifted : [...own, ...shifted], limits, descriptors }
}

/** asCondition has a look at a block refuse as what it is. */
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

/** entriesOf are the budgets that a request takes of a limit: that of its owner, or of each of several. */
function entriesOf({ prefix, sources }: PlannedLimit, request: GatewayRequest, caller: Caller): readonly Entry[][] {
  for (const { key, values } of sources) {
    const found = values(request, caller)
    if (found.length > 0) return found.map((value) => [...prefix, { key, value }])
  }
  return [[...prefix]]
}

/** domainDescriptors are what the rules of a domain are asked about. A part that a request does not have leaves its descriptor out. */
function domainDescriptors(
  { descriptors }: DomainPlan,
  request: GatewayRequest,
  caller: Caller,
): readonly Descriptor[] {
  if (descriptors === undefined) return callerDescriptors(request, caller)
  return descriptors.flatMap((sources) => products(sources, request, caller).map((entries) => ({ entries })))
}

/** How many descriptors one of the file becomes where a request has several values of its parts. */
const MAX_PRODUCTS = 16

function products(sources: readonly ValueSource[], request: GatewayRequest, caller: Caller): readonly Entry[][] {
  let all: Entry[][] = [[]]
  for (const { key, values } of sources) {
    const found = values(request, caller)
    all = all.flatMap((entries) => found.map((value) => [...entries, { key, value }])).slice(0, MAX_PRODUCTS)
  }
  return all
}

/** callerDescriptors are all that is known of the caller, each alone, with the method, with the path, and with both. */
function callerDescriptors({ method, path }: GatewayRequest, caller: Caller): readonly Descriptor[] {
  const request: Entry[] = [
    { key: 'method', value: canonicalMethod(method) },
    { key: 'path', value: path },
  ]
  const ways = [[], [request[0]], [request[1]], request]
  const tier = caller.tier === undefined ? [] : [{ key: 'tier', value: caller.tier }]
  const { ip, apiKey, moreApiKeys = [], user, tenant } = caller
  const known = [
    ['ip', ip],
    ['api_key', apiKey],
    ...moreApiKeys.map((key) => ['api_key', key] as const),
    ['user', user],
    ['tenant', tenant],
  ] as const
  const found: Descriptor[] = []
  for (const [key, value] of known) {
    if (value === undefined) continue
    for (const way of ways) found.push({ entries: [...tier, { key, value }, ...way] })
  }
  for (const way of ways.slice(1)) found.push({ entries: [...tier, ...way] })
  return found
}
