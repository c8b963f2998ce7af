import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../net/manual-clock.suite.ts'
import {
  block,
  call,
  callFields,
  continuation,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  ping,
  preface,
  priority,
  reset,
  settings,
  windowUpdate,
} from './frame-script.suite.ts'
import { ScriptedClient, settle } from './scripted-client.suite.ts'
import { GrpcServer, type GrpcServerOptions } from './server.ts'
import type { ClosedFor } from './stats.ts'

const ECHO = '/test.Test/Echo'
const NEVER = '/test.Test/Never'

async function scene(options: GrpcServerOptions = {}) {
  const clock = new ManualClock()
  const server = new GrpcServer({ clock, ...options })
  server.unary(ECHO, (call) => call.respond(call.message))
  server.unary(NEVER, () => {})
  const client = await ScriptedClient.connect(server)
  await client.received()
  return { server, client, clock }
}

const odd = (i: number): number => 2 * i + 1
const openAt = (i: number): Buffer => headers(odd(i), callFields(NEVER))

const NOTHING = Buffer.alloc(0)

/** A Flood is a budget, how often it may be spent at once, and what spends one. `first` is sent before. */
type Flood = readonly [name: ClosedFor, burst: number, spend: (i: number) => Buffer, first: Buffer]

const floods: readonly Flood[] = [
  ['resets', 500, (i) => Buffer.concat([openAt(i), reset(odd(i))]), NOTHING],
  ['provokedResets', 500, (i) => Buffer.concat([openAt(i), windowUpdate(odd(i), 0)]), NOTHING],
  ['provokedResets', 500, (i) => Buffer.concat([call(odd(i), NEVER), data(odd(i), 'a')]), NOTHING],
  ['provokedResets', 500, (i) => Buffer.concat([openAt(i), priority(odd(i), odd(i))]), NOTHING],
  ['provokedResets', 500, (i) => Buffer.concat([openAt(i), windowUpdate(odd(i), 0x7fff_ffff)]), NOTHING],
  ['provokedResets', 500, (i) => headers(odd(i), { ':method': 'GET' }), NOTHING],
  ['provokedResets', 500, () => windowUpdate(1, 0), Buffer.concat([openAt(0), reset(1)])],
  ['pings', 200, () => ping(), NOTHING],
  ['settings', 48, () => settings(), NOTHING],
  ['priorities', 1_000, () => priority(1, 0), NOTHING],
  ['emptyData', 200, () => data(1, ''), openAt(0)],
  ['unknownFrames', 200, () => frame(0x77, 0, 0), NOTHING],
]

