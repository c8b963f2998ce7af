import { createHash, randomBytes } from 'node:crypto'
import { type FieldSet, hasOption } from './fields.ts'
import type { Fields } from './gate.ts'

const KEY = 'sec-websocket-key'
/** 16 bytes in base64 (RFC 6455, 4.1). */
const KEY_FORM = /^[A-Za-z0-9+/]{22}==$/
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Returns whether a request has one key of a WebSocket, and no more. */
export function hasSocketKey({ list }: FieldSet): boolean {
  const keys = list.filter((_, i) => i % 2 === 1 && list[i - 1]?.toLowerCase() === KEY)
  return keys.length === 1 && KEY_FORM.test(keys[0] as string)
}

/** Adds the key that HTTP/1.1 requires to a WebSocket from HTTP/2, which has none (RFC 8441, 5). */
export function addSocketKey(fields: FieldSet): void {
  if (fields.value(KEY) === undefined) fields.add(KEY, randomBytes(16).toString('base64'))
}

/**
 * Returns whether a 101 answers the WebSocket that was asked for (RFC 6455, 4.1). Of another, no one knows whether the
 * upstream reads the next bytes as a WebSocket or as requests.
 */
export function acceptsSocket(asked: Fields, answer: FieldSet): boolean {
  const at = asked.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === KEY)
  if (at < 0) return false
  const accept = createHash('sha1')
    .update(`${asked[at + 1]}${GUID}`)
    .digest('base64')
  return (
    answer.value('sec-websocket-accept') === accept &&
    hasOption(answer.upgrade, 'websocket') &&
    hasOption(answer.connection, 'upgrade')
  )
}
