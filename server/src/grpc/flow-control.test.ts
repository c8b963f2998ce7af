import { describe, expect, it } from 'vitest'
import { ManualClock } from '../net/manual-clock.suite.ts'
import type { StreamCall } from './call.ts'
import { call, END_HEADERS, END_STREAM, headers, ping, reset, settings, windowUpdate } from './frame-script.suite.ts'
import { ScriptedClient } from './scripted-client.suite.ts'
import { GrpcServer, type GrpcServerOptions } from './server.ts'

const ECHO = '/test.Test/Echo'
const BIG = '/test.Test/Big'
const STREAM = '/test.Test/Stream'
const HEAD = ':status=200 content-type=application/grpc'
const GET = { ':method': 'GET', ':scheme': 'http', ':path': '/' }
const INITIAL_WINDOW = 4

/** A server whose methods answer as many bytes as they are told, at once or when the test writes them. */
async function scene(pairs: (readonly [number, number])[] = [], options: GrpcServerOptions = {}) {
  const clock = new ManualClock()
  const server = new GrpcServer({ clock, ...options })
  const streams: StreamCall[] = []
  server.unary(ECHO, (call) => call.respond(call.message))
  server.unary(BIG, (call) => call.respond(Buffer.alloc(Number(Buffer.from(call.message).toString()) - 5, 'x')))
  server.serverStreaming(STREAM, (call) => void streams.push(call))
  const client = await ScriptedClient.connect(server, ...pairs)
  await client.received()
  return { server, client, streams, clock }
}

describe('an answer', () => {
  it('that fits into no frame is sent in several', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 1_000_000]])
    expect(await client.send(windowUpdate(0, 1_000_000), call(1, BIG, '40000'))).toEqual([
      `HEADERS 1 ${HEAD}`,
      'DATA 1 16384',
      'DATA 1 16384',
      'DATA 1 7232',
      'HEADERS 1 END grpc-status=0',
    ])
  })

  it('waits for the window of its stream, one byte at a time if it must', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 1]])
    expect(await client.send(call(1, BIG, '8'))).toEqual([`HEADERS 1 ${HEAD}`, 'DATA 1 1'])
    expect(await client.send(windowUpdate(1, 5))).toEqual(['DATA 1 5'])
    expect(await client.send(windowUpdate(1, 1), windowUpdate(1, 1))).toEqual([
      'DATA 1 1',
      'DATA 1 1',
      'HEADERS 1 END grpc-status=0',
    ])
  })

  it('waits for the window of the connection, in turn with others', async () => {
    const { client } = await scene()
    const lines = await client.send(call(1, BIG, '60000'), call(3, BIG, '8000'), call(5, BIG, '8000'))
    expect(lines.filter((line) => line.includes('END'))).toEqual(['HEADERS 1 END grpc-status=0'])
    expect(lines.at(-2)).toBe('DATA 3 5535')
    expect(await client.send(windowUpdate(0, 3_000))).toEqual([
      'DATA 3 2465',
      'HEADERS 3 END grpc-status=0',
      'DATA 5 535',
    ])
    expect(await client.send(windowUpdate(0, 10_000))).toEqual(['DATA 5 7465', 'HEADERS 5 END grpc-status=0'])
  })

  it('that waits for the window of the connection lets others go first when it has had its turn', async () => {
    const { client } = await scene()
    await client.send(call(1, BIG, '65535'), call(3, BIG, '5000'), call(5, BIG, '5000'), call(7, BIG, '5000'))
    const turns: string[] = []
    for (let i = 0; i < 6; i++) turns.push(...(await client.send(windowUpdate(0, 1_000))))
    expect(turns).toEqual(['DATA 3 1000', 'DATA 5 1000', 'DATA 7 1000', 'DATA 3 1000', 'DATA 5 1000', 'DATA 7 1000'])
  })

  it('does not hold up others when only the window of its stream is closed', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 0]])
    expect(await client.send(call(1, BIG, '10'), call(3, BIG, '10'), windowUpdate(3, 10))).toEqual([
      `HEADERS 1 ${HEAD}`,
      `HEADERS 3 ${HEAD}`,
      'DATA 3 "xxxxx"',
      'HEADERS 3 END grpc-status=0',
    ])
    expect(await client.send(windowUpdate(0, 100))).toEqual([])
    expect(await client.send(settings([INITIAL_WINDOW, 10]))).toEqual([
      'SETTINGS ACK',
      'DATA 1 "xxxxx"',
      'HEADERS 1 END grpc-status=0',
    ])
  })

  it('waits until a window that was made negative is positive again (6.9.2)', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 10]])
    expect(await client.send(call(1, BIG, '20'))).toEqual([`HEADERS 1 ${HEAD}`, 'DATA 1 10'])
    expect(await client.send(settings([INITIAL_WINDOW, 4]))).toEqual(['SETTINGS ACK'])
    expect(await client.send(windowUpdate(1, 6))).toEqual([])
    expect(await client.send(windowUpdate(1, 2))).toEqual(['DATA 1 2'])
    expect(await client.send(windowUpdate(1, 100))).toEqual(['DATA 1 8', 'HEADERS 1 END grpc-status=0'])
  })

  it('without data needs no window', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 0]])
    expect(await client.send(call(1, '/test.Test/Nope'))).toEqual([
      `HEADERS 1 END ${HEAD} grpc-status=12 grpc-message=unknown method /test.Test/Nope`,
      'RST_STREAM 1 NO_ERROR',
    ])
  })

  it('to a request that is no call honours windows, too', async () => {
    const { client } = await scene([[INITIAL_WINDOW, 1]])
    const lines = await client.send(headers(1, GET, END_HEADERS | END_STREAM))
    expect(lines[1]).toBe('DATA 1 1')
    expect(await client.send(windowUpdate(1, 46))).toEqual(['DATA 1 46'])
    expect(await client.send(windowUpdate(1, 46))).toEqual(['DATA 1 END 1'])
  })

  it('is dropped when its stream is reset', async () => {
    const { client, server } = await scene([[INITIAL_WINDOW, 10]])
    await client.send(call(1, BIG, '1000'))
    expect(await client.send(reset(1), windowUpdate(0, 1_000), ping())).toEqual(['PING ACK 12345678'])
    expect(server.stats.streamsOpen).toBe(0)
  })
})

