import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { until } from '../../../tests/servers/until.mjs'
import { parseRedisUrl } from './address.ts'
import { call } from './connection.ts'
import { SingleConnection, type Subscription } from './single-connection.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** behindSilence is a Redis whose first connection is taken, and never answered: as from a machine that is just dying. */
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

describe('a connection that is taken and never answered', () => {
  it.each<[string, Subscription | undefined]>([
    ['is given up, and another one is made', undefined],
    ['is given up by those who listen, too', { channel: 'news', heard() {} }],
  ])('%s', async (_, subscription) => {
    const there = await behindSilence()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const told: string[] = []
    const events = {
      connected: () => void told.push('connected'),
      disconnected: (_shard: string, reason: string) => void told.push(reason),
      warned() {},
    }
    const address = parseRedisUrl(there.url)
    const connection = new SingleConnection(address, async () => address.nodes[0], events, {
      ...(subscription && { subscription }),
    })
    await until('it is taken', () => there.count() === 1)
    await until('it is given up', () => {
      vi.advanceTimersByTime(1_000)
      return told.length > 0
    })
    expect(told[0]).toBe('no answer for three seconds')
    await until('another one is made', () => told.at(-1) === 'connected')
    if (subscription === undefined) expect(await call(connection, '', ['PING'])).toBe('PONG')
    await connection.close()
    await there.stop()
  })
})
