// Writes schema/rules.schema.json from the rule language. A test compares the two, so that they never drift apart.
import { mkdirSync, writeFileSync } from 'node:fs'
import { ruleJsonSchema } from '../dist/core/rules/json-schema.js'

mkdirSync(new URL('../schema/', import.meta.url), { recursive: true })
writeFileSync(new URL('../schema/rules.schema.json', import.meta.url), `${JSON.stringify(ruleJsonSchema(), null, 2)}\n`)
