import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { ManualClock, startApp, startGateway, talkTo } from './gateway.suite.ts'

/** More than systems keep between two sockets. */
const BYTES = 32 * 1_048_576

/** Returns when an answer is written, of which the client has not read anything. */
async function askSlowly(clock: ManualClock, connection: 'close' | 'keep-alive') {
  const gate = { admit: () => ({ kind: 'refused' as const, status: 429, headers: [], body: Buffer.alloc(BYTES) }) }
  const { port, gateway } = await startGateway('http://127.0.0.1:9', { clock, gate })
  const talk = talkTo(port)
  let readBytes = 0
  talk.socket.on('data', (data: Buffer) => (readBytes += data.length))
  talk.socket.pause()
  talk.socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`)
  await until('it waits to be read', () => (gateway.connectionsInFlight()[0]?.bytesWaiting ?? 0) > 0)
  expect(gateway.stats.requests).toBe(0)
  return { gateway, talk, readBytes: () => readBytes }
}

describe('an answer that the client takes slowly', () => {
  it('is whole, also where the connection ends with it', async () => {
    const clock = new ManualClock()
    const { gateway, talk, readBytes } = await askSlowly(clock, 'close')
    clock.advance(30_000)
    talk.socket.resume()
    await until('it has ended', () => talk.isClosed())
    expect(readBytes()).toBeGreaterThan(BYTES)
    await until('its connection is closed', () => gateway.stats.connections === 0)
  })

  it.each(['close', 'keep-alive'] as const)('is whole where the gateway drains: %s', async (connection) => {
    const clock = new ManualClock()
    const { gateway, talk, readBytes } = await askSlowly(clock, connection)
    const drained = gateway.drain(60_000)
    clock.advance(30_000)
    talk.socket.resume()
    await until('it is read', () => readBytes() > BYTES)
    await until('the connection has ended', () => {
      clock.advance(100)
      return talk.isClosed()
    })
    await drained
    expect(readBytes()).toBeGreaterThan(BYTES)
  })
})

describe('an answer that the client does not take', () => {
  it.each(['close', 'keep-alive'] as const)('loses its connection: %s', async (connection) => {
    const clock = new ManualClock()
    const { gateway } = await askSlowly(clock, connection)
    await until('its connection is closed', () => {
      clock.advance(10_000)
      return gateway.stats.connections === 0
    })
  })

  it.each([
    ['an answer', '/'],
    ['a refusal', '/refused'],
  ])('loses its stream of HTTP/2: %s', async (_, path) => {
    const app = await startApp((_, response) => response.end('ok'))
    const clock = new ManualClock()
    const gate = {
      admit: (request: { path: string }) =>
        request.path === '/'
          ? { kind: 'admitted' as const, ended: () => {} }
          : { kind: 'refused' as const, status: 429, headers: [], body: 'no' },
    }
    const { url, gateway } = await startGateway(app, { clock, gate })
    const session = connect(url, { settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': path })
    stream.on('error', () => {})
    let status: unknown
    stream.on('response', (headers) => (status = headers[':status']))
    await until('its head is there', () => status)
    await until('the request is over', () => gateway.stats.requests === 0)
    expect(gateway.connectionsInFlight()).toMatchObject([{ streams: 1 }])
    await until('its stream is closed', () => {
      clock.advance(10_000)
      return stream.closed && gateway.connectionsInFlight()[0]?.streams === 0
    })
  })
})