describe('a flood', () => {
  it.each(floods)('of %s ends the connection at the one after %i', async (name, burst, spend, first) => {
    const { server, client } = await scene()
    await client.send(first)
    const frames = Array.from({ length: burst }, (_, i) => spend(i))
    const lines = await client.send(...frames)
    expect(lines.filter((line) => line.startsWith('GOAWAY'))).toEqual([])
    const last = await client.send(spend(burst))
    expect(last.at(-1)).toMatch(/^GOAWAY \d+ ENHANCE_YOUR_CALM$/)
    expect(client.ended).toBe(true)
    expect(server.stats.closedFor[name]).toBe(1)
    expect(Object.values(server.stats.closedFor).reduce((a, b) => a + b)).toBe(1)
  })

  it('of header lists that are too large ends the connection', async () => {
    const { server, client } = await scene()
    // Two bytes for each field of 4,000: an HPACK bomb.
    const big = headers(1, { ...callFields(ECHO), 'x-big': 'x'.repeat(4_000) }, END_HEADERS | END_STREAM)
    const bomb = Buffer.concat([
      Buffer.of(0x40, 1, 0x78, 0x7f, 0x98, 0x1e),
      Buffer.alloc(3_991, 'y'),
      Buffer.alloc(4_000, 0xbe),
    ])
    await client.send(big)
    const first = await client.send(frame(1, END_HEADERS | END_STREAM, 3, bomb))
    expect(first[0]).toMatch(/^HEADERS 3 END :status=431/)
    const again = frame(1, END_HEADERS | END_STREAM, 0, Buffer.alloc(4_000, 0xbe))
    const bombs = Array.from({ length: 20 }, (_, i) => {
      const copy = Buffer.from(again)
      copy.writeUInt32BE(5 + 2 * i, 5)
      return copy
    })
    const lines = await client.send(...bombs)
    expect(lines.at(-1)).toMatch(/^GOAWAY \d+ ENHANCE_YOUR_CALM$/)
    expect(server.stats.closedFor.largeHeaders).toBe(1)
  })

  it.each([
    ['frames', Array.from({ length: 9 }, () => continuation(1, 0, Buffer.alloc(0)))],
    ['bytes', Array.from({ length: 2 }, () => continuation(1, 0, Buffer.alloc(16_384, 0x82)))],
  ])('of CONTINUATION %s ends the connection', async (_name, frames) => {
    const { server, client } = await scene()
    const lines = await client.send(frame(1, 0, 1, block(callFields(ECHO))), ...frames)
    expect(lines).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.continuations).toBe(1)
  })

  it('of pings is none where a message of a stream comes before each: so clients measure the bandwidth', async () => {
    const { server, client } = await scene()
    let send = () => {}
    server.serverStreaming('/test.Test/Trickle', (call) => {
      send = () => call.write(Buffer.alloc(1))
    })
    await client.send(call(1, '/test.Test/Trickle'))
    for (let i = 0; i < 1_000; i++) {
      send()
      client.wire.push(ping())
    }
    expect((await client.received()).filter((line) => line.startsWith('GOAWAY'))).toEqual([])
    expect(client.ended).toBe(false)
  })

  it('that is spread over time does no harm', async () => {
    const { client, clock } = await scene()
    for (let i = 0; i < 20; i++) {
      expect(await client.send(...Array.from({ length: 20 }, () => ping()))).toHaveLength(20)
      clock.advance(1_000)
    }
  })

  it('of pings does no harm where as many calls are answered', async () => {
    const { client } = await scene()
    const pairs = Array.from({ length: 1_000 }, (_, i) => Buffer.concat([call(odd(i), ECHO, 'a'), ping()]))
    const lines = await client.send(...pairs)
    expect(lines.filter((line) => line.startsWith('PING'))).toHaveLength(1_000)
  })

  it('ends one connection and no other', async () => {
    const { server, client } = await scene()
    const other = await ScriptedClient.connect(server)
    await other.received()
    await client.send(...Array.from({ length: 300 }, () => ping()))
    expect(client.ended).toBe(true)
    expect(await other.send(ping())).toEqual(['PING ACK 12345678'])
  })

  it('is counted no further once the connection has ended', async () => {
    const { server, client } = await scene()
    await client.send(...Array.from({ length: 300 }, () => ping()))
    expect(await client.send(...Array.from({ length: 300 }, () => ping()))).toEqual([])
    expect(server.stats.closedFor.pings).toBe(1)
  })
})

