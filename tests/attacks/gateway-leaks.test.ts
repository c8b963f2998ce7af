import { Agent, request as httpRequest, type RequestListener } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EndKind, GatewayGate } from '../../server/src/edge/gateway/gate.ts'
import { startApp, startGateway } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { PROPERTY_SEED } from '../seeds/seeds.ts'
import { until } from '../servers/until.mjs'

// STORM_REQUESTS=100000 npm test -- --only tests/attacks/gateway-leaks asks so often, SLUICE_SEED=7 for others.
const REQUESTS = Number(process.env.STORM_REQUESTS ?? 1_200)
const AT_ONCE = 48
/** nghttp2 stops reading from a client of too many resets when its last stream is closed: then its idle time has to end. */
const IDLE_MS = 5_000

/** Returns numbers from 0 to below 1, the same ones for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What an upstream does, well or not, by the path that it is asked for. */
const MOODS: Record<string, RequestListener> = {
  '/ok': (_, response) => response.end('ok'),
  '/echo': (request, response) => request.pipe(response),
  '/large': (_, response) => response.end(Buffer.alloc(200_000)),
  '/none': (_, response) => response.writeHead(204).end(),
  '/drops': (request) => request.socket.destroy(),
  '/breaks': (request, response) => {
    response.writeHead(200, { 'Content-Length': 100 })
    response.write('half', () => request.socket.destroy())
  },
  '/early': (_, response) => response.writeHead(413).end('no'),
  '/drips': (_, response) => {
    let left = 4
    const drip = (): void => {
      if (left-- === 0) response.end()
      else response.write('drip', () => setImmediate(drip))
    }
    drip()
  },
  '/never': () => {},
}
const PATHS = Object.keys(MOODS)

class CountingGate implements GatewayGate {
  asked = 0
  admitted = 0
  ended = 0
  twice = 0

  admit() {
    if (++this.asked % 11 === 0) return { kind: 'refused' as const, status: 429, headers: [], body: 'no' }
    this.admitted++
    let endings = 0
    const ended = (_: EndKind): void => {
      this.ended++
      if (++endings > 1) this.twice++
    }
    const pass = { kind: 'admitted' as const, ended }
    return this.asked % 7 === 0 ? Promise.resolve(pass) : pass
  }
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

describe(`a storm of requests, seed ${PROPERTY_SEED}`, () => {
  it(
    'leaves nothing behind: no request, no socket, no permit, no memory',
    async () => {
      const random = randomFrom(PROPERTY_SEED)
      const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
      const gate = new CountingGate()
      const app = await startApp((request, response) => {
        request.on('error', () => {})
        response.on('error', () => {})
        MOODS[request.url ?? '']?.(request, response)
        // node:http does not see that a connection has ended while a body on it is not read.
        if (request.url !== '/echo') request.resume()
      })
      const { port, url, gateway } = await startGateway(app, { gate, bounds: { keepAliveMs: IDLE_MS } })
      const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
      const before = sockets()
      const sessions: ClientHttp2Session[] = []
      const dial = (): ClientHttp2Session => {
        const made = connect(url)
        made.on('error', () => {})
        sessions.push(made)
        return made
      }
      let session = dial()
      onTestFinished(() => {
        agent.destroy()
        for (const each of sessions) each.destroy()
      })

      const ask = (): Promise<void> => {
        const path = PATHS[Math.floor(random() * PATHS.length)] as string
        const leavesAfter = path === '/never' || random() < 0.3 ? Math.floor(random() * 4) : -1
        const body = path === '/echo' || random() < 0.2 ? Buffer.alloc(Math.floor(random() * 50_000)) : undefined
        const way = random()
        if (way < 0.5) return overHttp1(path, body, leavesAfter)
        if (way < 0.95) return overHttp2(path, body, leavesAfter)
        return halfARequest(leavesAfter)
      }

      const overHttp1 = (path: string, body: Buffer | undefined, leavesAfter: number): Promise<void> =>
        new Promise((resolve) => {
          const asked = httpRequest(
            { port, host: '127.0.0.1', path, agent, method: body === undefined ? 'GET' : 'POST' },
            (response) => {
              response.on('error', () => {})
              response.resume()
            },
          )
          asked.on('error', () => {})
          asked.on('close', () => resolve())
          asked.end(body)
          leaveAfter(leavesAfter, () => asked.destroy())
        })

      const overHttp2 = (path: string, body: Buffer | undefined, leavesAfter: number): Promise<void> =>
        new Promise((resolve) => {
          if (session.closed || session.destroyed) {
            session = dial()
          }
          const stream = session.request({ ':path': path, ':method': body === undefined ? 'GET' : 'POST' })
          stream.on('error', () => {})
          stream.on('close', () => resolve())
          stream.resume()
          stream.end(body)
          leaveAfter(leavesAfter, () => {
            // A stream that is only closed stays open while node:http2 has something to write on it.
            stream.close(8)
            stream.destroy()
          })
        })

      const halfARequest = (leavesAfter: number): Promise<void> =>
        new Promise((resolve) => {
          const socket = connectTcp(port, '127.0.0.1')
          socket.on('error', () => {})
          socket.on('close', () => resolve())
          socket.write('POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf')
          leaveAfter(Math.max(leavesAfter, 1), () => socket.destroy())
        })

      const storm = async (count: number): Promise<void> => {
        let left = count
        await Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            while (left-- > 0) await ask()
          }),
        )
        await until('all requests are over', () => {
          if (gateway.stats.requests === 0) return true
          throw new Error(
            gateway
              .inFlight()
              .map((each) => JSON.stringify(each))
              .join('\n'),
          )
        })
      }

      await storm(REQUESTS / 3)
      const heapBefore = heapBytes()
      await storm((REQUESTS * 2) / 3)
      const grownBytes = heapBytes() - heapBefore

      expect(gate.ended).toBe(gate.admitted)
      expect(gate.twice).toBe(0)
      expect(gate.admitted).toBeGreaterThan(REQUESTS / 4)
      // A hundred bytes left of each request would be more than this in the long run.
      expect(grownBytes).toBeLessThan(6_000_000)
      agent.destroy()
      for (const each of sessions) each.destroy()
      await until('all clients are gone', () => {
        if (gateway.stats.connections === 0) return true
        const ours = sessions.filter(({ destroyed }) => !destroyed).length
        const left = gateway.connectionsInFlight().map((each) => JSON.stringify(each))
        throw new Error([...left, JSON.stringify(gateway.stats), `${ours} sessions of the clients are open`].join('\n'))
      })
      await gateway.close()
      await until('all sockets are gone', () => sockets() <= before)
    },
    REQUESTS > 10_000 ? 3_600_000 : 60_000,
  )
})

function leaveAfter(turns: number, leave: () => void): void {
  if (turns < 0) return
  if (turns === 0) leave()
  else setImmediate(() => leaveAfter(turns - 1, leave))
}
