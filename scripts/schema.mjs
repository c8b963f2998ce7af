// Writes the JSON Schemas of the packages from the rule language and the form of routes files. Tests compare them, so
// that they never drift apart.
import { mkdirSync, writeFileSync } from 'node:fs'
import { ruleJsonSchema } from '../dist/core/rules/json-schema.js'
import { routesJsonSchema } from '../server/dist/edge/gateway-rules/file/json-schema.js'

function write(folder, name, schema) {
  const to = new URL(`../${folder}/`, import.meta.url)
  mkdirSync(to, { recursive: true })
  writeFileSync(new URL(name, to), `${JSON.stringify(schema, null, 2)}\n`)
}

write('schema', 'rules.schema.json', ruleJsonSchema())
write('server/schema', 'routes.schema.json', routesJsonSchema())
