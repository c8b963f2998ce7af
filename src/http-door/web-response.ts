import type { Decision } from '../core/combine.ts'
import type { FieldList } from '../core/http/field-list.ts'
import type { Refusal } from '../core/http/refusal.ts'
import { mergeFields } from './field-merge.ts'

/** Sets fields on the answer to a request, which is what limiters of one request have in common. */
export function addFields(about: object, headers: Headers, fields: FieldList, decision: Decision): void {
  const get = (_about: object, name: string): string | null => headers.get(name)
  const set = (_about: object, name: string, value: string): void => headers.set(name, value)
  mergeFields(about, fields, decision, get, set)
}

/** Returns a response whose headers can be set: fetched responses and redirections are copied. */
export function changeable(response: Response): Response {
  try {
    response.headers.delete('Sluice-Unused')
    return response
  } catch {
    return new Response(response.body, response)
  }
}

/**
 * Whether an answer must not be changed: one that hands its connection over (101), which runtimes need unchanged, and
 * Response.error().
 */
export function isFixed({ status }: Response): boolean {
  return status < 200
}

/**
 * Returns the headers of a refusal's answer, apart from the rate limit fields: a rule's headers do not replace these.
 */
export function refusalHeaders({ contentType, body, headers }: Refusal, fields: FieldList): [string, string][] {
  const taken = new Set(fields.names.slice(0, fields.length).map((name) => name.toLowerCase()))
  return [
    ...headers
      .filter(([name]) => !taken.has(name.toLowerCase()))
      .map(([name, value]): [string, string] => [name, value]),
    ['Cache-Control', 'no-store'],
    ['Content-Type', contentType],
    ['Content-Length', String(new TextEncoder().encode(body).length)],
  ]
}

/**
 * Returns a response that reports once how its sending ended: true when the body was read to its end, false when that
 * was aborted or failed. A response without a body counts as sent.
 */
export function watchBody(response: Response, ended: (isWhole: boolean) => void): Response {
  if (response.body === null) {
    ended(true)
    return response
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          ended(true)
          controller.close()
        } catch (error) {
          ended(false)
          controller.error(error)
        }
      },
      cancel(reason) {
        ended(false)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(watched, response)
}
