import { toJsonSchema } from 'sluice/internal/core/schema/json-schema'
import { ROUTES_FILE } from './schema.ts'

/** Returns the form of routes files as a JSON Schema, for editors. */
export function routesJsonSchema(): object {
  return { title: 'Sluice routes', ...toJsonSchema(ROUTES_FILE) }
}