describe('a stream of answers', () => {
  it('is sent as it is written, and ended', async () => {
    const { client, streams } = await scene()
    await client.send(call(1, STREAM, 'x'))
    expect(streams[0].write(Buffer.from('a'))).toBe(true)
    expect(await client.received()).toEqual([`HEADERS 1 ${HEAD}`, 'DATA 1 "a"'])
    streams[0].write(Buffer.from('b'))
    expect([streams[0].end(), streams[0].end(), streams[0].write(Buffer.from('c'))]).toEqual([true, false, false])
    expect(await client.received()).toEqual(['DATA 1 "b"', 'HEADERS 1 END grpc-status=0'])
  })

  it('may be empty, or end with a status', async () => {
    const { client, streams, server } = await scene()
    await client.send(call(1, STREAM), call(3, STREAM), call(5, STREAM), call(7, STREAM))
    streams[0].end()
    streams[1].write(Buffer.from('a'))
    streams[1].end(10, 'enough')
    streams[2].fail(5)
    streams[3].setHeader('x-before', '1')
    streams[3].setTrailer('x-behind', '2')
    streams[3].end()
    expect(server.stats.callsFailed).toBe(2)
    expect(await client.received()).toEqual([
      `HEADERS 1 ${HEAD}`,
      'HEADERS 1 END grpc-status=0',
      `HEADERS 3 ${HEAD}`,
      'DATA 3 "a"',
      'HEADERS 3 END grpc-status=10 grpc-message=enough',
      `HEADERS 5 END ${HEAD} grpc-status=5`,
      `HEADERS 7 END ${HEAD} x-before=1 grpc-status=0 x-behind=2`,
    ])
  })

  it('has to wait when a window is used up, and is notified when it may continue', async () => {
    const { client, streams } = await scene([[INITIAL_WINDOW, 20]])
    await client.send(call(1, STREAM))
    const [stream] = streams
    let next = 0
    const texts = ['aaaaa', 'bbbbb', 'ccccc', 'ddddd', 'eeeee']
    const write = (): void => {
      while (next < texts.length) if (!stream.write(Buffer.from(texts[next++]))) return
      stream.end()
    }
    stream.onDrain(write)
    write()
    expect(next).toBe(3)
    expect(await client.received()).toEqual([`HEADERS 1 ${HEAD}`, 'DATA 1 "aaaaa"', 'DATA 1 "bbbbb"'])
    expect(await client.send(windowUpdate(1, 10))).toEqual(['DATA 1 "ccccc"'])
    expect(await client.send(windowUpdate(1, 20))).toEqual([
      'DATA 1 "ddddd"',
      'DATA 1 "eeeee"',
      'HEADERS 1 END grpc-status=0',
    ])
  })

  it('has to wait when the client does not read, and is notified when it may continue', async () => {
    const limits = { outputHighWaterBytes: 1_000 }
    const { client, streams } = await scene([], { limits })
    await client.send(call(1, STREAM))
    client.wire.reads = false
    const [stream] = streams
    let drains = 0
    stream.onDrain(() => drains++)
    let writes = 1
    while (stream.write(Buffer.alloc(95))) writes++
    expect(writes).toBeLessThan(12)
    await client.received()
    expect(drains).toBe(0)
    client.wire.reads = true
    expect(await client.received()).toHaveLength(writes + 1)
    expect(drains).toBe(1)
  })

  it('that never ends leaves time to others, even if the client takes all of it at the same time', async () => {
    const { server, client } = await scene([[INITIAL_WINDOW, 0x7fff_0000]])
    await client.send(windowUpdate(0, 0x7fff_0000))
    let writes = 0
    server.serverStreaming('/test.Test/Endless', (call) => {
      const write = (): void => {
        do writes++
        while (call.write(Buffer.alloc(10_000)))
      }
      call.onDrain(write)
      write()
    })
    const lines = await client.send(call(1, '/test.Test/Endless'), call(3, ECHO, 'a'))
    expect(lines).toContain('DATA 3 "a"')
    const before = writes
    await client.received()
    expect(writes).toBeGreaterThan(before)
    await client.leave()
  })

  it('that ignores the pause is queued in order', async () => {
    const { client, streams } = await scene([[INITIAL_WINDOW, 0]])
    await client.send(call(1, STREAM))
    for (let i = 0; i < 200; i++) streams[0].write(Buffer.from(`${i}`))
    streams[0].end()
    expect(await client.received()).toEqual([`HEADERS 1 ${HEAD}`])
    const bytes = 200 * 5 + 10 + 2 * 90 + 3 * 100
    expect(await client.send(windowUpdate(1, bytes))).toEqual([`DATA 1 ${bytes}`, 'HEADERS 1 END grpc-status=0'])
  })

  it('is cancelled with its stream', async () => {
    const { client, streams } = await scene([[INITIAL_WINDOW, 0]])
    await client.send(call(1, STREAM))
    streams[0].write(Buffer.from('a'))
    await client.send(reset(1))
    expect([streams[0].cancelled, streams[0].write(Buffer.from('b')), streams[0].end()]).toEqual([true, false, false])
  })

  it('is not harmed by an onDrain that throws', async () => {
    const errors: unknown[] = []
    const { client, streams } = await scene([[INITIAL_WINDOW, 0]], { onError: (error) => errors.push(error) })
    await client.send(call(1, STREAM))
    streams[0].onDrain(() => {
      throw new Error('onDrain')
    })
    streams[0].write(Buffer.from('a'))
    await client.send(windowUpdate(1, 6))
    streams[0].end()
    expect(await client.received()).toEqual(['HEADERS 1 END grpc-status=0'])
    expect(errors).toHaveLength(1)
  })
})

