import { got, SluiceError } from 'sluice/internal/core/errors'
import { findIssues, type Issue } from 'sluice/internal/core/schema/check'
import type { Schema } from 'sluice/internal/core/schema/schema'
import type { PathParam, QueryParam } from './operation.ts'

/** More than any operation takes. */
const MAX_QUERY_PARAMS = 32
const MAX_DEPTH = 32
const MAX_ISSUES = 10

/** readQuery reads a query: each parameter once, and none that is not known. */
export function readQuery(
  url: string,
  known: Readonly<Record<string, QueryParam>>,
): Readonly<Record<string, string | number>> {
  const mark = url.indexOf('?')
  const text = mark < 0 ? '' : url.slice(mark + 1)
  if (countOf(text, '&') >= MAX_QUERY_PARAMS) throw invalid('query', `more than ${MAX_QUERY_PARAMS} parameters`)
  const values: Record<string, string | number> = {}
  for (const [name, value] of new URLSearchParams(text)) {
    if (!Object.hasOwn(known, name)) throw invalid(`query.${shown(name)}`, noSuchParameter(known))
    if (Object.hasOwn(values, name)) throw invalid(`query.${name}`, 'given twice')
    values[name] = readValue(known[name].schema, value, `query.${name}`)
  }
  for (const [name, { required }] of Object.entries(known)) {
    if (required && !Object.hasOwn(values, name)) throw invalid(`query.${name}`, 'missing')
  }
  return values
}

function noSuchParameter(known: Readonly<Record<string, QueryParam>>): string {
  const names = Object.keys(known)
  if (names.length === 0) return 'there is no such parameter: this operation takes none'
  return `there is no such parameter; this operation takes ${names.join(', ')}`
}

/** readParams checks the parameters of a path. One that no record could have leads nowhere. */
export function readParams(
  given: Readonly<Record<string, string>>,
  known: Readonly<Record<string, PathParam>>,
): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [name, readValue(known[name].schema, text, `path.${name}`)]),
  )
}

const DIGITS = /^-?\d{1,15}$/

function readValue(schema: Schema, text: string, where: string): string | number {
  const isNumber = schema.kind === 'number' || schema.kind === 'integer'
  if (isNumber && !DIGITS.test(text)) throw invalid(where, `not a whole number: ${got(text)}`)
  const value = isNumber ? Number(text) : text
  requireForm(schema, value, where)
  return value
}

/** readJson parses a body and holds it to its schema. Nesting is bounded before anything is built. */
export function readJson(text: string, schema: Schema): unknown {
  if (depthOf(text) > MAX_DEPTH) throw invalid('body', `nests deeper than ${MAX_DEPTH} levels`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('body', 'not JSON')
  }
  requireForm(schema, value, 'body')
  return value
}

/** Throws where a value has not the form of its schema. */
export function requireForm(schema: Schema, value: unknown, where: string): void {
  const issues = findIssues(schema, value)
  if (issues.length === 0) return
  const listed = issues.slice(0, MAX_ISSUES).map((issue) => described(issue, where))
  throw new SluiceError('ADMIN_REQUEST_INVALID', listed[0].where, listed.map(withPlace).join('; '))
}

interface Received {
  readonly where: string
  readonly reason: string
}

const withPlace = ({ where, reason }: Received, i: number): string => (i === 0 ? reason : `${where}: ${reason}`)

function described({ path, reason, of, unknownKeys, knownKeys }: Issue, root: string): Received {
  const where = [root, ...path.map((key) => shown(String(key)))].join('.')
  if (of !== 'unknown keys') return { where, reason }
  const names = unknownKeys.slice(0, MAX_ISSUES).map((key) => JSON.stringify(shown(key)))
  return { where, reason: `unknown ${names.join(', ')} (known: ${knownKeys.join(', ')})` }
}

const shown = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text)

function invalid(where: string, detail: string): SluiceError {
  return new SluiceError('ADMIN_REQUEST_INVALID', where, detail)
}

function countOf(text: string, character: string): number {
  let count = 0
  for (let i = text.indexOf(character); i >= 0; i = text.indexOf(character, i + 1)) count++
  return count
}

/** depthOf is how deep brackets nest, outside of strings. */
export function depthOf(json: string): number {
  let depth = 0
  let deepest = 0
  let isText = false
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (isText) {
      if (code === BACKSLASH) i++
      else if (code === QUOTE) isText = false
    } else if (code === QUOTE) isText = true
    else if (code === OPEN_LIST || code === OPEN_OBJECT) deepest = Math.max(deepest, ++depth)
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  return deepest
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
