import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** An HTTP server on loopback that answers as a test has it answer. It ends with the test. */
export interface RulesServer {
  readonly url: URL
  /** What it was asked, the newest last. */
  readonly requests: IncomingMessage[]
  /** Has it answer so from now on. */
  answer(listener: RequestListener): void
}

/** Starts one, with TLS where there are options for that. */
export async function startRulesServer(listener: RequestListener, tls?: ServerOptions): Promise<RulesServer> {
  let current = listener
  const requests: IncomingMessage[] = []
  const listening: RequestListener = (request, response) => {
    requests.push(request)
    current(request, response)
  }
  const server = tls === undefined ? createServer(listening) : createTlsServer(tls, listening)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const url = new URL(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/rules.yaml`)
  return {
    url,
    requests,
    answer: (next) => {
      current = next
    },
  }
}

/** Answers with a text, and with 304 to those who know it. */
export function text(body: string, etag = `"${createHash('sha256').update(body).digest('hex')}"`): RequestListener {
  return (request, response) => {
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, { etag }).end()
      return
    }
    response.writeHead(200, { etag, 'content-length': Buffer.byteLength(body) }).end(body)
  }
}

/** Answers with a status and nothing else. */
export function status(code: number, headers: Record<string, string> = {}): RequestListener {
  return (_, response: ServerResponse) => {
    response.writeHead(code, headers).end()
  }
}
