import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { drainable } from './drain.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

afterEach(() => {
  vi.useRealTimers()
  agent.destroy()
})

async function start(listener: RequestListener) {
  const server = createServer(listener)
  const close = drainable(server, 10_000)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, close, port: (server.address() as AddressInfo).port }
}

async function ask(port: number): Promise<IncomingMessage> {
  const [response] = await once(get({ port, host: '127.0.0.1', agent }), 'response')
  return response as IncomingMessage
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

describe('drainable', () => {
  it('answers what is under way, and ends the connection with the answer', async () => {
    const { server, close, port } = await start(() => {})
    const request = once(server, 'request')
    const answered = ask(port)
    const [, response] = (await request) as [IncomingMessage, ServerResponse]
    const closed = close()
    response.end('done')
    const answer = await answered
    expect(answer.headers.connection).toBe('close')
    expect(await text(answer)).toBe('done')
    await closed
  })

  it('ends connections that wait for the next request', async () => {
    const { close, port } = await start((_, response) => response.end('done'))
    const answer = await ask(port)
    expect(answer.headers.connection).toBe('keep-alive')
    expect(await text(answer)).toBe('done')
    await close()
  })

  it('ends connections that never asked for anything', async () => {
    const { server, close, port } = await start(() => {})
    const accepted = once(server, 'connection')
    const socket = await connected(port)
    await accepted
    const ended = once(socket, 'close')
    await close()
    await ended
  })

  it('answers a request that was half sent, and ends the connection with the answer', async () => {
    const { server, close, port } = await start((_, response) => response.end('done'))
    const connection = once(server, 'connection')
    const socket = await connected(port)
    const [accepted] = (await connection) as [Socket]
    socket.write('GET / HTTP/1.1\r\n')
    while (accepted.bytesRead === 0) await new Promise(setImmediate)
    const closed = close()
    socket.write('Host: a\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n(?:.*\r\n)+done$/)
    await closed
  })

  it('cuts off whoever is not done at the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { server, close, port } = await start(() => {})
    const socket = await connected(port)
    const arrived = once(server, 'request')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12')
    await arrived
    const isClosed = vi.fn()
    const closed = close().then(isClosed)
    vi.advanceTimersByTime(9_999)
    await new Promise(setImmediate)
    expect(isClosed).not.toHaveBeenCalled()
    const cut = once(socket, 'close')
    vi.advanceTimersByTime(1)
    await Promise.all([closed, cut])
  })
})
