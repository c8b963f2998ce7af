import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import type { PlannedRoute } from '../../edge/gateway-rules/planned-route.ts'

/** describeRoutes says what a routes file means, a line for each route, and what may not be meant. */
export function describeRoutes({ table, warnings }: GatewayPlan): readonly string[] {
  return [
    ...table.routes.map((route) => lineOf(route, table.upstreams[route.upstream]?.addresses ?? [])),
    ...warnings.map((text) => `warning: ${text}`),
    '',
  ]
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
