import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, runMain } from './setup.mjs'

// Writes dashboard/src/api/operations.ts, the types of the admin API, and record-fields.ts, the fields of the forms,
// from the table that checks its requests. The build calls it: git has neither.

/** What it writes. */
export const dashboardApi = ['dashboard/src/api/operations.ts', 'dashboard/src/api/record-fields.ts']

/** Writes an OpenAPI document as TypeScript: an interface for each schema, and one entry for each operation. */
function dashboardTypes({ components, paths }) {
  const schemas = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1))
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method.toUpperCase(), operation)),
  )
  return [
    '// Written by scripts/dashboard-types.mjs from the operations of the admin API. Do not edit.',
    '/** Nothing is what an operation takes that takes nothing. */',
    'export type Nothing = Readonly<Record<never, never>>',
    ...schemas.map(([name, schema]) => `export type ${name} = ${typeOf(schema)}`),
    '/** Operations are what can be asked, by their ids: what each takes and answers. */',
    `export interface Operations {\n${operations.map(({ id, type }) => `${id}: ${type}`).join('\n')}\n}`,
    '/** OPERATIONS says how each is asked. */',
    `export const OPERATIONS: { readonly [K in keyof Operations]: readonly [method: string, path: string] } = {\n${operations.map(({ id, method, path }) => `${id}: ['${method}', '${path}'],`).join('\n')}\n}`,
    '',
  ].join('\n\n')
}

/** What every change takes that no page has for one of its fields. */
const NOT_OF_PAGES = new Set(['dry_run', 'wait'])

function operationOf(path, method, { operationId: id, parameters, requestBody, responses }) {
  const of = (place) => parameters.filter((each) => each.in === place)
  const fields = (list) =>
    list.length === 0
      ? 'Nothing'
      : `{ ${list.map(({ name, required, schema }) => `readonly ${name}${required ? '' : '?'}: ${typeOf(schema)}${required ? '' : ' | undefined'}`).join('; ')} }`
  const body = requestBody === undefined ? 'undefined' : typeOf(requestBody.content['application/json'].schema)
  const answer = (responses[201] ?? responses[200])?.content?.['application/json']?.schema
  const query = of('query').filter(({ name }) => !NOT_OF_PAGES.has(name))
  const type = `{ params: ${fields(of('path'))}; query: ${fields(query)}; body: ${body}; answer: ${answer === undefined ? 'undefined' : answerOf(answer)} }`
  return { id, method, path, type }
}

/**
 * A change answers with a Preview in place of its answer when it is only tried; the client knows which it asked for.
 */
function answerOf(schema) {
  const forms = (schema.oneOf ?? [schema]).filter(({ $ref }) => $ref !== '#/components/schemas/Preview')
  return forms.length === 0 ? 'undefined' : forms.map(typeOf).join(' | ')
}

function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  // A named form, and a remark about what it means in this place.
  if (schema.allOf?.length === 1) return typeOf(schema.allOf[0])
  const any = schema.anyOf ?? schema.oneOf
  if (any !== undefined) return any.map(typeOf).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const types = [schema.type].flat()
  return types.map((type) => plainType(type, schema)).join(' | ')
}

function plainType(type, schema) {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return `readonly (${typeOf(schema.items)})[]`
  if (type === 'object') return objectType(schema)
  return type ?? 'unknown'
}

function objectType({ properties, required = [], additionalProperties }) {
  if (properties === undefined) {
    return `{ readonly [name: string]: ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'} }`
  }
  const fields = Object.entries(properties).map(([name, schema]) => {
    const doc = schema.description === undefined ? '' : `/** ${schema.description} */\n`
    const isNeeded = required.includes(name)
    return `${doc}readonly ${JSON.stringify(name)}${isNeeded ? '' : '?'}: ${typeOf(schema)}${isNeeded ? '' : ' | undefined'}`
  })
  return `{\n${fields.join('\n')}\n}`
}

/** The operations that have a form in the dashboard. */
const FORMS = [
  ...['createCustomer', 'changeCustomer', 'createKey', 'createGrant', 'createOverride', 'createBlock', 'createToken'],
  ...['createWebhook', 'changeWebhook'],
]

/**
 * dashboardFields writes the fields of the forms as TypeScript: the kind of each, its bounds, and its sentence of the
 * API.
 */
function dashboardFields({ components, paths }) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const forms = FORMS.map((id) => {
    const { $ref } = operations.find(({ operationId }) => operationId === id).requestBody.content['application/json']
      .schema
    const { properties, required = [] } = components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
    const fields = Object.entries(properties).map(([name, schema]) => {
      const field = { ...limitsOf(nullable(schema)), ...(required.includes(name) && { isNeeded: true }) }
      return `${name}: ${JSON.stringify({ ...field, ...(schema.description && { doc: schema.description }) })},`
    })
    return `${id}: {\n${fields.join('\n')}\n},`
  })
  return [
    '// Written by scripts/dashboard-types.mjs from the operations of the admin API. Do not edit.',
    '/** FIELDS are the fields that forms ask for, by operation, in the order of the API. */',
    `export const FIELDS = {\n${forms.join('\n')}\n} as const`,
    '',
  ].join('\n\n')
}

/** nullable returns the one form of a field that may be null. */
const nullable = (schema) => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema

function limitsOf({ type, pattern, maxLength, minimum, maximum, enum: of, items, maxItems }) {
  if (of !== undefined) return { kind: 'choice', of }
  if (type === 'boolean') return { kind: 'boolean' }
  if (type === 'object') return { kind: 'pairs' }
  if (type === 'integer') return { kind: 'integer', min: minimum, max: maximum }
  if (type === 'array' && items.type === 'integer') {
    return { kind: 'integers', min: items.minimum, max: items.maximum, most: maxItems }
  }
  if (/^\^\[0-9\]\{4\}-/.test(pattern ?? '')) return { kind: pattern.includes('T') ? 'time' : 'date' }
  const max = maxLength ?? longest(pattern)
  return { kind: 'text', ...(max !== undefined && { max }) }
}

/** longest returns how many characters a pattern of classes takes at most, such as `^[a-z][a-z0-9]{0,63}$`. */
function longest(pattern = '') {
  const parts = [...pattern.matchAll(/\[(?:\\.|[^\]\\])*\](?:\{\d+,(\d+)\})?/g)]
  const isWhole = `^${parts.map(([part]) => part).join('')}$` === pattern
  return isWhole && parts.length > 0 ? parts.reduce((sum, [, most]) => sum + Number(most ?? 1), 0) : undefined
}

/** apiDocument reads the OpenAPI document of the built service. */
async function apiDocument() {
  const { operationsOf } = await import('../server/dist/admin/operations.js')
  const { openApi } = await import('../server/dist/admin/api/open-api.js')
  return openApi(operationsOf(''), '')
}

async function main() {
  const document = await apiDocument()
  for (const [i, text] of [dashboardTypes(document), dashboardFields(document)].entries()) {
    const file = join(root, dashboardApi[i])
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
