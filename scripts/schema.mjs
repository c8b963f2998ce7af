// Writes the files of schema/ from the rule language and the form of routes files. Tests compare them, so that they
// never drift apart.
import { mkdirSync, writeFileSync } from 'node:fs'
import { ruleJsonSchema } from '../dist/core/rules/json-schema.js'
import { routesJsonSchema } from '../server/dist/edge/gateway-rules/file/json-schema.js'

mkdirSync(new URL('../schema/', import.meta.url), { recursive: true })
const write = (name, schema) =>
  writeFileSync(new URL(`../schema/${name}`, import.meta.url), `${JSON.stringify(schema, null, 2)}\n`)
write('rules.schema.json', ruleJsonSchema())
write('routes.schema.json', routesJsonSchema())
