// Writes the JSON Schemas of the packages from the rule language and the form of routes files. Tests compare them, so
// that they never drift apart.
import { mkdirSync, writeFileSync } from 'node:fs'
import { ruleJsonSchema } from '../dist/core/rules/json-schema.js'
import { routesJsonSchema } from '../server/dist/edge/gateway-rules/file/json-schema.js'

function write(folder, name, schema) {
  const to = new URL(`../${folder}/`, import.meta.url)
  mkdirSync(to, { recursive: true })
  writeFileSync(new URL(name, to), `${compact(schema, '')}\n`)
}

/** Formats JSON with what fits into a line on one: half of the size of a line for each value. */
function compact(value, indent) {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || indent.length + line.length <= 120) return line
  const deeper = `${indent} `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Object.entries(value).filter(([, each]) => each !== undefined)
  const items = members.map(([key, each]) => {
    return `${deeper}${Array.isArray(value) ? '' : `${JSON.stringify(key)}: `}${compact(each, deeper)}`
  })
  return `${open}\n${items.join(',\n')}\n${indent}${close}`
}

write('schema', 'rules.schema.json', ruleJsonSchema())
write('server/schema', 'routes.schema.json', routesJsonSchema())
