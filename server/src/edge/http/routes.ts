import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { problem } from 'sluice/internal/core/http/problem'
import { ClientLeft } from './body.ts'
import { boundConnections, DEFAULT_HTTP_BOUNDS, type HttpBounds } from './bounds.ts'
import type { HostNames } from './host-names.ts'
import { writeError, writeProblem } from './write.ts'

/** Answers the requests to one path. */
export interface Route {
  readonly methods: readonly string[]
  answer(request: IncomingMessage, response: ServerResponse): void | Promise<void>
}

/** The options of a routeServer. */
export interface RouteServerOptions {
  /** Called with internal errors. */
  readonly failed?: ((error: unknown) => void) | undefined
  readonly bounds?: Partial<HttpBounds> | undefined
  /** The names that it answers to. Default: every name. */
  readonly hosts?: HostNames | undefined
  /** What every answer has, refusals included. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Hears every request first, with its path; what it throws is the answer. */
  readonly guard?:
    | ((request: IncomingMessage, response: ServerResponse, path: string) => void | Promise<void>)
    | undefined
  /** Answers all paths that begin with `prefix`, except those with a route. */
  readonly below?: Below | undefined
  /** Is asked about every other path before that is answered 404. It says whether it has answered. */
  readonly otherwise?:
    | ((request: IncomingMessage, response: ServerResponse, path: string) => Promise<boolean>)
    | undefined
}

export interface Below {
  readonly prefix: string
  answer: Route['answer']
}

/**
 * Serves a few paths. Answers 404 and 405, and every error of a route, as problems; `failed` is called with internal
 * errors. Clients have 5 s for their headers and 10 s for a whole request.
 */
export function routeServer(routes: ReadonlyMap<string, Route>, options: RouteServerOptions = {}): Server {
  const { failed, bounds = {} } = options
  const { headersTimeoutMs, requestTimeoutMs, lookEveryMs, maxConnections } = { ...DEFAULT_HTTP_BOUNDS, ...bounds }
  const times = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: lookEveryMs,
  }
  const server = createServer(times, (request, response) => {
    answer(routes, request, response, options).catch((error: unknown) => {
      if (!(error instanceof ClientLeft)) writeError(response, error, failed)
    })
  })
  boundConnections(server, maxConnections)
  return server
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
  { hosts, headers = {}, guard, below, otherwise }: RouteServerOptions,
): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  hosts?.require(request)
  const [path] = (request.url ?? '/').split('?', 1)
  await guard?.(request, response, path)
  const route = routes.get(path)
  if (route === undefined && below !== undefined && path.startsWith(below.prefix))
    return below.answer(request, response)
  if (route === undefined) {
    if (await otherwise?.(request, response, path)) return
    const detail = `no such path; try ${[...routes.keys()].join(', ')}`
    return writeProblem(response, problem(404, 'Not Found', detail))
  }
  const { methods } = route
  if (!methods.includes(request.method ?? '')) {
    response.setHeader('Allow', methods.join(', '))
    return writeProblem(response, problem(405, 'Method Not Allowed', `${path} takes ${methods.join(' or ')}`))
  }
  return route.answer(request, response)
}
