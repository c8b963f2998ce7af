import { compileLimit, type Limit, type LimitOptions } from 'sluice/internal/core/limit'

/** Limits that other nodes have named. Files of rules have hundreds. */
const MOST_LIMITS = 10_000

const texts = new WeakMap<Limit, string>()
const limits = new Map<string, Limit>()

/** Writes a limit for another node. */
export function textOf(limit: Limit): string {
  const known = texts.get(limit)
  if (known !== undefined) return known
  const text = JSON.stringify(optionsOf(limit))
  texts.set(limit, text)
  return text
}

/** Undoes textOf. Throws at what is no limit. */
export function limitOf(text: string): Limit {
  const known = limits.get(text)
  if (known !== undefined) return known
  const limit = compileLimit(JSON.parse(text) as LimitOptions)
  if (limits.size >= MOST_LIMITS) limits.clear()
  limits.set(text, limit)
  return limit
}

/** Returns the options that a limit is compiled from. */
function optionsOf({ algorithm, max, windowMs, capacity, calendar, shape, isAnchored, ...limit }: Limit): LimitOptions {
  const span = algorithm === 'concurrency' ? { leaseTtl: windowMs } : { window: windowMs }
  const [, subWindows] = calendar === undefined ? shape.split('/') : []
  return {
    limit: max,
    algorithm,
    ...(calendar === undefined ? span : { calendar: { unit: calendar.unit, timeZone: calendar.timeZone } }),
    ...(limit.unitsPerMs > 0 && capacity !== max && { burst: capacity }),
    ...(subWindows !== undefined && { subWindows: Number(subWindows) }),
    ...(isAnchored && { anchor: 'first_hit' }),
    ...(limit.countDenied && { countDenied: true }),
  }
}
