import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { Member } from '../upstreams/member.ts'
import { RetryBudget } from '../upstreams/retry-budget.ts'
import { UpstreamGroup } from '../upstreams/upstream-group.ts'
import { ManualClock, RecordingGate, startApp, startGateway, startRaw } from './gateway.suite.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const CLOSED = 'http://127.0.0.1:9'

/** Answers the first request of each connection, and closes as the second one arrives. */
async function startFickle() {
  const seen: string[] = []
  const app = await startRaw((socket) => {
    let requests = 0
    socket.on('data', (data: Buffer) => {
      seen.push(data.toString('latin1').split(' ')[0] as string)
      if (++requests === 1) socket.write(OK)
      else socket.destroy()
    })
  })
  return { app, seen }
}

describe('an upstream that closes an idle connection as the next request leaves', () => {
  it.each(['GET', 'HEAD', 'OPTIONS'])('is asked again for %s', async (method) => {
    const gate = new RecordingGate()
    const { app, seen } = await startFickle()
    const { url, gateway } = await startGateway(app, { gate })
    const statuses = []
    for (let i = 0; i < 3; i++) {
      const response = await fetch(url, { method: i === 1 ? method : 'GET' })
      await response.arrayBuffer()
      statuses.push(response.status)
    }
    expect(statuses).toEqual([200, 200, 200])
    expect(seen.slice(1, 3)).toEqual([method, method])
    expect(gate.ended).toEqual(['finish', 'finish', 'finish'])
    expect(gateway.stats.retries).toBe(0)
  })

  it.each(['POST', 'PATCH', 'PUT', 'DELETE'])('is not asked again for %s', async (method) => {
    const { app, seen } = await startFickle()
    const { url } = await startGateway(app)
    await (await fetch(url)).arrayBuffer()
    const response = await fetch(url, { method, ...(method !== 'DELETE' && { body: 'x' }) })
    expect([response.status, seen.filter((each) => each === method)]).toEqual([502, [method]])
  })
})

describe('tries', () => {
  it('are made again where no connection was made, for any method', async () => {
    let body = ''
    const app = await startApp((request, response) => {
      request.on('data', (data) => (body += data))
      request.on('end', () => response.end('ok'))
    })
    const { url, gateway } = await startGateway([CLOSED, app])
    for (let i = 0; i < 8; i++) {
      const response = await fetch(url, { method: 'POST', body: 'x' })
      expect(response.status).toBe(200)
      await response.text()
    }
    expect(body).toBe('xxxxxxxx')
    expect(gateway.stats.retries).toBeGreaterThan(0)
  })

  it('of safe requests are made again when an upstream breaks off, once', async () => {
    let connections = 0
    const app = await startRaw((socket) => {
      connections++
      socket.on('data', () => socket.destroy())
    })
    const { url } = await startGateway(app)
    expect((await fetch(url)).status).toBe(502)
    expect(connections).toBe(2)
    expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(502)
    expect(connections).toBe(3)
  })

  it('are not made again once the answer has begun', async () => {
    let connections = 0
    const app = await startRaw((socket) => {
      connections++
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
    })
    const { url } = await startGateway(app)
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
    expect(connections).toBe(1)
  })

  it('stay within a tenth of the requests', () => {
    const budget = new RetryBudget()
    const tries = (): number => {
      let count = 0
      while (budget.spend()) count++
      return count
    }
    expect(tries()).toBe(10)
    for (let i = 0; i < 100; i++) budget.earn()
    expect(tries()).toBe(10)
    for (let i = 0; i < 9; i++) budget.earn()
    expect(tries()).toBe(0)
    budget.earn()
    expect(tries()).toBe(1)
    for (let i = 0; i < 100_000; i++) budget.earn()
    expect(tries()).toBe(10)
  })

  it('end with the budget, while an upstream is down', async () => {
    let connections = 0
    const app = await startRaw((socket) => {
      connections++
      socket.on('data', () => socket.destroy())
    })
    const { url } = await startGateway(app)
    for (let i = 0; i < 60; i++) await (await fetch(url)).text()
    expect(connections).toBeLessThanOrEqual(60 + 10 + 6)
  })
})

