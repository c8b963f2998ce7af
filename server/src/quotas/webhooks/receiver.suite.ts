import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A Received is one request that a receiver got. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A WebhookReceiver is an HTTP server that notes what it gets, and answers with `status`, or never. */
export interface WebhookReceiver {
  readonly url: string
  readonly received: Received[]
  status: number | 'never'
}

/** Starts a receiver on loopback. It ends with the test. */
export async function startReceiver(status: number | 'never' = 204): Promise<WebhookReceiver> {
  const server = createServer(async (request, response) => {
    receiver.received.push({ headers: request.headers, body: await text(request) })
    if (receiver.status !== 'never') response.writeHead(receiver.status, { location: '/elsewhere' }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const receiver: WebhookReceiver = { url, received: [], status }
  return receiver
}
