import type { Preview } from '../api/operations.ts'

type Change = Pick<Preview['changes'][number], 'kind' | 'table' | 'id' | 'before' | 'after'>

const NAMES: Readonly<Record<string, string>> = {
  customers: 'customer',
  api_keys: 'API key',
  overrides: 'override',
  grants: 'grant',
  blocks: 'block',
  tiers: 'tier',
  switches: 'switch',
  rules: 'rules',
  token: 'token',
  webhook: 'webhook',
}

const MADE_UP = /^[0-9a-f]{8}-[0-9a-f]{4}-/i

/** changeTitle says what is made, removed or changed. An id that was made up says nothing to anybody. */
export function changeTitle({ kind, table, id, before, after }: Change): string {
  const name = NAMES[table ?? kind] ?? table ?? kind
  const called = id === null || MADE_UP.test(id) ? name : `${name} ${id}`
  if (before === null && after !== null) return kind === 'rules' ? capital(called) : `New ${called}`
  return after === null ? `${capital(called)} is removed` : capital(called)
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** fieldWords reads the name of a field as words: requests per unit. */
export const fieldWords = (field: string): string => field.replaceAll('_', ' ')

/** isTime is true for a time in the format of the API. */
export const isTime = (value: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)
