import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { until } from '../../../../tests/servers/until.mjs'
import { parseRedisUrl } from './address.ts'
import { call } from './connection.ts'
import { SingleConnection, type Subscription } from './single-connection.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A Redis whose first connection is taken, and never answered: as from a machine that is just dying. */
async function behindSilence() {
  const redis = await startRedis()
  let connections = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    if (connections++ === 0) return
    const there = connect(redis.port, redis.host)
    there.on('error', () => {})
    socket.pipe(there).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    server.close()
    await redis.stop()
  }
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => connections, stop }
}

/** A Redis whose replies are held back, once they should be, and come when the test lets go of some bytes. */
async function behindSlowness() {
  const redis = await startRedis()
  let isHolding = false
  let held = Buffer.alloc(0)
  let line: Socket | undefined
  const server = createServer((socket) => {
    line = socket
    const there = connect(redis.port, redis.host)
    for (const end of [socket, there])
      end.on('error', () => {}).on('close', () => [socket, there].map((s) => s.destroy()))
    socket.pipe(there)
    there.on('data', (data: Buffer) => {
      if (isHolding) held = Buffer.concat([held, data])
      else socket.write(data)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    await redis.stop()
  })
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () => {
      isHolding = true
    },
    held: () => held.length,
    letGo: (bytes: number) => {
      line?.write(held.subarray(0, bytes))
      held = held.subarray(bytes)
    },
  }
}

describe('a server that has much to do', () => {
  it('keeps its connections while replies come, however long that of a ping has to wait', async () => {
    const there = await behindSlowness()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const received: string[] = []
    const events = {
      connected: () => void received.push('connected'),
      disconnected: (_shard: string, reason: string) => void received.push(reason),
      warned() {},
    }
    const address = parseRedisUrl(there.url)
    const connection = new SingleConnection(address, async () => address.nodes[0], events)
    onTestFinished(() => connection.close())
    await until('it is connected', () => received.length > 0)
    // The settings have been looked at, so that nothing else is on its way.
    await call(connection, '', ['PING'])
    there.hold()
    const replies = Array.from({ length: 9 }, (_, i) => call(connection, '', ['ECHO', `${i}`]))
    await until('all are answered', () => there.held() >= 9 * '$1\r\n0\r\n'.length)
    for (const [i, reply] of replies.entries()) {
      vi.advanceTimersByTime(1_000)
      there.letGo('$1\r\n0\r\n'.length)
      expect(String(await reply)).toBe(`${i}`)
    }
    expect(received).toEqual(['connected'])
  })
})

describe('a connection that is taken and never answered', () => {
  it.each<[string, Subscription | undefined]>([
    ['is given up, and another one is made', undefined],
    ['is given up by listeners, too', { channel: 'news', heard() {} }],
  ])('%s', async (_, subscription) => {
    const there = await behindSilence()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const received: string[] = []
    const events = {
      connected: () => void received.push('connected'),
      disconnected: (_shard: string, reason: string) => void received.push(reason),
      warned() {},
    }
    const address = parseRedisUrl(there.url)
    const connection = new SingleConnection(address, async () => address.nodes[0], events, {
      ...(subscription && { subscription }),
    })
    await until('it is taken', () => there.count() === 1)
    await until('it is given up', () => {
      vi.advanceTimersByTime(1_000)
      return received.length > 0
    })
    expect(received[0]).toBe('no answer for three seconds')
    await until('another one is made', () => received.at(-1) === 'connected')
    if (subscription === undefined) expect(await call(connection, '', ['PING'])).toBe('PONG')
    await connection.close()
    await there.stop()
  })
})
