import type { ServerResponse } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'
import { type Problem, problem } from 'sluice/internal/core/http/problem'

/** write answers with a text, unless an answer is under way already. */
export function write(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.headersSent) return
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}

export function writeJson(response: ServerResponse, status: number, type: string, body: object): void {
  write(response, status, type, `${JSON.stringify(body)}\n`)
}

export function writeProblem(response: ServerResponse, body: Problem): void {
  writeJson(response, body.status, 'application/problem+json', body)
}

/**
 * writeError answers with what is wrong with the request. When something is wrong here instead, the client is told no
 * more than that, and `failed` the whole of it.
 */
export function writeError(response: ServerResponse, error: unknown, failed?: (error: unknown) => void): void {
  if (!(error instanceof SluiceError)) {
    failed?.(error)
    writeProblem(response, problem(500, 'Internal Server Error', 'the request could not be decided'))
  } else if (error.code === 'BODY_TOO_LARGE') {
    // The rest of the body is not read, so that the connection cannot be used again.
    response.setHeader('Connection', 'close')
    writeProblem(response, problem(413, 'Content Too Large', error.message, error.code))
  } else if (error.code === 'BODIES_TOO_MANY') {
    response.setHeader('Connection', 'close')
    response.setHeader('Retry-After', '1')
    writeProblem(response, problem(503, 'Service Unavailable', error.message, error.code))
  } else {
    writeProblem(response, problem(400, 'Bad Request', error.message, error.code))
  }
}
