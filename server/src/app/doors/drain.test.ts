import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
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
  const drain = drainable(server)
  const close = () => drain({ idleMs: 1_000, deadlineMs: 10_000 })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, close, port: (server.address() as AddressInfo).port }
}

async function ask(port: number): Promise<IncomingMessage> {
  const [response] = await once(get({ port, host: '127.0.0.1', agent }), 'response')
  return response as IncomingMessage
}

/** Resolves with the agent's connections when they wait for the next request. */
async function waitingSockets(): Promise<readonly Socket[]> {
  while (Object.keys(agent.freeSockets).length === 0) await new Promise(setImmediate)
  return Object.values(agent.freeSockets).flat() as Socket[]
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

describe('drainable', () => {
  it('answers requests in flight, and ends the connection with the answer', async () => {
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

  it('answers what comes on a connection that waited for the next request, and ends it then', async () => {
    const { close, port } = await start((_, response) => response.end('done'))
    expect((await ask(port)).resume().headers.connection).toBe('keep-alive')
    const [socket] = await waitingSockets()
    const closed = close()
    const answer = await ask(port)
    expect(answer.socket).toBe(socket)
    expect(answer.headers.connection).toBe('close')
    expect(await text(answer)).toBe('done')
    await closed
  })

  it('takes no new connections', async () => {
    const { close, port } = await start((_, response) => response.end('done'))
    await close()
    await expect(ask(port)).rejects.toThrow('ECONNREFUSED')
  })

  it('ends connections that wait for the next request after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { close, port } = await start((_, response) => response.end('done'))
    await text(await ask(port))
    const closed = close()
    vi.advanceTimersByTime(1_000)
    await closed
  })

  it('ends connections that never asked for anything after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { server, close, port } = await start(() => {})
    const accepted = once(server, 'connection')
    const socket = await connected(port)
    await accepted
    const ended = once(socket, 'close')
    const closed = close()
    vi.advanceTimersByTime(1_000)
    await Promise.all([closed, ended])
  })

  it('drains connections that it was given by hand', async () => {
    const server = createServer((_, response) => response.end('done'))
    const drain = drainable(server)
    const listener = createNetServer((socket) => server.emit('connection', socket))
    await once(listener.listen(0, '127.0.0.1'), 'listening')
    const { port } = listener.address() as AddressInfo
    expect((await ask(port)).resume().headers.connection).toBe('keep-alive')
    await waitingSockets()
    const drained = drain({ idleMs: 1_000, deadlineMs: 10_000 })
    expect((await ask(port)).resume().headers.connection).toBe('close')
    await drained
    listener.close()
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

  it('cuts off connections that are not done at the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { server, close, port } = await start(() => {})
    const socket = await connected(port)
    const arrived = once(server, 'request')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12')
    const [request] = (await arrived) as [IncomingMessage]
    const isClosed = vi.fn()
    const closed = close().then(isClosed)
    vi.advanceTimersByTime(9_999)
    await new Promise(setImmediate)
    expect(isClosed).not.toHaveBeenCalled()
    const cut = once(socket, 'close')
    vi.advanceTimersByTime(1)
    expect(request.socket.destroyed).toBe(true)
    await Promise.all([closed, cut])
  })
})