describe('a client that does not take its answers', () => {
  it('may let so many wait for its windows', async () => {
    const { client, server } = await scene([[INITIAL_WINDOW, 0]], { limits: { maxQueuedBytes: 10_000 } })
    expect(await client.send(call(1, BIG, '6000'))).toEqual([`HEADERS 1 ${HEAD}`])
    expect(await client.send(call(3, BIG, '6000'))).toEqual([`HEADERS 3 ${HEAD}`, 'GOAWAY 3 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.stalledWindow).toBe(1)
  })

  it('may let as many wait again when it has reset the calls', async () => {
    const { client, server } = await scene([[INITIAL_WINDOW, 0]], { limits: { maxQueuedBytes: 10_000 } })
    for (const id of [1, 3, 5]) {
      expect(await client.send(call(id, BIG, '6000'))).toEqual([`HEADERS ${id} ${HEAD}`])
      expect(await client.send(reset(id))).toEqual([])
    }
    expect(server.stats.closedFor.stalledWindow).toBe(0)
  })

  it('may let them wait so long', async () => {
    const { client, server, clock } = await scene([[INITIAL_WINDOW, 5]])
    await client.send(call(1, BIG, '10000'))
    for (let i = 0; i < 5; i++) {
      clock.advance(20_000)
      expect(await client.send(windowUpdate(1, 1_024))).toEqual(['DATA 1 1024'])
    }
    clock.advance(32_000)
    expect(await client.received()).toEqual(['GOAWAY 1 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.stalledWindow).toBe(1)
  })

  it('gains no time by taking them byte by byte', async () => {
    const { client, clock } = await scene([[INITIAL_WINDOW, 5]])
    await client.send(call(1, BIG, '10000'))
    for (let i = 0; i < 29; i++) {
      clock.advance(1_000)
      expect(await client.send(windowUpdate(1, 10))).toEqual(['DATA 1 10'])
    }
    clock.advance(3_000)
    expect(await client.received()).toEqual(['GOAWAY 1 ENHANCE_YOUR_CALM'])
  })

  it('is not read from while much is unread', async () => {
    const { client, server } = await scene([[INITIAL_WINDOW, 1_000_000]], { limits: { outputHighWaterBytes: 1_000 } })
    client.wire.reads = false
    await client.send(call(1, BIG, '5000'))
    const { calls } = server.stats
    await client.send(call(3, ECHO, 'a'))
    expect(server.stats.calls).toBe(calls)
    client.wire.reads = true
    expect((await client.received()).at(-1)).toBe('HEADERS 3 END grpc-status=0')
  })

  it('is not read from again when it stops to read again', async () => {
    const { client, server } = await scene([[INITIAL_WINDOW, 1_000_000]], { limits: { outputHighWaterBytes: 1_000 } })
    for (const id of [1, 5]) {
      client.wire.reads = false
      await client.send(call(id, BIG, '5000'))
      const { calls } = server.stats
      await client.send(call(id + 2, ECHO, 'a'))
      expect(server.stats.calls).toBe(calls)
      client.wire.reads = true
      expect((await client.received()).at(-1)).toBe(`HEADERS ${id + 2} END grpc-status=0`)
    }
  })

  it('is not blamed for a frame that is not read to its end meanwhile', async () => {
    const { client, server, clock } = await scene([[INITIAL_WINDOW, 1_000_000]], {
      limits: { outputHighWaterBytes: 1_000 },
    })
    client.wire.reads = false
    await client.send(call(1, BIG, '5000'), ping().subarray(0, 12))
    clock.advance(20_000)
    await client.received()
    expect(server.stats.closedFor.slowFrame).toBe(0)
    client.wire.reads = true
    await client.received()
    expect(await client.send(ping().subarray(12))).toEqual(['PING ACK 12345678'])
  })

  it('may leave so much unread', async () => {
    const limits = { maxOutputBytes: 50_000 }
    const { client, server, streams } = await scene([[INITIAL_WINDOW, 1_000_000]], { limits })
    await client.send(windowUpdate(0, 1_000_000), call(1, STREAM))
    client.wire.reads = false
    // The first answer is on its way to the socket; the next ones collect.
    streams[0].write(Buffer.alloc(1_000))
    await client.received()
    for (let i = 0; i < 5; i++) streams[0].write(Buffer.alloc(11_000))
    await client.received()
    expect(client.closed).toBe(true)
    expect(streams[0].cancelled).toBe(true)
    expect(server.stats.closedFor.unreadOutput).toBe(1)
  })

  it('may leave it unread so long', async () => {
    const { client, server, clock } = await scene()
    client.wire.reads = false
    await client.send(call(1, ECHO, 'a'))
    clock.advance(29_000)
    await client.received()
    expect(client.closed).toBe(false)
    clock.advance(3_000)
    await client.received()
    expect(client.closed).toBe(true)
    expect(server.stats.closedFor.unreadOutput).toBe(1)
  })
})
