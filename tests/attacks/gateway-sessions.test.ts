import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type EndKind, openGate } from '../../server/src/edge/gateway/gate.ts'
import { startApp, startGateway, talkTo } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { encodedOnce } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import { END_HEADERS, END_STREAM, frame, PREFACE, settings, Type, uint32 } from '../grpc/wire.ts'
import { until } from '../servers/until.mjs'

/** A request of HTTP/2, in frames. */
const ask = (stream: number, path: string, flags = END_STREAM, method = 'GET'): Buffer => {
  const names = { ':method': method, ':scheme': 'http', ':authority': 'a.example', ':path': path }
  const block = encodedOnce(Object.entries(names).map(([name, value]) => ({ name, value })))
  return frame(Type.HEADERS, END_HEADERS | flags, stream, block)
}
const reset = (stream: number): Buffer => frame(Type.RST_STREAM, 0, stream, uint32(8))
const hello = Buffer.concat([PREFACE, settings()])
/** A window that grows by nothing: an error of the connection (RFC 9113, 6.9). */
const BROKEN = frame(Type.WINDOW_UPDATE, 0, 0, uint32(0))

/** Collects what would end the process. */
function faults(): unknown[] {
  const found: unknown[] = []
  const hear = (error: unknown): void => void found.push(error)
  process.on('uncaughtException', hear)
  process.on('unhandledRejection', hear)
  onTestFinished(() => {
    process.off('uncaughtException', hear)
    process.off('unhandledRejection', hear)
  })
  return found
}

describe('a connection of HTTP/2 that breaks', () => {
  it('just as the gateway drains, cuts no other request and fails no drain', async () => {
    const found = faults()
    const waiting: ServerResponse[] = []
    const app = await startApp((_, response) => waiting.push(response))
    const ended: EndKind[] = []
    // A request ends when its session is destroyed, which is before its connection is gone: the drain meets it in between.
    let drained: Promise<void> | undefined
    const whenEnded = (kind: EndKind): void => {
      drained ??= gateway.drain(60_000)
      ended.push(kind)
    }
    const gate = { admit: () => ({ kind: 'admitted' as const, ended: whenEnded }) }
    const { port, gateway } = await startGateway(app, { gate })
    const good = talkTo(port, 'GET /good HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until('the good request runs', () => waiting.length === 1)
    const bad = talkTo(port)
    bad.socket.write(Buffer.concat([hello, ask(1, '/bad')]))
    await until('the bad one runs', () => waiting.length === 2)
    bad.socket.write(BROKEN)
    await until('the drain has begun', () => drained !== undefined)
    waiting[0]?.end('good')
    await drained
    await until('the good request is answered', () => good.isClosed())
    expect(good.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*good/)
    expect([found, ended]).toEqual([[], ['abort', 'finish']])
  })

  it('between the two notices of a drain, is no fault', async () => {
    const found = faults()
    const waiting: ServerResponse[] = []
    const app = await startApp((_, response) => waiting.push(response))
    const { port, gateway } = await startGateway(app)
    const [good, bad] = [talkTo(port), talkTo(port)]
    for (const { socket } of [good, bad]) socket.write(Buffer.concat([hello, ask(1, '/')]))
    await until('both run', () => waiting.length === 2)
    const drained = gateway.drain(60_000)
    bad.socket.write(BROKEN)
    await until('it is gone', () => bad.isClosed())
    for (const each of waiting) each.end('good')
    await drained
    expect([good.text().includes('good'), found]).toEqual([true, []])
  })
})

describe('a stream that is reset with its head', () => {
  it.each([
    ['a path that is refused', '//evil'],
    ['a route that there is not', '/nowhere'],
    ['a good path', '/good'],
  ])('does no harm: %s', async (_, path) => {
    const found = faults()
    const app = await startApp((_request, response) => response.end('good'))
    const { port } = await startGateway(app, { gate: openGate, route: { path: '/good' } })
    const { socket } = talkTo(port)
    socket.write(hello)
    for (let stream = 1; stream < 40; stream += 2) socket.write(Buffer.concat([ask(stream, path), reset(stream)]))
    for (let stream = 41; stream < 80; stream += 2) {
      socket.write(Buffer.concat([ask(stream, path, 0, 'POST'), reset(stream), frame(Type.DATA, 0, stream)]))
    }
    socket.write(Buffer.concat([ask(81, path), BROKEN]))
    await until('the connection is closed', () => socket.destroyed || socket.readableEnded)
    const talk = talkTo(port, 'GET /good HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')
    await until('another is served', () => talk.isClosed())
    expect([talk.text().slice(0, 15), found]).toEqual(['HTTP/1.1 200 OK', []])
  })
})
