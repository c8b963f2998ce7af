import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Decision } from '../../core/combine.ts'
import { SluiceError } from '../../core/errors.ts'
import { decisionJson } from '../../core/http/decision-json.ts'
import { rateLimitFields } from '../../core/http/fields.ts'
import { type Problem, problem } from '../../core/http/problem.ts'
import type { CheckRequest } from '../../core/request.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { readBody } from './body.ts'
import { parseCheckRequest } from './check-request.ts'

/** What the door needs of the engine. */
export interface Checker {
  check(request: CheckRequest): MaybePromise<Decision>
}

/** checkServer answers POST /v1/check (200 or 429, the decision as JSON and as fields) and GET /healthcheck. */
export function checkServer(limiter: Checker): Server {
  const server = createServer((request, response) => {
    answer(limiter, request, response).catch((error: unknown) => writeError(response, error))
  })
  server.requestTimeout = 10_000
  server.headersTimeout = 5_000
  return server
}

async function answer(limiter: Checker, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path] = (request.url ?? '/').split('?', 1)
  const methods = ROUTES.get(path)
  if (methods === undefined) {
    return writeProblem(response, problem(404, 'Not Found', `no such path; try ${[...ROUTES.keys()].join(' or ')}`))
  }
  if (!methods.includes(request.method ?? '')) {
    response.setHeader('Allow', methods.join(', '))
    return writeProblem(response, problem(405, 'Method Not Allowed', `${path} takes ${methods.join(' or ')}`))
  }
  if (path === '/healthcheck') {
    return write(response, 200, 'text/plain', 'OK\n')
  }
  writeDecision(response, await limiter.check(parseCheckRequest(await readBody(request))))
}

const ROUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/v1/check', ['POST']],
  ['/healthcheck', ['GET', 'HEAD']],
])

function writeDecision(response: ServerResponse, decision: Decision): void {
  for (const [name, value] of rateLimitFields(decision, Date.now())) response.setHeader(name, value)
  response.setHeader('Cache-Control', 'no-store')
  writeJson(response, decision.allowed ? 200 : 429, 'application/json', decisionJson(decision))
}

function writeError(response: ServerResponse, error: unknown): void {
  if (!(error instanceof SluiceError)) {
    writeProblem(response, problem(500, 'Internal Server Error', 'the request could not be decided'))
  } else if (error.code === 'BODY_TOO_LARGE') {
    // The rest of the body is not read, so that the connection cannot be used again.
    response.setHeader('Connection', 'close')
    writeProblem(response, problem(413, 'Content Too Large', error.message, error.code))
  } else {
    writeProblem(response, problem(400, 'Bad Request', error.message, error.code))
  }
}

function writeProblem(response: ServerResponse, body: Problem): void {
  writeJson(response, body.status, 'application/problem+json', body)
}

function writeJson(response: ServerResponse, status: number, type: string, body: object): void {
  write(response, status, type, `${JSON.stringify(body)}\n`)
}

function write(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.headersSent) return
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}
