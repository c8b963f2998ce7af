import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, Socket } from 'node:net'
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { until } from '../../../../tests/servers/until.mjs'
import { RespClient, type RespClientOptions } from './resp-client.ts'

let redis: Awaited<ReturnType<typeof startRedis>>
beforeAll(async () => {
  redis = await startRedis({ unixSocket: true, acl: { app: 'on >secret ~* &* +@all' } })
  return () => redis.stop()
})

// A busy machine may need longer to connect than the second that a client has for it.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const clients: RespClient[] = []
const servers: Server[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
  for (const server of servers.splice(0)) server.close()
})

async function open(options: Partial<RespClientOptions> = {}): Promise<RespClient> {
  const at = { host: '127.0.0.1', port: redis.address.port }
  const client = await RespClient.open({ at, tls: false, ...options })
  clients.push(client)
  return client
}

/** Starts a server that does with a connection what the test says, and returns where it is. */
async function serve(answer: (socket: Socket) => void): Promise<RespClientOptions['at']> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    answer(socket)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

describe('a RespClient', () => {
  it('asks and is answered, in order, in every kind', async () => {
    const client = await open()
    const key = 'clé 😀'
    const replies = await Promise.all([
      client.call(['SET', key, Buffer.from([0, 13, 10, 255])]),
      client.call(['GET', key]),
      client.call(['GET', 'nothing']),
      client.call(['INCRBY', 'number', '7']),
      client.call(['MGET', key, 'nothing', 'number']),
    ])
    const bytes = Buffer.from([0, 13, 10, 255])
    expect(replies).toEqual(['OK', bytes, null, 7, [bytes, null, Buffer.from('7')]])
  })

  it('writes all that is asked in one turn in one piece', async () => {
    const client = await open()
    const write = vi.spyOn(Socket.prototype, 'write')
    onTestFinished(() => write.mockRestore())
    const replies = [client.call(['ECHO', 'one']), client.call(['ECHO', 'two'])]
    await Promise.resolve()
    replies.push(client.call(['ECHO', 'three']))
    expect(await Promise.all(replies)).toEqual(['one', 'two', 'three'].map((word) => Buffer.from(word)))
    const echo = (word: string): string => `*2\r\n$4\r\nECHO\r\n$${word.length}\r\n${word}\r\n`
    expect(write.mock.calls.map(([bytes]) => String(bytes))).toEqual([echo('one') + echo('two') + echo('three')])
  })

  it('writes what a prompt asker asks immediately, behind what was asked before', async () => {
    const client = await open()
    const write = vi.spyOn(Socket.prototype, 'write')
    onTestFinished(() => write.mockRestore())
    const first = client.call(['ECHO', 'one'])
    const second = new Promise((resolve, reject) => {
      client.ask(['ECHO', 'two'], { isPrompt: true, answered: resolve, failed: reject })
    })
    const echo = (word: string): string => `*2\r\n$4\r\nECHO\r\n$${word.length}\r\n${word}\r\n`
    expect(write.mock.calls.map(([bytes]) => String(bytes))).toEqual([echo('one') + echo('two')])
    expect(await Promise.all([first, second])).toEqual([Buffer.from('one'), Buffer.from('two')])
    expect(write).toHaveBeenCalledTimes(1)
  })

  it('writes what it was asked, however slowly the server reads', async () => {
    const pieces: Buffer[] = []
    let reader: Socket | undefined
    const client = await open({
      at: await serve((socket) => {
        reader = socket.pause()
        socket.on('data', (piece) => pieces.push(piece))
      }),
    })
    const words = Array.from({ length: 200 }, (_, i) => `${i}|`.repeat(100_000).slice(0, 100_000))
    const encoded = words.map((word) => `*1\r\n$100000\r\n${word}\r\n`).join('')
    // Some at once, some at the end of a turn, and others while nothing leaves.
    for (const [i, word] of words.entries()) {
      client.ask([word], { isPrompt: i % 3 > 0, answered() {}, failed() {} })
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until('the server has a connection', () => reader !== undefined)
    reader?.resume()
    await until('all has come', () => pieces.reduce((sum, { length }) => sum + length, 0) === encoded.length)
    expect(Buffer.concat(pieces).equals(Buffer.from(encoded))).toBe(true)
  })

  it('reports an error that the server answers, and continues', async () => {
    const client = await open()
    const [wrong, right] = await Promise.allSettled([client.call(['NOTHING']), client.call(['PING'])])
    expect(wrong).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringMatching(/^ERR unknown command/) },
    })
    expect(right).toEqual({ status: 'fulfilled', value: 'PONG' })
  })

  it('logs in with a user and a password, and chooses a database', async () => {
    const client = await open({ username: 'app', password: 'secret', database: 3 })
    expect(String(await client.call(['ACL', 'WHOAMI']))).toBe('app')
    expect(String(await client.call(['CLIENT', 'INFO']))).toContain(' db=3 ')
  })

  it('rejects with what the server says to a wrong password', async () => {
    await expect(open({ username: 'app', password: 'wrong' })).rejects.toThrow(/^WRONGPASS/)
  })

  it('connects to a Unix socket', async () => {
    const client = await open({ at: String(redis.address.socketPath) })
    expect(await client.call(['PING'])).toBe('PONG')
  })

  it('rejects when no one listens', async () => {
    const at = await serve(() => {})
    servers.pop()?.close()
    await expect(open({ at })).rejects.toThrow('ECONNREFUSED')
  })

  it('hears what is published, and still pings', async () => {
    const heard: string[] = []
    const listener = await open()
    await listener.subscribe('news', (message) => heard.push(message))
    const speaker = await open()
    expect(await speaker.call(['PUBLISH', 'news', 'one'])).toBe(1)
    expect(await speaker.call(['PUBLISH', 'news', 'two'])).toBe(1)
    expect(String(await listener.call(['PING']))).toBe('pong,')
    expect(heard).toEqual(['one', 'two'])
  })

  it('fails all that was asked when the connection ends, and says why it ended', async () => {
    const at = await serve((socket) => socket.once('data', () => socket.end()))
    const client = await open({ at })
    const asked = [client.call(['PING']), client.call(['PING'])]
    expect(await Promise.allSettled(asked)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
    expect(await client.ended).toBe('closed')
    expect(client.isReady).toBe(false)
    await expect(client.call(['PING'])).rejects.toThrow('the connection has ended')
  })

  it('fails what was asked when it is destroyed', async () => {
    const client = await open({ at: await serve(() => {}) })
    const asked = client.call(['PING'])
    client.destroy('enough')
    await expect(asked).rejects.toThrow('enough')
    expect(await client.ended).toBe('enough')
  })

  it.each([
    ['that is no Redis', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'unknown reply type, byte 72'],
    ['that answers without a question', '+OK\r\n+OK\r\n', 'unexpected reply without a request'],
    ['that promises more than anybody can hold', '$9999999999\r\n', 'the reply is too large'],
  ])('leaves a server %s', async (_, text, reason) => {
    const client = await open({ at: await serve((socket) => socket.once('data', () => socket.write(text, 'latin1'))) })
    client.call(['PING']).catch(() => {})
    expect(await client.ended).toBe(reason)
  })

  it('leaves nothing open when it could not log in', async () => {
    let gone = 0
    const at = await serve((socket) => {
      socket.on('data', () => socket.write('-WRONGPASS invalid\r\n'))
      socket.on('close', () => gone++)
    })
    await expect(open({ at, password: 'x' })).rejects.toThrow('WRONGPASS')
    const probe = connect((at as { port: number }).port, '127.0.0.1')
    await new Promise((resolve) => probe.once('connect', resolve))
    probe.destroy()
    const server = servers.pop() as Server
    await new Promise((resolve) => server.close(resolve))
    expect(gone).toBeGreaterThanOrEqual(1)
  })
})
