import type { Counter, Override } from '../../api/operations.ts'
import type { Entry } from './question.ts'

/** Entries that name a customer, as the service reads them by default. */
const CUSTOMER_KEYS = ['customer', 'customer_id', 'tenant']
const API_KEY_KEYS = ['api_key', 'x-api-key']
/** As many characters of a key are kept for people to see. */
const PREFIX_LENGTH = 8

/** A Caller is how a descriptor names a customer: by its id, or by the beginning of an API key. */
export type Caller =
  | { readonly kind: 'customer'; readonly id: string; readonly at: number }
  | { readonly kind: 'key'; readonly prefix: string; readonly at: number }

/** callerOf says whose request it is, if an entry says so. */
export function callerOf(entries: readonly Entry[]): Caller | undefined {
  for (const [at, { key, value }] of entries.entries()) {
    if (value === '') continue
    if (CUSTOMER_KEYS.includes(key)) return { kind: 'customer', id: value, at }
    if (API_KEY_KEYS.includes(key)) {
      // Never more than a quarter of a key is shown.
      const length = Math.min(PREFIX_LENGTH, Math.floor(value.length / 4))
      if (length > 0) return { kind: 'key', prefix: value.slice(0, length), at }
    }
  }
  return undefined
}

/** overrideName builds the descriptor of an override: the rule of the caller itself, or a level below it. */
export function overrideName(entries: readonly Entry[], { at }: Caller): string {
  const below = entries.slice(at + 1)
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
