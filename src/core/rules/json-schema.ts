import { LIMIT_OPTIONS, type LimitOption } from '../limit-options.ts'
import { toJsonSchema } from '../schema/json-schema.ts'
import { RULE_FILE } from './schema.ts'

/** Returns the rule language as a JSON Schema, for editors. */
export function ruleJsonSchema(): object {
  const schema = toJsonSchema(RULE_FILE) as { definitions: Record<'limit' | 'defaults', Described> }
  const { limit, defaults } = schema.definitions
  for (const [key, row] of Object.entries<LimitOption>(LIMIT_OPTIONS)) {
    for (const { properties } of row.single === true ? [limit] : [limit, defaults]) {
      properties[key] = { ...properties[key], ...boundsOf(row), description: descriptionOf(row) }
    }
  }
  return { title: 'Sluice rules', ...schema }
}

interface Described {
  readonly properties: Record<string, object>
}

/** Returns what compileLimit checks and a JSON Schema can say. Bounds of durations it cannot. */
function boundsOf({ schema, within }: LimitOption): object {
  return schema.kind === 'integer' && within !== undefined ? { minimum: within[0], maximum: within[1] } : {}
}

/** Adds to the doc line of an option where it has an effect, and its default. */
function descriptionOf({ doc, algorithms = [], needs, default: usual }: LimitOption): string {
  // A long list of algorithms is all but one: not worth a look.
  const where = algorithms.length > 3 ? [] : [...algorithms, ...(needs ? [needs.join(': ')] : [])]
  const prefix = where.length === 0 ? '' : `${where.join(', ')}: `
  return `${prefix}${doc}${usual === undefined ? '' : `. Default: ${usual}`}`
}
