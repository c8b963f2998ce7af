import { once } from 'node:events'
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, pipeline } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import { AnswerWatch } from './answer-watch.ts'

let server: Server | undefined

afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  if (server?.listening) await once(server, 'close')
})

/** Has a client ask a server, and leave it when the handler has begun. */
async function visited(
  handler: (response: ServerResponse, watch: AnswerWatch) => void,
  isPromised = false,
): Promise<{ received: unknown[]; response: ServerResponse; watch: AnswerWatch }> {
  const received: unknown[] = []
  let found: { response: ServerResponse; watch: AnswerWatch } | undefined
  server = createServer((_, response) => {
    const ending = { left: () => void received.push('left'), ended: (status?: number) => void received.push(status) }
    found = { response, watch: new AnswerWatch(response, ending, isPromised) }
    handler(response, found.watch)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = httpRequest({ host: '127.0.0.1', port, agent: false })
  client.on('error', () => {})
  client.on('response', (response) => response.on('error', () => {}).resume())
  client.end()
  await until('the handler has begun', () => found !== undefined)
  client.destroy()
  await until('the client has left', () => found?.response.closed === true)
  return { received, ...(found as NonNullable<typeof found>) }
}

describe('of a client that left, an AnswerWatch reports the end', () => {
  it('when the handler ends the response', async () => {
    const { received, response } = await visited(() => {})
    expect(received).toEqual(['left'])
    response.setHeader('a', 'b')
    response.end('late')
    response.end()
    expect(received).toEqual(['left', undefined])
  })

  it('when the handler gives the response up', async () => {
    const { received, response } = await visited(() => {})
    response.destroy()
    expect(received).toEqual(['left', undefined])
  })

  it('when what was piped into the response has lost its way out', async () => {
    const piped = await visited((response) => void new PassThrough().pipe(response))
    await until('the pipe is gone', () => piped.received.length === 2)
    const joined = await visited((response) => pipeline(new PassThrough(), response, () => {}))
    await until('the pipe is gone', () => joined.received.length === 2)
    expect([piped.received, joined.received]).toEqual([
      ['left', undefined],
      ['left', undefined],
    ])
  })

  it('when the handler’s promise is settled, and not before', async () => {
    const { received, watch, response } = await visited(() => {}, true)
    response.end()
    expect(received).toEqual(['left'])
    watch.workEnded()
    watch.workEnded()
    expect(received).toEqual(['left', undefined])
  })

  it('when a handler that answers later ends the response after its promise is settled', async () => {
    const { received, watch, response } = await visited(() => {}, true)
    watch.workGoesOn()
    expect(received).toEqual(['left'])
    response.end()
    expect(received).toEqual(['left', undefined])
  })

  it('immediately when the handler had ended before', async () => {
    const { received } = await visited((_, watch) => watch.workEnded(), true)
    expect(received).toEqual(['left', undefined])
  })
})

describe('an AnswerWatch', () => {
  it('reports that a handler gave up the response whose client is still there', async () => {
    const { received } = await visited((response) => void response.destroy())
    expect(received).toEqual(['left', undefined])
  })

  it('knows a client that left before it was made', async () => {
    const { response } = await visited(() => {})
    const received: unknown[] = []
    const ending = { left: () => void received.push('left'), ended: (status?: number) => void received.push(status) }
    const watch = new AnswerWatch(response, ending)
    expect(received).toEqual(['left'])
    watch.workEnded()
    expect(received).toEqual(['left', undefined])
  })
})
