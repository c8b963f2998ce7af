import type { ServerResponse } from 'node:http'
import type { Decision } from '../core/combine.ts'
import type { FieldList } from '../core/http/field-list.ts'
import type { Refusal } from '../core/http/refusal.ts'
import { mergeFields } from './field-merge.ts'
import { runAfter } from './long-wait.ts'

/** Sets the fields of an answer that has not begun, in addition to the fields of other middleware. */
export function writeFields(response: ServerResponse, fields: FieldList, decision: Decision): void {
  if (!response.headersSent) mergeFields(response, fields, decision, getField, setField)
}

const getField = (response: ServerResponse, name: string): unknown => response.getHeader(name)
const setField = (response: ServerResponse, name: string, value: string): unknown => response.setHeader(name, value)

/** Sends the answer to a refused request. The fields are set already, and a rule's own do not replace them. */
export function sendRefusal(response: ServerResponse, refusal: Refusal, isHead: boolean): void {
  if (response.headersSent || response.writableEnded) return
  const { status, contentType, body, headers } = refusal
  for (const [name, value] of headers) if (!response.hasHeader(name)) response.setHeader(name, value)
  response.statusCode = status
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Type', contentType)
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(isHead ? undefined : body)
}

/** Continues after `ms`, or reports that the client has left by then: one of the two, once. */
export function holdBack(response: ServerResponse, ms: number, goOn: () => void, left: () => void = () => {}): void {
  if (isClosed(response)) {
    left()
    return
  }
  const leave = (): void => {
    stop()
    left()
  }
  const stop = runAfter(ms, () => {
    response.off('close', leave)
    goOn()
  })
  response.once('close', leave)
}

export function isClosed(response: ServerResponse): boolean {
  return response.closed || response.destroyed
}
