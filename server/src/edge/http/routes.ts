import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { problem } from 'sluice/internal/core/http/problem'
import { writeError, writeProblem } from './write.ts'

/** A Route answers the requests to one path. */
export interface Route {
  readonly methods: readonly string[]
  answer(request: IncomingMessage, response: ServerResponse): void | Promise<void>
}

const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000

/**
 * routeServer serves a few paths. It answers 404 and 405 as problems, and so every error of a route; `failed` is told of
 * those that are nobody's fault but ours. Clients have 5 s for their headers and 10 s for a whole request.
 */
export function routeServer(routes: ReadonlyMap<string, Route>, failed?: (error: unknown) => void): Server {
  const server = createServer((request, response) => {
    answer(routes, request, response).catch((error: unknown) => writeError(response, error, failed))
  })
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  return server
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
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
