import type { KnownFields } from '../traffic/formats.ts'
import { fieldsNeeded } from './field-values.ts'
import { parseTemplate, type Template } from './template.ts'

/** What entries are commonly called, and the field that they are. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['authority', 'host'],
  ['client_ip', 'ip'],
  ['user_id', 'user'],
  ['route', 'endpoint'],
])

/** Entries that say who is calling, the best first. */
export const CALLERS = [
  'customer',
  'tenant',
  'user',
  'user_id',
  'api_key',
  'ip',
  'client_ip',
  'remote_address',
] as const

/** Returns how the value of an entry is made: as given, or of the field of its name. */
export function templateOf(key: string, given: ReadonlyMap<string, string>): Template {
  const text = given.get(key)
  if (text !== undefined) return parseTemplate(text, `--entry ${key}`)
  return { texts: ['', ''], fields: [SYNONYMS.get(key) ?? key] }
}

/** Returns whether a log may have a field, or what it is made of. */
export function isField(field: string, { names, direct }: KnownFields): boolean {
  return names === undefined || fieldsNeeded(field, direct).some((each) => names.has(each))
}
