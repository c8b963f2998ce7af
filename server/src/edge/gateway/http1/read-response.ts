import type { FieldSet } from '../fields.ts'
import { readLength } from '../request-head.ts'
import { readFieldLines } from './field-lines.ts'

const LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\r\n]*)?$/

/** Lengths of a body that are none: chunks, or all that comes until the connection ends. */
export const CHUNKED = -1
export const UNTIL_CLOSE = -2

export interface ResponseHead {
  readonly status: number
  readonly minor: string
  readonly fields: FieldSet
  /** How long the body is, CHUNKED or UNTIL_CLOSE; what the method and the status say of bodies is not looked at. */
  readonly bodyLength: number
}

/** Reads a head without its empty line, or says what is wrong with it. */
export function readResponse(text: string, maxHeaders: number): ResponseHead | string {
  const lineEnd = text.indexOf('\r\n')
  const line = LINE.exec(lineEnd < 0 ? text : text.slice(0, lineEnd))
  if (line === null) return 'the status line is no HTTP/1.1'
  const fields = readFieldLines(text, lineEnd < 0 ? text.length : lineEnd + 2, maxHeaders)
  if (typeof fields === 'string') return fields
  const bodyLength = framing(fields)
  if (typeof bodyLength === 'string') return bodyLength
  return { status: Number(line[2]), minor: line[1] as string, fields, bodyLength }
}

function framing({ lengths, length, codings, coding, list }: FieldSet): number | string {
  if (codings > 0) {
    if (lengths > 0) return 'there are both Content-Length and Transfer-Encoding'
    return codings === 1 && coding.toLowerCase() === 'chunked' ? CHUNKED : 'Transfer-Encoding is not chunked'
  }
  if (lengths === 0) return UNTIL_CLOSE
  const value = readLength(length)
  if (value < 0) return 'Content-Length is not a number'
  return lengths === 1 || agree(list, length) ? value : 'there are several Content-Length fields'
}

/** Returns whether a repeated Content-Length repeats itself (RFC 9112, 6.3). */
function agree(list: readonly string[], length: string): boolean {
  return list.every((name, i) => i % 2 === 1 || name.toLowerCase() !== 'content-length' || list[i + 1] === length)
}
