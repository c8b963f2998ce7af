import { SluiceError } from 'sluice/internal/core/errors'
import type { AnyOperation, Method } from './operation.ts'

/** A Match is an operation that a request's path and method lead to, and the path's parameters, decoded once. */
export interface Match {
  readonly operation: AnyOperation
  readonly params: Readonly<Record<string, string>>
}

interface Place {
  readonly segments: readonly string[]
  readonly methods: Map<string, AnyOperation>
}

/** PathTable finds operations. A path is matched segment by segment, as it came: what is decoded is never split again. */
export class PathTable {
  readonly #places = new Map<string, Place>()
  readonly #prefix: string

  constructor(prefix: string, operations: readonly AnyOperation[]) {
    this.#prefix = prefix
    for (const each of operations) {
      const place = this.#places.get(each.path) ?? { segments: each.path.slice(1).split('/'), methods: new Map() }
      place.methods.set(each.method, each)
      this.#places.set(each.path, place)
    }
  }

  /** find throws ADMIN_PATH_UNKNOWN, or a MethodInvalid with the methods that there are. */
  find(method: string, path: string): Match {
    const given = path.slice(this.#prefix.length + 1).split('/')
    const params = given.map(decoded)
    for (const { segments, methods } of this.#places.values()) {
      if (!fits(segments, given)) continue
      const operation = methods.get(method === 'HEAD' ? 'GET' : method)
      if (operation === undefined) throw new MethodInvalid([...methods.keys()] as Method[])
      const named = segments.flatMap((segment, i) => (isParam(segment) ? [[segment.slice(1, -1), params[i]]] : []))
      return { operation, params: Object.fromEntries(named) }
    }
    throw unknown('no such path')
  }
}

/** MethodInvalid is ADMIN_METHOD_INVALID, with what `Allow` is to say. */
export class MethodInvalid extends SluiceError {
  readonly allow: string

  constructor(methods: readonly Method[]) {
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
    super('ADMIN_METHOD_INVALID', 'method', `the path takes ${allow}`)
    this.allow = allow
  }
}

const isParam = (segment: string): boolean => segment.startsWith('{')

// Literal segments come before parameters by their order in the table: `session` is no customer.
function fits(segments: readonly string[], given: readonly string[]): boolean {
  return segments.length === given.length && segments.every((each, i) => isParam(each) || each === given[i])
}

/** What no id has: control characters, and what a second decoder, or a file system, would take for something else. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\\/]/

function decoded(segment: string): string {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw unknown('an escape that is not UTF-8')
  }
  if (text === '' || text === '.' || text === '..' || FORBIDDEN.test(text)) {
    throw unknown('an empty segment, a dot segment, a slash or a control character')
  }
  return text
}

function unknown(detail: string): SluiceError {
  return new SluiceError('ADMIN_PATH_UNKNOWN', 'path', detail)
}
