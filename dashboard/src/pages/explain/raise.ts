import type { Counter, Override } from '../../api/operations.ts'
import type { Entry } from './question.ts'

/** Entries that say who is calling, as the service reads them by default. */
const CALLER_KEYS = ['customer', 'customer_id', 'tenant', 'api_key', 'x-api-key']

/** Returns the position of the entry that names a customer or carries an API key. */
export function callerAt(entries: readonly Entry[]): number {
  return entries.findIndex(({ key }) => CALLER_KEYS.includes(key))
}

/** overrideName builds the descriptor of an override: the rule of the caller itself, or a level below it. */
export function overrideName(entries: readonly Entry[]): string {
  const below = entries.slice(callerAt(entries) + 1)
  if (below.length === 0) return 'default'
  return below.map(({ key, value }) => `${key}=${value}`).join('/')
}

const UNITS: Readonly<Record<string, Override['unit']>> = {
  '1s': 'second',
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
  '7d': 'week',
  '30d': 'month',
  '365d': 'year',
}

/** unitOf reads the unit of a limit out of its words; undefined: it has a window of another length. */
export function unitOf({ described }: Pick<Counter, 'described'>): Override['unit'] | undefined {
  const [, span, calendar] = / per (?:(\d+[a-z]+)|calendar (\w+))/.exec(described) ?? []
  if (calendar !== undefined) return Object.values(UNITS).find((unit) => unit === calendar)
  return span === undefined ? undefined : UNITS[span]
}