describe('the choice between addresses', () => {
  const pool = { connections: 0, speaksHttp2: false } as never
  const endpoint = { authority: '', scheme: 'http' } as never

  function groupOf(count: number, clock: { nowMs(): number }) {
    const members = Array.from({ length: count }, () => new Member(endpoint, pool, 3, () => clock.nowMs()))
    return { members, group: new UpstreamGroup({ addresses: [] }, members, () => () => {}) }
  }

  it('is the less loaded of two', () => {
    const clock = new ManualClock()
    const { members, group } = groupOf(2, clock)
    for (let i = 0; i < 101; i++) group.pick(clock.nowMs(), undefined).begin()
    expect(Math.abs((members[0]?.inFlight ?? 0) - (members[1]?.inFlight ?? 0))).toBeLessThanOrEqual(1)
  })

  it('leaves an address out for a time that grows each time it fails', () => {
    const clock = new ManualClock()
    const { members, group } = groupOf(2, clock)
    const [bad, good] = members as [Member, Member]
    const isOut = (): boolean =>
      Array.from({ length: 64 }, () => group.pick(clock.nowMs(), undefined)).every((m) => m === good)
    for (const seconds of [5, 10, 20, 40]) {
      for (let i = 0; i < 3; i++) bad.failed()
      expect(isOut()).toBe(true)
      clock.advance(seconds * 1_000 - 1)
      expect(isOut()).toBe(true)
      clock.advance(1)
      expect(isOut()).toBe(false)
    }
  })

  it('is never empty: when all have failed, all are asked', () => {
    const clock = new ManualClock()
    const { members, group } = groupOf(3, clock)
    for (const member of members) for (let i = 0; i < 9; i++) member.failed()
    expect(new Set(Array.from({ length: 200 }, () => group.pick(clock.nowMs(), undefined))).size).toBe(3)
  })

  it('goes elsewhere after a failure', () => {
    const clock = new ManualClock()
    const { members, group } = groupOf(3, clock)
    for (let i = 0; i < 100; i++) expect(group.pick(clock.nowMs(), members[1])).not.toBe(members[1])
  })
})

describe('health checks', () => {
  it('take an address out that does not answer well, and bring it back', async () => {
    const clock = new ManualClock()
    let isWell = true
    let checks = 0
    const first = await startApp((request, response) => {
      if (request.url === '/health') {
        checks++
        response.writeHead(isWell ? 200 : 503)
      }
      response.end('first')
    })
    const second = await startApp((_, response) => response.end('second'))
    const health = { path: '/health', everyMs: 1_000, failures: 2, successes: 2 }
    const { url } = await startGateway([first, second], { clock, upstream: { health } })
    const answers = async (): Promise<string[]> => {
      const all = await Promise.all(Array.from({ length: 24 }, async () => (await fetch(url)).text()))
      return [...new Set(all)].sort()
    }
    const look = async (): Promise<void> => {
      const before = checks
      clock.advance(1_000)
      await until('it is checked', () => checks > before)
    }
    await until('it is checked', () => checks > 0)
    isWell = false
    await until('it is out', async () => {
      await look()
      return (await answers()).join() === 'second'
    })
    isWell = true
    await until('it has recovered', async () => {
      await look()
      return (await answers()).join() === 'first,second'
    })
  })
})

describe('connections to an upstream', () => {
  it('are bounded, and so are callers that wait for one', async () => {
    const sockets: Socket[] = []
    const app = await startRaw((socket) => {
      socket.on('data', () => sockets.push(socket))
    })
    const { url, gateway } = await startGateway(app, { upstream: { maxConnections: 2, maxWaiting: 1 } })
    const asked = Array.from({ length: 3 }, () => fetch(url).then((response) => response.status))
    await until('two are asked, and one waits', () => sockets.length === 2 && gateway.stats.requests === 3)
    const refused = await fetch(url)
    expect([
      refused.status,
      refused.headers.get('retry-after'),
      ((await refused.json()) as { code: string }).code,
    ]).toEqual([503, '1', 'GATEWAY_OVERLOADED'])
    await until('all are asked', () => {
      for (const socket of sockets.splice(0)) socket.write(OK)
      return gateway.stats.requests === 0
    })
    expect(await Promise.all(asked)).toEqual([200, 200, 200])
  })

  it('are closed when they have waited for long, or for as long as the upstream says', async () => {
    const clock = new ManualClock()
    const app = await startApp((_, response) => response.end('ok'))
    const { url, gateway } = await startGateway(app, { clock, upstream: { keepAliveMs: 3_000 } })
    await (await fetch(url)).text()
    expect(gateway.stats.upstreamConnections).toBe(1)
    await until('it is closed', () => {
      clock.advance(1_000)
      return gateway.stats.upstreamConnections === 0
    })
    const brief = await startRaw((socket) => {
      socket.on('data', () => socket.write(OK.replace('Content', 'Keep-Alive: timeout=1\r\nContent')))
    })
    const other = await startGateway(brief)
    await (await fetch(other.url)).text()
    expect(other.gateway.stats.upstreamConnections).toBe(0)
  })

  it('stay when a reload leaves the upstream as it is, and go when it does not', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { url, gateway } = await startGateway(app)
    await (await fetch(url)).text()
    const routes = [{ name: 'all', path: '/*', upstream: 'app' }]
    gateway.reload({ routes, upstreams: { app: { addresses: [app] } } })
    expect(gateway.stats.upstreamConnections).toBe(1)
    gateway.reload({ routes, upstreams: { app: { addresses: [app], maxConnections: 9 } } })
    expect(gateway.stats.upstreamConnections).toBe(0)
    expect(await (await fetch(url)).text()).toBe('ok')
  })
})
