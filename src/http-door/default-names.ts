import type { GateOptions } from './gate-options.ts'

/**
 * Names the unnamed limits of a route or handler after it: on Redis they are then counted there and nowhere else, the
 * same on every node, regardless of the order of requests.
 */
export function defaultNames<R>(site: string, own: GateOptions<R>): Pick<GateOptions<R>, 'name' | 'limits'> {
  if (own.limits === undefined) return own.limit === undefined || own.name !== undefined ? {} : { name: site }
  const limits = own.limits.map((spec, i) => ({ name: i === 0 ? site : `${site}#${i + 1}`, ...spec }))
  return { limits }
}
