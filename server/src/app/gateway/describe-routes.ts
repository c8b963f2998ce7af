import { formatDuration } from 'sluice/internal/core/duration'
import type { Limit } from 'sluice/internal/core/limit'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import type { PlannedRoute } from '../../edge/gateway-rules/planned-route.ts'

/** Describes a routes file, a line for each route, with what looks unintended. */
export function describeRoutes({ table, warnings }: GatewayPlan): readonly string[] {
  return [
    ...table.routes.map((route) => lineOf(route, table.upstreams[route.upstream]?.addresses ?? [])),
    ceilingLine(table.routes),
    ...warnings.map((text) => `warning: ${text}`),
    '',
  ]
}

/** The ceiling of all routes of a file is the same. */
function ceilingLine([route]: readonly PlannedRoute[]): string {
  const { requests, per_ip: perIp } = route?.shared.ceiling ?? {}
  const rate = (limit: Limit | undefined): string =>
    limit === undefined ? 'off' : `${limit.max}/${formatDuration(limit.windowMs)}`
  return `ceiling of each process: ${rate(requests)} of all clients, ${rate(perIp)} of one address`
}

function lineOf(route: PlannedRoute, addresses: readonly string[]): string {
  const { host = '*', path, methods, limits, domain } = route
  const by = [
    ...(limits.length > 0 ? [`${limits.length} ${limits.length === 1 ? 'limit' : 'limits'}`] : []),
    ...(domain === undefined ? [] : [`domain ${domain.name}`]),
  ]
  const limited = by.length === 0 ? 'unlimited' : by.join(', ')
  return `${methods?.join(',') ?? 'any method'} ${host}${path} → ${route.upstream} (${addresses.join(', ')}): ${limited}`
}
