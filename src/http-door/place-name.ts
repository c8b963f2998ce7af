import type { GateOptions } from './gate-options.ts'

/**
 * placeNames names the limits of a place (a route, a handler) after it, those that have no name: on Redis they are then counted
 * there and nowhere else, on every node alike, whatever was asked for first.
 */
export function placeNames<R>(place: string, own: GateOptions<R>): Pick<GateOptions<R>, 'name' | 'limits'> {
  if (own.limits === undefined) return own.limit === undefined || own.name !== undefined ? {} : { name: place }
  const limits = own.limits.map((spec, i) => ({ name: i === 0 ? place : `${place}#${i + 1}`, ...spec }))
  return { limits }
}