describe('a connection', () => {
  it('without a preface ends after 10 s', async () => {
    const { server, clock } = await scene()
    const silent = new ScriptedClient(server)
    const slow = new ScriptedClient(server)
    await slow.send(preface.subarray(0, 20))
    await silent.received()
    clock.advance(9_000)
    expect(await slow.received()).toEqual([])
    clock.advance(1_010)
    expect(await slow.received()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM'])
    expect(await silent.received()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.slowPreface).toBe(2)
  })

  it('that ends in the middle of a frame for 10 s is ended', async () => {
    const { server, client, clock } = await scene()
    await client.send(ping().subarray(0, 11))
    clock.advance(9_000)
    expect(await client.received()).toEqual([])
    clock.advance(3_000)
    expect(await client.received()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.slowFrame).toBe(1)
  })

  it('that ends in the middle of a header block for 10 s is ended, even if frames come', async () => {
    const { server, client, clock } = await scene()
    await client.send(headers(1, callFields(ECHO), 0))
    for (let i = 0; i < 3; i++) {
      clock.advance(3_000)
      await client.send(continuation(1, 0, Buffer.alloc(0)))
    }
    clock.advance(2_000)
    expect(await client.received()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM'])
    expect(server.stats.closedFor.slowFrame).toBe(1)
  })

  it('may be slow with its frames as long as they come', async () => {
    const { client, clock } = await scene()
    const bytes = Buffer.concat(Array.from({ length: 5 }, () => ping()))
    for (let at = 0; at < bytes.length; at += 10) {
      await client.send(bytes.subarray(at, at + 10))
      clock.advance(4_000)
    }
    expect(client.ended).toBe(false)
  })

  it('is asked to go after 15 min without a frame', async () => {
    const { server, client, clock } = await scene()
    clock.advance(899_000)
    await client.send(ping())
    clock.advance(899_000)
    expect(await client.received()).toEqual([])
    clock.advance(1_000)
    expect(await client.received()).toEqual(['GOAWAY 2147483647 NO_ERROR', 'PING goodbye!'])
    expect(server.stats.closedFor.idle).toBe(1)
    expect(await client.send(ping('goodbye!', 1))).toEqual(['GOAWAY 0 NO_ERROR'])
    expect(client.ended).toBe(true)
  })

  it('with a call is not idle', async () => {
    const { server, client, clock } = await scene()
    await client.send(call(1, NEVER))
    clock.advance(3_600_000)
    expect(await client.received()).toEqual([])
    expect(server.stats.closedFor.idle).toBe(0)
  })

  it('is asked to go after 24 h, less up to a tenth, and goes when its calls have ended', async () => {
    const { server, client, clock } = await scene()
    await client.send(call(1, NEVER))
    clock.advance(0.9 * 86_400_000 - 1_000)
    expect(await client.received()).toEqual([])
    for (let i = 0; i < 144 && server.stats.closedFor.age === 0; i++) clock.advance(60_000)
    // Nobody answers the PING between the two GOAWAY frames: that takes its time, too.
    clock.advance(2_000)
    expect((await client.received())[0]).toBe('GOAWAY 2147483647 NO_ERROR')
    expect(server.stats.closedFor.age).toBe(1)
    expect(await client.send(reset(1))).toEqual([])
    expect(client.ended).toBe(true)
  })

  it.each([
    [0, 86_400_000],
    [0.99, 77_846_400],
  ])('of many does not go when all others do: chance %f gives it %i ms', async (chance, ageMs) => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(chance)
    onTestFinished(() => random.mockRestore())
    const { client, clock } = await scene()
    await client.send(call(1, NEVER))
    clock.advance(ageMs - 2_000)
    expect(await client.received()).toEqual([])
    clock.advance(3_000)
    expect((await client.received())[0]).toBe('GOAWAY 2147483647 NO_ERROR')
  })

  it('has an hour for its calls after that', async () => {
    const { client, clock } = await scene({ limits: { maxConnectionAgeMs: 60_000 } })
    await client.send(call(1, NEVER))
    clock.advance(62_000)
    // Without an answer to the PING, the second GOAWAY follows by itself.
    const lines = ['GOAWAY 2147483647 NO_ERROR', 'PING goodbye!', 'GOAWAY 1 NO_ERROR']
    expect(await client.received()).toEqual(lines)
    clock.advance(3_590_000)
    expect(await client.received()).toEqual([])
    for (let i = 0; i < 10 && !client.ended; i++) {
      clock.advance(1_000)
      await settle()
    }
    expect(await client.received()).toEqual(['GOAWAY 1 NO_ERROR'])
    expect(client.ended).toBe(true)
  })

  it('is shed before younger ones, and answers its calls first', async () => {
    const { server, client } = await scene()
    const others = [await ScriptedClient.connect(server), await ScriptedClient.connect(server)]
    for (const each of [client, ...others]) await each.send(call(1, NEVER))
    server.shed(2, 60_000)
    const seen = await Promise.all([client, ...others].map((each) => each.received()))
    expect(seen.map((lines) => lines.includes('GOAWAY 2147483647 NO_ERROR'))).toEqual([true, true, false])
    expect(await client.send(call(3, ECHO, 'late'))).toContain('DATA 3 "late"')
    expect(server.stats.connectionsOpen).toBe(3)
  })

  it('that was asked to go before has no more time than the drain of the server gives it', async () => {
    const { server, client, clock } = await scene({ limits: { maxConnectionAgeMs: 60_000 } })
    await client.send(call(1, NEVER))
    clock.advance(62_000)
    await client.received()
    const drained = [server.drain(5_000), server.drain(60_000)]
    clock.advance(4_000)
    expect(await client.received()).toEqual([])
    for (let i = 0; i < 2 && !client.ended; i++) {
      clock.advance(1_000)
      await settle()
    }
    expect(await client.received()).toEqual(['GOAWAY 1 NO_ERROR'])
    expect(client.ended).toBe(true)
    await client.leave()
    await Promise.all(drained)
  })

  it('that has been ended is destroyed if the client does not close it', async () => {
    const { server, client, clock } = await scene()
    await client.send(frame(5, 0, 1))
    expect([client.ended, client.closed]).toEqual([true, false])
    clock.advance(2_000)
    await settle()
    expect(client.closed).toBe(true)
    expect(server.stats.connectionsOpen).toBe(0)
  })

  it('above the limit of the server is closed immediately', async () => {
    const { server, client } = await scene({ limits: { maxConnections: 2 } })
    const second = await ScriptedClient.connect(server)
    const third = new ScriptedClient(server)
    await settle()
    expect([client.closed, second.closed, third.closed]).toEqual([false, false, true])
    expect(server.stats).toMatchObject({ connectionsOpen: 2, connectionsRefused: 1 })
    await client.leave()
    const fourth = new ScriptedClient(server)
    await settle()
    expect(fourth.closed).toBe(false)
  })
})
