import { OPERATIONS, type Operations, type Preview } from './operations.ts'
import { ApiProblem, problemOf } from './problem.ts'

export type OperationId = keyof Operations

type Without<T, K extends string> = [keyof T] extends [never] ? { readonly [N in K]?: undefined } : unknown
type Given<T, K extends string> = T extends undefined ? { readonly [N in K]?: undefined } : { readonly [N in K]: T }

/** An Asked names what an operation takes. Parameters and a body are there if the operation has them. */
export type Asked<Id extends OperationId> = ([keyof Operations[Id]['params']] extends [never]
  ? Without<Operations[Id]['params'], 'params'>
  : { readonly params: Operations[Id]['params'] }) &
  Given<Operations[Id]['body'], 'body'> & {
    readonly query?: Operations[Id]['query']
    /** If-Match: the version that the change is about; '*' is any. */
    readonly version?: number | '*'
    /** For the audit log. */
    readonly reason?: string
    /** Repeating a creation with the same key does nothing twice. */
    readonly idempotencyKey?: string
    readonly signal?: AbortSignal
  }

export interface Answer<Id extends OperationId> {
  readonly body: Operations[Id]['answer']
  /** The ETag. */
  readonly version: number | undefined
}

/** What went wrong, and with which operation. */
type Listener = (problem: { readonly status: number; readonly id: OperationId }) => void

/** Notified of every answer that is no success: the session looks for its end. */
const listeners = new Set<Listener>()

export function onProblem(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** ask does an operation of the admin API. It throws an ApiProblem. */
export async function ask<Id extends OperationId>(id: Id, asked: Asked<Id>): Promise<Answer<Id>> {
  const response = await send(id, asked, false)
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json') ?? false
  const body = (isJson ? await response.json() : undefined) as Operations[Id]['answer']
  return { body, version: versionOf(response) }
}

/** preview says what a change would do, and changes nothing. */
export async function preview<Id extends OperationId>(id: Id, asked: Asked<Id>): Promise<Preview> {
  const response = await send(id, asked, true)
  return (await response.json()) as Preview
}

async function send<Id extends OperationId>(id: Id, asked: Asked<Id>, isDry: boolean): Promise<Response> {
  const [method] = OPERATIONS[id]
  const { body, version, reason, idempotencyKey, signal } = asked as Asked<OperationId>
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (version !== undefined) headers['If-Match'] = version === '*' ? '*' : `"${version}"`
  if (reason) headers['Sluice-Reason'] = encodeURIComponent(reason)
  if (idempotencyKey !== undefined && !isDry) headers['Idempotency-Key'] = idempotencyKey
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal !== undefined) init.signal = signal
  const response = await reach(id, addressOf(id, asked, isDry), init)
  if (response.ok) return response
  throw notified(id, await problemOf(response))
}

async function reach(id: OperationId, address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw notified(id, new ApiProblem(0, '', 'The server cannot be reached.'))
  }
}

function notified(id: OperationId, problem: ApiProblem): ApiProblem {
  for (const listener of listeners) listener({ status: problem.status, id })
  return problem
}

/** addressOf builds the address of an operation, also for links. */
export function addressOf<Id extends OperationId>(
  id: Id,
  asked: { readonly params?: object | undefined; readonly query?: object | undefined },
  isDry = false,
): string {
  const [, template] = OPERATIONS[id]
  const { params = {}, query = {} } = asked
  const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(Reflect.get(params, name))))
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (isDry) given.push(['dry_run', 'true'])
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? path : `${path}?${search}`
}

function versionOf(response: Response): number | undefined {
  const version = Number(response.headers.get('ETag')?.replaceAll('"', '') || 'none')
  return Number.isSafeInteger(version) ? version : undefined
}
