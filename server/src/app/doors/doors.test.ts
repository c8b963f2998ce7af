import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { NO_RULES } from 'sluice/internal/core/rules/compile'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { logTo } from '../log/log.ts'
import type { LogEntry } from '../log/log-entry.ts'
import { readConfig } from '../settings/config.ts'
import { type Doors, openDoors } from './doors.ts'

const BODY = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}'
const HERE = { host: '127.0.0.1', port: 0 }

let doors: Doors | undefined

afterEach(async () => {
  await doors?.close()
})

/** open opens the HTTP door of a process whose rules are what `rules` returns. */
async function open(rules = () => NO_RULES, args: string[] = []) {
  const entries: LogEntry[] = []
  doors = openDoors(
    readConfig(args, {}),
    rules,
    logTo((entry) => entries.push(entry)),
  )
  return { doors, entries, url: `http://${await doors.all.http.listen(HERE)}` }
}

describe('openDoors', () => {
  it('logs what is nobody else’s fault, and tells the caller nothing of it', async () => {
    const { url, entries } = await open(() => {
      throw new Error('a fault of ours')
    })
    const response = await fetch(`${url}/v1/check`, { method: 'POST', body: BODY, headers: { connection: 'close' } })
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('a fault of ours')
    expect(entries).toEqual([
      {
        level: 'error',
        event: 'request.failed',
        message: 'a request could not be decided: a fault of ours',
        fields: { stack: expect.stringContaining('doors.test.ts') },
      },
    ])
  })

  it('logs nothing about requests that make no sense', async () => {
    const { url, entries } = await open()
    const response = await fetch(`${url}/v1/check`, { method: 'POST', body: 'x', headers: { connection: 'close' } })
    expect([response.status, entries]).toEqual([400, []])
  })

  it('counts calls and connections', async () => {
    const { doors } = await open()
    expect(doors.stats()).toMatchObject({
      'ratelimit_server.ShouldRateLimit.total_requests': 0,
      'sluice.grpc.connections_open': 0,
      'sluice.grpc.closed_for.protocol_errors': 0,
    })
  })

  it('says that it does not serve when told, and is ready at once where counters live in memory', async () => {
    const { url, doors } = await open()
    await doors.ready
    const health = async () => (await fetch(`${url}/healthcheck`, { headers: { connection: 'close' } })).status
    expect(await health()).toBe(200)
    doors.notServing()
    expect(await health()).toBe(500)
  })

  it('ends connections that it was given and that wait for a request, too', async () => {
    // It never listens itself, as in a worker.
    const { http } = openDoors(
      readConfig([], {}),
      () => NO_RULES,
      logTo(() => {}),
    ).all
    const listener = createServer((socket) => http.take(socket))
    await once(listener.listen(0, '127.0.0.1'), 'listening')
    const { port } = listener.address() as AddressInfo
    const idle = connect(port, '127.0.0.1')
    idle.write('GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(idle, 'data')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const ended = once(idle, 'close')
    const drained = http.drain(10_000)
    vi.advanceTimersByTime(1_000)
    await Promise.all([ended, drained])
    vi.useRealTimers()
    listener.close()
  })

  it('says why it cannot listen', async () => {
    const { doors, url } = await open()
    const port = Number(new URL(url).port)
    await expect(doors.all.grpc.listen({ host: '127.0.0.1', port })).rejects.toThrow(
      `PORT_UNAVAILABLE: 127.0.0.1:${port}: something else listens there (EADDRINUSE); ` +
        'a port is free and allowed to this user, or 0 to pick a free one',
    )
    await expect(doors.all.grpc.listen({ path: '/nowhere/a.sock' })).rejects.toThrow(
      /^PORT_UNAVAILABLE: \/nowhere\/a\.sock: /,
    )
  })
})
