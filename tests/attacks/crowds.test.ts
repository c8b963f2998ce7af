import { afterEach, describe, expect, it } from 'vitest'
import { encodedOnce } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import type { GrpcLimitOptions } from '../../server/src/grpc/limits.ts'
import { ECHO, type EchoServer, startEcho } from '../grpc/echo-server.ts'
import { call, callFields, END_HEADERS, frame, PREFACE, prefixed, settings, Type } from '../grpc/wire.ts'
import { until } from '../servers/until.mjs'
import { Attacker, Bystander, odd } from './attacker.suite.ts'

// Nobody keeps others out by holding on to all connections, or by leaving a little with each of them.

const MOST = 20
const ATTACKER = '127.0.0.2'

let echo: EchoServer
let all: { leave(): void }[] = []

afterEach(async () => {
  for (const each of all) each.leave()
  all = []
  await echo.close()
})

async function start(limits: GrpcLimitOptions = { maxConnections: MOST }): Promise<void> {
  echo = await startEcho({ limits })
}

/** Opens connections from one address, and has each send something. */
async function crowd(size: number, address: string, ...bytes: Buffer[]): Promise<Attacker[]> {
  const crowded: Attacker[] = []
  for (let i = 0; i < size; i++) {
    const each = await Attacker.connect(echo.address, address)
    each.send(...bytes)
    crowded.push(each)
  }
  all.push(...crowded)
  await until('all are known', () => echo.stats.connections + echo.stats.connectionsRefused >= size)
  return crowded
}

async function bystander(): Promise<Bystander> {
  const client = await Bystander.connect(echo.address, ECHO.unary)
  all.push(client)
  return client
}

const begun = Buffer.concat([PREFACE, settings()])
const asked = Buffer.concat([begun, call(1, ECHO.unary, Buffer.alloc(0))])
const waiting = Buffer.concat([begun, call(1, ECHO.hold, Buffer.alloc(0))])

describe('connections of one address that take every place', () => {
  it.each([
    ['that never say a word', Buffer.alloc(0)],
    ['that never make a call', begun],
    ['that made a call once', asked],
    ['that have a call in flight', waiting],
  ])('%s do not keep another address out', async (_, bytes) => {
    await start()
    await crowd(MOST, ATTACKER, bytes)
    if (bytes === waiting) await until('all calls wait', () => echo.held === MOST)
    const other = await bystander()
    expect(await other.call()).toBe('0')
    expect(echo.stats.closedFor.crowd).toBe(1)
    await until('one had to leave', () => echo.stats.connectionsOpen === MOST)
  })

  it('leave those alone that were there before and are of use, from whatever address', async () => {
    await start()
    const proxies = await Promise.all(Array.from({ length: MOST / 2 }, () => bystander()))
    for (const proxy of proxies) expect(await proxy.call()).toBe('0')
    // From the same address as the proxies, as behind a balancer: three times as many as there is room for.
    await crowd(3 * MOST, '127.0.0.1', begun)
    for (const proxy of proxies) expect(await proxy.call()).toBe('0')
    expect(proxies.filter(({ isClosed }) => isClosed)).toEqual([])
    expect(echo.stats.closedFor.crowd).toBeGreaterThan(0)
  })

  it('are not bounded as long as there are places left: proxies come from one address', async () => {
    await start()
    const proxies = await crowd(MOST, ATTACKER, asked)
    await until('all are answered', () => proxies.every(({ statuses }) => statuses['0'] === 1))
    expect(echo.stats).toMatchObject({ connectionsOpen: MOST, connectionsRefused: 0 })
    expect(echo.stats.closedFor.crowd).toBe(0)
  })
})

describe('bytes held for clients', () => {
  const most = 1_048_576
  /** A message of 60,000 bytes, without its last one. */
  const almost = Buffer.concat([
    begun,
    frame(Type.HEADERS, END_HEADERS, 1, encodedOnce(callFields(ECHO.unary))),
    ...[0, 15_000, 30_000, 45_000].map((at) =>
      frame(Type.DATA, 0, 1, prefixed(Buffer.alloc(60_000)).subarray(at, Math.min(at + 15_000, 59_999))),
    ),
  ])

  it('by many connections end some of these, and none of another address', async () => {
    await start({ maxHeldBytes: most })
    const other = await bystander()
    expect(await other.call()).toBe('0')
    for (let i = 0; i < 60; i++) {
      await crowd(1, ATTACKER, almost)
      expect(echo.stats.bytesHeld).toBeLessThanOrEqual(most)
    }
    await until('some had to go', () => echo.stats.closedFor.memory > 0)
    expect(echo.stats.bytesHeld).toBeLessThanOrEqual(most)
    expect(await other.call()).toBe('0')
    expect(other.isClosed).toBe(false)
  })

  it('by one connection end that one, and not connections that hold less', async () => {
    await start({ maxHeldBytes: most })
    const others = await Promise.all(Array.from({ length: 5 }, () => bystander()))
    const greedy = await Attacker.begin(echo.address)
    all.push(greedy)
    for (let i = 0; i < 40 && greedy.goaway === undefined; i++) {
      greedy.send(
        frame(Type.HEADERS, END_HEADERS, odd(i), encodedOnce(callFields(ECHO.unary))),
        ...[0, 15_000, 30_000, 45_000].map((at) =>
          frame(Type.DATA, 0, odd(i), prefixed(Buffer.alloc(60_000)).subarray(at, Math.min(at + 15_000, 59_999))),
        ),
      )
      await greedy.read()
    }
    expect(greedy.goaway).toBe(11)
    expect(echo.stats.closedFor.memory).toBe(1)
    for (const other of others) expect(await other.call()).toBe('0')
  })
})
