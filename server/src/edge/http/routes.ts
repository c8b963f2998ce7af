import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { problem } from 'sluice/internal/core/http/problem'
import { ClientLeft } from './body.ts'
import { boundConnections, DEFAULT_HTTP_BOUNDS, type HttpBounds } from './bounds.ts'
import type { HostNames } from './host-names.ts'
import { writeError, writeProblem } from './write.ts'

/** A Route answers the requests to one path. */
export interface Route {
  readonly methods: readonly string[]
  answer(request: IncomingMessage, response: ServerResponse): void | Promise<void>
}

/** RouteServerOptions are what a routeServer may be told. */
export interface RouteServerOptions {
  /** Told of errors of our own. */
  readonly failed?: ((error: unknown) => void) | undefined
  readonly bounds?: Partial<HttpBounds> | undefined
  /** The names that it answers to. Default: every name. */
  readonly hosts?: HostNames | undefined
}

/**
 * routeServer serves a few paths. It answers 404 and 405 as problems, and so every error of a route; `failed` is told of
 * those of our own. Clients have 5 s for their headers and 10 s for a whole request.
 */
export function routeServer(
  routes: ReadonlyMap<string, Route>,
  { failed, bounds = {}, hosts }: RouteServerOptions = {},
): Server {
  const { headersTimeoutMs, requestTimeoutMs, lookEveryMs, maxConnections } = { ...DEFAULT_HTTP_BOUNDS, ...bounds }
  const options = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: lookEveryMs,
  }
  const server = createServer(options, (request, response) => {
    answer(routes, request, response, hosts).catch((error: unknown) => {
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
  hosts: HostNames | undefined,
): Promise<void> {
  hosts?.require(request)
  const [path] = (request.url ?? '/').split('?', 1)
  const route = routes.get(path)
  if (route === undefined) {
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
