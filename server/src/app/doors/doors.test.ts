import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, createServer } from 'node:net'
import { NO_RULES } from 'sluice/internal/core/rules/compile'
import { loadRules } from 'sluice/internal/core/rules/load'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { grpcClient, limiterCheck, rlsRequest, shouldRateLimit } from '../../../../tests/process/grpc-load.suite.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { checkServer } from '../../edge/check/check-server.ts'
import { logTo } from '../log/log.ts'
import type { LogEntry } from '../log/log-entry.ts'
import { readConfig } from '../settings/config.ts'
import { type Doors, openDoors } from './doors.ts'
import { httpDoor } from './http-door.ts'

const BODY = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}'
const JOBS = 'domain: api\ndescriptors: [{key: user, rate_limit: {requests_per_unit: 1, algorithm: concurrency}}]'
const headers = { connection: 'close', 'content-type': 'application/json' }
const HERE = { host: '127.0.0.1', port: 0 }

let doors: Doors | undefined

afterEach(async () => {
  await doors?.close()
})

/** Opens the HTTP door of a process whose rules are what `rules` returns. */
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
  it('logs internal errors, and reveals nothing of them to the caller', async () => {
    const { url, entries } = await open(() => {
      throw new Error('a fault of ours')
    })
    const response = await fetch(`${url}/v1/check`, { method: 'POST', body: BODY, headers })
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('a fault of ours')
    expect(entries).toEqual([
      {
        level: 'error',
        event: 'request.failed',
        message: 'a request could not be answered: a fault of ours',
        fields: { stack: expect.stringContaining('doors.test.ts') },
      },
    ])
  })

  it('logs nothing about requests that make no sense', async () => {
    const { url, entries } = await open()
    const response = await fetch(`${url}/v1/check`, { method: 'POST', body: 'x', headers })
    expect([response.status, entries]).toEqual([400, []])
  })

  it('counts calls and connections', async () => {
    const { doors } = await open()
    expect(doors.reports.stats()).toMatchObject({
      'ratelimit_server.ShouldRateLimit.total_requests': 0,
      'sluice.grpc.connections_open': 0,
      'sluice.grpc.closed_for.protocol_errors': 0,
    })
  })

  const RULES = `domain: api
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: api_key
    secret: true
    rate_limit: {unit: minute, requests_per_unit: 5}`

  it('counts and logs what no rule matches, over every door', async () => {
    const rules = loadRules([{ file: 'a.yaml', text: RULES }])
    const { doors, url, entries } = await open(() => rules)
    const grpc = await doors.all.grpc.listen(HERE)
    const ask = async (path: string, domain: string, key: string): Promise<void> => {
      const body = JSON.stringify({ domain, descriptors: [{ entries: [{ key, value: 'hunter2' }] }] })
      await fetch(url + path, { method: 'POST', body, headers })
    }
    await ask('/v1/check', 'api', 'user')
    expect(entries).toEqual([])
    for (const path of ['/v1/check', '/v1/acquire', '/json']) {
      await ask(path, 'apl', 'user')
      await ask(path, 'api', 'usr')
    }
    const client = grpcClient(grpc)
    onTestFinished(() => client.close())
    await shouldRateLimit(client, rlsRequest('apl', 'hunter2'))
    await limiterCheck(client, 'apl', 'hunter2')
    expect(doors.reports.stats()).toMatchObject({ 'sluice.unmatched.unknown_domain': 5, 'sluice.unmatched.no_rule': 3 })
    expect(entries).toEqual([
      {
        level: 'warn',
        event: 'request.unmatched',
        message: 'not limited, because no rules define the domain: 1 request, the first to "apl" with the keys user',
        fields: { kind: 'unknown_domain', domain: 'apl', keys: ['user'], count: 1 },
      },
      {
        level: 'info',
        event: 'request.unmatched',
        message: 'not limited, because no rule matches: 1 descriptor, the first of "api" with the keys usr',
        fields: { kind: 'no_rule', domain: 'api', keys: ['usr'], count: 1 },
      },
    ])
  })

  it('shows no value of a secret key in dynamic metadata', async () => {
    const rules = loadRules([{ file: 'a.yaml', text: RULES }])
    const { url } = await open(() => rules, ['--dynamic-metadata'])
    const entry = (key: string, value: string) => ({ entries: [{ key, value }] })
    const secret = 'sk_live_0123456789abcdef'
    const descriptors = [
      entry('api_key', secret),
      entry('api_key', 'hunter2'),
      entry('user', 'alice'),
      {
        entries: [
          { key: 'user', value: 'alice' },
          { key: 'api_key', value: secret },
        ],
      },
    ]
    const body = JSON.stringify({ domain: 'api', descriptors })
    const answer = await (await fetch(`${url}/json`, { method: 'POST', body, headers })).text()
    const { dynamicMetadata } = JSON.parse(answer) as { dynamicMetadata: { descriptors: { entries: string[] }[] } }
    const hashed = /^api_key=sk_l~[0-9a-f]{16}$/
    expect(dynamicMetadata.descriptors).toEqual([
      { entries: [expect.stringMatching(hashed)] },
      { entries: [expect.stringMatching(/^api_key=~[0-9a-f]{16}$/)] },
      { entries: ['user=alice'] },
      { entries: ['user=alice', expect.stringMatching(hashed)] },
    ])
  })

  it('reports that it does not serve when asked to, and is ready immediately where counters live in memory', async () => {
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

  it('cuts off slow clients whose connections it was given', async () => {
    const limiter = new Limiter(() => NO_RULES, new MemoryStore())
    const bounds = { headersTimeoutMs: 20, requestTimeoutMs: 20, lookEveryMs: 10 }
    const door = httpDoor(checkServer(limiter, { bounds }))
    const listener = createServer((socket) => door.take(socket))
    await once(listener.listen(0, '127.0.0.1'), 'listening')
    const slow = connect((listener.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(async () => {
      slow.destroy()
      listener.close()
      await door.drain(0)
    })
    let answer = ''
    slow.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk
    })
    slow.write('GET /healthcheck HTTP/1.1\r\nHost:')
    await until('it is cut off', () => answer.startsWith('HTTP/1.1 408 '))
  })

  it('closes the store when everything is answered, so that it gives back what it lent', async () => {
    const { url, doors } = await open()
    const close = vi.spyOn(MemoryStore.prototype, 'close')
    onTestFinished(() => close.mockRestore())
    const idle = connect(Number(new URL(url).port), '127.0.0.1')
    idle.write('GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(idle, 'data')
    const closed = doors.close()
    expect(close).not.toHaveBeenCalled()
    idle.destroy()
    await closed
    expect(close).toHaveBeenCalledTimes(1)
  })

  it('takes back a lease that another worker of the service gave', async () => {
    const config = readConfig([], {})
    const rules = loadRules([{ file: 'a.yaml', text: JOBS }])
    const [giver, taker] = [1, 2].map(() =>
      openDoors(
        config,
        () => rules,
        logTo(() => {}),
      ),
    )
    onTestFinished(async () => void (await Promise.all([giver.close(), taker.close()])))
    const post = async (to: Doors, path: string, body: string): Promise<Response> =>
      fetch(`http://${await to.all.http.listen(HERE)}${path}`, { method: 'POST', body, headers })
    const { lease } = (await (await post(giver, '/v1/acquire', BODY)).json()) as { lease: string }
    expect((await post(taker, '/v1/release', JSON.stringify({ lease }))).status).toBe(204)
  })

  it('serves gRPC with the limits of the settings', async () => {
    const args = ['--grpc-max-streams=7', '--grpc-max-connection-age=0', '--grpc-max-connection-age-grace=0']
    const { doors } = await open(undefined, args)
    const client = connectHttp2(`http://${await doors.all.grpc.listen(HERE)}`)
    const [settings] = await once(client, 'remoteSettings')
    expect(settings.maxConcurrentStreams).toBe(7)
    // As much as a message of Envoy may need, with its prefix.
    expect(settings.initialWindowSize).toBeGreaterThan(524_288)
    client.destroy()
  })
})
