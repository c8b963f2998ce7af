import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { DEFAULT_GATEWAY_BOUNDS } from '../options.ts'
import type { CarrierListener, OutgoingRequest } from '../sides.ts'
import { ClientConnection } from './client-connection.ts'

/** Starts a connection to an upstream that keeps what it reads, and answers nothing. */
async function startLine() {
  const upstream = { text: '', isClosed: false, socket: undefined as Socket | undefined }
  const server = createServer((socket) => {
    upstream.socket = socket
    socket.on('data', (data: Buffer) => {
      upstream.text += data.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      upstream.isClosed = true
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  await once(socket, 'connect')
  const heard: string[] = []
  const listener: CarrierListener = {
    connected: () => {},
    unreachable: () => {},
    informed: () => {},
    answered: (status) => void heard.push(`${status}`),
    switched: () => void heard.push('switched'),
    answerPiece: () => {},
    answerEnd: () => void heard.push('end'),
    answerReadDone: () => {},
    carrierDrained: () => {},
    carrierFailed: (failure, detail) => void heard.push(`${failure}: ${detail}`),
  }
  const released: ClientConnection[] = []
  const owner = { released: (each: ClientConnection) => void released.push(each), gone: () => {} }
  const line = new ClientConnection(socket, owner, DEFAULT_GATEWAY_BOUNDS)
  line.take(listener, false)
  return { line, upstream, heard, released }
}

const request = (bodyLength: number, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  method: 'POST',
  target: '/',
  authority: 'a.example',
  scheme: 'http',
  fields: [],
  bodyLength,
  wantsWebSocket: false,
  takesTrailers: false,
  ...more,
})

const SMUGGLED = Buffer.from('GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n')
const LONGER = 'invalid: the body is longer than its head says'

describe('a connection to an upstream writes no more than its head announces', () => {
  it.each<[what: string, bodyLength: number, pieces: string[], more?: Partial<OutgoingRequest>]>([
    ['no body', 0, []],
    ['no body of a GET', 0, [], { method: 'GET' }],
    ['a length', 3, ['abc']],
    ['a length in pieces', 3, ['a', 'b', 'c']],
    ['a WebSocket that is not accepted', 0, [], { method: 'GET', wantsWebSocket: true }],
  ])('behind %s', async (_, bodyLength, pieces, more) => {
    const { line, upstream, heard } = await startLine()
    line.send(request(bodyLength, more))
    for (const piece of pieces) line.write(Buffer.from(piece))
    line.flush()
    line.write(SMUGGLED)
    expect(heard).toEqual([])
    line.flush()
    await until('the connection has ended', () => upstream.isClosed)
    expect([heard, line.isUsable]).toEqual([[LONGER], false])
    expect(upstream.text).not.toContain('smuggled')
  })

  it('within one piece, of which nothing is written', async () => {
    const { line, upstream, heard } = await startLine()
    line.send(request(3))
    line.flush()
    line.write(Buffer.concat([Buffer.from('abc'), SMUGGLED]))
    line.flush()
    await until('the connection has ended', () => upstream.isClosed)
    expect([heard, upstream.text.split('\r\n\r\n')[1]]).toEqual([[LONGER], ''])
  })

  it.each([
    ['a length', 3, 'abc'],
    ['chunks', -1, 'abc'],
  ])('after the end of %s', async (_, bodyLength, body) => {
    const { line, upstream, heard } = await startLine()
    line.send(request(bodyLength))
    line.write(Buffer.from(body))
    line.end(undefined)
    line.write(SMUGGLED)
    line.flush()
    await until('the connection has ended', () => upstream.isClosed)
    expect([heard, upstream.text.includes('smuggled')]).toEqual([[LONGER], false])
  })

  it('and no less: a body that ends early ends the connection, or the next request would be its rest', async () => {
    const { line, upstream, heard, released } = await startLine()
    line.send(request(4))
    line.write(Buffer.from('abc'))
    line.flush()
    line.end(undefined)
    await until('the connection has ended', () => upstream.isClosed)
    expect([heard, released]).toEqual([['invalid: the body is shorter than its head says'], []])
  })

  it('between two requests: nothing', async () => {
    const { line, upstream, heard, released } = await startLine()
    line.send(request(3))
    line.write(Buffer.from('abc'))
    line.end(undefined)
    await until('it has arrived', () => upstream.text.endsWith('abc'))
    upstream.socket?.write('HTTP/1.1 204 No Content\r\n\r\n')
    await until('it is answered', () => released.length === 1)
    line.write(SMUGGLED)
    line.flush()
    await until('the connection has ended', () => upstream.isClosed)
    expect([heard, upstream.text.includes('smuggled')]).toEqual([['204', 'end'], false])
  })

  it('and all of a body, in chunks or by length', async () => {
    for (const bodyLength of [3, -1]) {
      const { line, upstream, heard } = await startLine()
      line.send(request(bodyLength))
      for (const piece of ['a', 'bc']) line.write(Buffer.from(piece))
      line.end(undefined)
      const body = bodyLength === 3 ? 'abc' : '1\r\na\r\n2\r\nbc\r\n0\r\n\r\n'
      await until('it has arrived', () => upstream.text.endsWith(`\r\n\r\n${body}`))
      expect([heard, line.isUsable]).toEqual([[], true])
    }
  })
})
