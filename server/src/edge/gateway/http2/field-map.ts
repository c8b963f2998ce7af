import type { OutgoingHttpHeaders } from 'node:http2'
import { FieldSet, trailerFault } from '../fields.ts'
import type { Fields } from '../gate.ts'

/** Converts fields for node:http2: names in lower case, repeats joined, cookies that are set apart. */
export function fieldMap(fields: Fields): OutgoingHttpHeaders {
  const map: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase()
    const value = fields[i + 1] as string
    const before = map[name]
    if (name === 'set-cookie') map[name] = before === undefined ? [value] : [...(before as string[]), value]
    else map[name] = before === undefined ? value : `${before as string}, ${value}`
  }
  return map
}

/** Reads the fields of HTTP/2 as they came, without pseudo-headers, or says what is wrong with one. */
export function readFields(raw: readonly string[]): FieldSet | string {
  const fields = new FieldSet()
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.charCodeAt(0) === COLON) continue
    const wrong = fields.add(name, raw[i + 1] as string)
    if (wrong !== undefined) return wrong
  }
  return fields
}

/** Reads trailers as they came, or says what is wrong with them. */
export function readTrailers(raw: readonly string[]): FieldSet | string {
  const fields = readFields(raw)
  return typeof fields === 'string' ? fields : (trailerFault(fields) ?? fields)
}

/** Returns a pseudo-header. They come first. */
export function pseudo(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i < raw.length && raw[i]?.charCodeAt(0) === COLON; i += 2) if (raw[i] === name) return raw[i + 1]
  return undefined
}

const COLON = 0x3a
