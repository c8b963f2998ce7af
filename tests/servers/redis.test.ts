import { existsSync } from 'node:fs'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isPending } from './pending.suite.ts'
import { type RedisOptions, type RedisServer, startRedis } from './redis.mjs'
import { connectResp } from './resp.mjs'

/** Starts a server that ends with the running test. */
async function start(options: RedisOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options)
  onTestFinished(() => server.stop())
  return server
}

describe('a server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  it('answers over its port', async () => {
    expect(await server.call('PING')).toBe('PONG')
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`)
  })

  it('answers redis-cli', async () => {
    expect(await server.cli('SET', 'cli', 'two\nlines')).toBe('OK')
    expect(await server.cli('GET', 'cli')).toBe('two\nlines')
    await expect(server.cli('INCR', 'cli')).rejects.toThrow(/not an integer/)
  })

  it('gives replies of every kind', async () => {
    const script = "return {1, 'Ü', false, {ok = 'fine'}, {err = 'BAD luck'}, {}}"
    expect(await server.call('EVAL', script, 0)).toEqual([1, 'Ü', null, 'fine', new Error('BAD luck'), []])
    await expect(server.call('NONSENSE')).rejects.toThrow(/^ERR unknown command/)
  })

  it('answers the commands of one connection in order', async () => {
    const connection = await server.connect()
    const replies = Array.from({ length: 100 }, () => connection.send('INCR', 'ordered'))
    expect(await Promise.all(replies)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
    connection.close()
  })

  it('persists nothing', async () => {
    expect(await server.cli('CONFIG', 'GET', 'save')).toBe('save\n')
    expect(await server.cli('CONFIG', 'GET', 'appendonly')).toBe('appendonly\nno')
  })
})

describe('a failing server', () => {
  it('breaks its connections when it is killed, and has the same port after a restart', async () => {
    const server = await start()
    const { pid, port } = server
    const connection = await server.connect()
    await server.kill()
    await expect(connection.send('PING')).rejects.toThrow('the connection is closed')
    await expect(server.call('PING')).rejects.toThrow('ECONNREFUSED')
    expect(server.isUp).toBe(false)

    await server.restart()
    expect(await server.call('PING')).toBe('PONG')
    expect(server.port).toBe(port)
    expect(server.pid).not.toBe(pid)
  })

  it('does not answer while it is paused, and answers afterwards', async () => {
    const server = await start()
    const connection = await server.connect()
    await server.pause()
    expect(server.isUp).toBe(false)
    const late = connection.send('PING')
    const healthy = await (await start()).connect()
    expect(await isPending(late, healthy)).toBe(true)
    // It is the kernel that takes connections.
    expect((await server.connect()).isOpen).toBe(true)
    server.resume()
    expect(await late).toBe('PONG')
    connection.close()
  })

  it('can be killed and restarted while it is paused', async () => {
    const server = await start()
    await server.pause()
    await server.restart()
    expect(await server.call('PING')).toBe('PONG')
    await server.pause()
    await server.kill()
    expect(server.isRunning).toBe(false)
  })

  it('keeps its data over a restart when configured to persist', async () => {
    const server = await start({ args: ['--appendonly', 'yes'] })
    await server.call('SET', 'kept', 'yes')
    await server.restart()
    expect(await server.call('GET', 'kept')).toBe('yes')
  })

  it('says why it does not start', async () => {
    await expect(startRedis({ args: ['--maxmemory-policy', 'nonsense'] })).rejects.toThrow(/maxmemory-policy/)
  })

  it('leaves nothing behind when it is stopped', async () => {
    const server = await startRedis()
    expect(existsSync(server.dir)).toBe(true)
    await server.stop()
    expect(existsSync(server.dir)).toBe(false)
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH')
  })
})

describe('settings', () => {
  it('takes any on the command line', async () => {
    const server = await start({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru'] })
    expect(await server.cli('CONFIG', 'GET', 'maxmemory-policy')).toBe('maxmemory-policy\nallkeys-lru')
  })

  it('listens on a Unix socket', async () => {
    const server = await start({ unixSocket: true })
    const connection = await connectResp({ socketPath: server.socketPath! })
    expect(await connection.send('PING')).toBe('PONG')
    connection.close()
  })

  it('asks for a password', async () => {
    const server = await start({ password: 'p"ss w@rd' })
    expect(server.url).toBe(`redis://:p%22ss%20w%40rd@127.0.0.1:${server.port}`)
    expect(await server.call('PING')).toBe('PONG')
    expect(await server.cli('PING')).toBe('PONG')
    const stranger = await connectResp({ port: server.port })
    await expect(stranger.send('PING')).rejects.toThrow('NOAUTH')
    stranger.close()
  })

  it('denies a user what its rights do not cover', async () => {
    const server = await start({ acl: { app: 'on >secret ~sluice:* +get +set' } })
    const app = await server.connect({ username: 'app', password: 'secret' })
    expect(await app.send('SET', 'sluice:a', 1)).toBe('OK')
    await expect(app.send('SET', 'other', 1)).rejects.toThrow('NOPERM')
    await expect(app.send('FLUSHALL')).rejects.toThrow('NOPERM')
    await expect(server.connect({ username: 'app', password: 'wrong' })).rejects.toThrow('WRONGPASS')
    app.close()
  })
})

describe('TLS', () => {
  it('answers clients that trust its authority, and redis-cli', async () => {
    const server = await start({ tls: true, password: 'secret' })
    expect(server.url).toBe(`rediss://:secret@127.0.0.1:${server.port}`)
    expect(await server.call('PING')).toBe('PONG')
    expect(await server.cli('PING')).toBe('PONG')
    const { ca } = server.tls!
    const connection = await connectResp({ port: server.port, tls: { ca }, password: 'secret' })
    expect(await connection.send('PING')).toBe('PONG')
    connection.close()
  })

  it('is refused by clients that do not trust its authority', async () => {
    const { port } = await start({ tls: true })
    const socket = connectTls({ host: '127.0.0.1', port })
    const error = await new Promise<Error & { code?: string }>((resolve) => socket.once('error', resolve))
    expect(error.code).toBe('SELF_SIGNED_CERT_IN_CHAIN')
  })

  it('does not answer without TLS', async () => {
    const { port } = await start({ tls: true })
    const plain = await connectResp({ port })
    await expect(plain.send('PING')).rejects.toThrow()
    plain.close()
  })

  it('asks for a certificate when it is mutual', async () => {
    const { port, tls } = await start({ tls: 'mutual' })
    const known = await connectResp({ port, tls: tls! })
    expect(await known.send('PING')).toBe('PONG')
    known.close()
    const stranger = await connectResp({ port, tls: { ca: tls!.ca } })
    await expect(stranger.send('PING')).rejects.toThrow()
    stranger.close()
  })
})
