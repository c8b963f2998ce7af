import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createGzip } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'
import { startRulesServer, text } from '../../server/src/sources/url/rules-server.suite.ts'
import { ruleText } from '../../src/sources/rule-directory.suite.ts'
import { until } from '../servers/until.mjs'
import { CONFIG, domainOf, RESPONSE, resourceOf, TYPE_URL } from '../xds/protos.suite.ts'

// Where rules come from may be somebody else's, or taken over. What it costs is bounded, and the last good rules stay.

interface Victim {
  readonly logged: string[]
  domains(): string
  /** Asks for a decision, which has nothing to do with where rules come from. */
  decides(): Promise<number>
  reload(): Promise<void>
}

async function startVictim(...args: string[]): Promise<Victim> {
  const logged: string[] = []
  const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']
  const service = await startService(
    readConfig([...ports, ...args], {}),
    logTo(({ event, message }) => logged.push(`${event} ${message}`)),
  )
  onTestFinished(() => service.close())
  const body = JSON.stringify({ domain: 'a', descriptors: [{ entries: [{ key: 'user', value: 'u' }] }] })
  return {
    logged,
    domains: () => [...service.rules().domains.keys()].join(),
    decides: async () => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`http://${service.addresses.http}/v1/check`, { method: 'POST', headers, body })
      return answer.status
    },
    reload: () => service.reload(),
  }
}

describe('an address that turns against its readers', () => {
  it('by sending for ever is heard for 8 MiB', async () => {
    const server = await startRulesServer(text(ruleText(1_000, 'a')))
    const victim = await startVictim('--rules', server.url.href)
    let sent = 0
    const chunk = Buffer.alloc(256 * 1024, '#')
    server.answer((_, response) => {
      const send = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length
        response.once('drain', send)
      }
      send()
    })
    await victim.reload()
    expect(victim.logged.at(-2)).toContain('an answer of more than 8388608 bytes')
    expect(sent).toBeLessThan(64 * 1024 * 1024)
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it('by sending little that unpacks to much is heard for 8 MiB', async () => {
    const server = await startRulesServer(text(ruleText(1_000, 'a')))
    const victim = await startVictim('--rules', server.url.href)
    server.answer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      const gzip = createGzip()
      gzip.pipe(response)
      const zeros = Buffer.alloc(1024 * 1024)
      const send = (): void => {
        while (!response.destroyed && gzip.write(zeros)) {}
        if (!response.destroyed) gzip.once('drain', send)
      }
      send()
      response.on('close', () => gzip.destroy())
    })
    await victim.reload()
    expect(victim.logged.at(-2)).toContain('an answer of more than 8388608 bytes')
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it('by sending nonsense changes nothing', async () => {
    const server = await startRulesServer(text(ruleText(1_000, 'a')))
    const victim = await startVictim('--rules', server.url.href)
    for (const nonsense of [
      'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(50_000)}\r\n`,
      '\0\0\0',
    ]) {
      server.answer((_, response) => void response.socket?.end(nonsense))
      await victim.reload()
      expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
    }
    server.answer(text(ruleText(1_000, 'b')))
    await victim.reload()
    expect(victim.domains()).toBe('b')
  })
})

const framed = (message: Uint8Array, length = message.length): Buffer => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

const responseOf = (version: string, ...configs: readonly object[]): Buffer =>
  framed(
    RESPONSE.encode({ version_info: version, type_url: TYPE_URL, nonce: version, resources: configs.map(resourceOf) }),
  )

/** A HostilePlane takes calls as a control plane does, and then does as a test says, on each of them. */
class HostilePlane {
  readonly streams: ServerHttp2Stream[] = []
  readonly sockets: Socket[] = []
  attack: (stream: ServerHttp2Stream) => void
  port = 0

  constructor(attack: (stream: ServerHttp2Stream) => void) {
    this.attack = attack
  }

  static async start(attack: (stream: ServerHttp2Stream) => void): Promise<HostilePlane> {
    const plane = new HostilePlane(attack)
    const server = createServer()
    server.on('connection', (socket: Socket) => plane.sockets.push(socket))
    server.on('session', (session) => session.on('error', () => {}))
    server.on('stream', (stream) => {
      stream.on('error', () => {})
      stream.resume()
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      plane.streams.push(stream)
      plane.attack(stream)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      server.close()
      for (const socket of plane.sockets) socket.destroy()
    })
    plane.port = (server.address() as AddressInfo).port
    return plane
  }
}

/** Starts a victim that has good rules, whose control plane then turns against it. */
async function turned(attack: (stream: ServerHttp2Stream) => void, ...args: string[]) {
  const plane = await HostilePlane.start((stream) => void stream.write(responseOf('1', domainOf('a', 1_000))))
  const victim = await startVictim('--rules-xds', `127.0.0.1:${plane.port}`, '--rules-xds-backoff', '100ms', ...args)
  expect(victim.domains()).toBe('a')
  plane.attack = attack
  attack(plane.streams[0])
  return { plane, victim }
}

const isAway = ({ logged }: Victim, reason: string): Promise<unknown> =>
  until(`it is unavailable: ${reason}`, () =>
    logged.some((line) => line.startsWith('rules.away') && line.includes(reason)),
  )

describe('a control plane that turns against its clients', () => {
  it('by announcing much is left before it has sent any of it', async () => {
    const { victim } = await turned((stream) => stream.write(framed(Buffer.alloc(0), 0xffff_ffff)))
    await isAway(victim, 'a message of 4294967295 bytes, above the maximum of 8388608')
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it('by sending a message in single bytes, and never all of it, is left in time', async () => {
    const { victim } = await turned(
      (stream) => {
        stream.write(framed(Buffer.alloc(0), 1_000_000))
        const dripping = setInterval(() => stream.destroyed || stream.write(Buffer.alloc(1)), 1)
        onTestFinished(() => clearInterval(dripping))
        stream.on('close', () => clearInterval(dripping))
      },
      '--rules-timeout',
      '300ms',
    )
    await isAway(victim, 'no whole message within 300 ms')
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it.each([
    ['noise', Buffer.alloc(5_000, 0xff), 'a compressed message'],
    ['what is no message', framed(Buffer.alloc(100, 0xff)), 'not a DiscoveryResponse'],
  ])('by sending %s is left, and asked again later', async (_, bytes, reason) => {
    const { victim, plane } = await turned((stream) => void stream.write(bytes))
    await isAway(victim, reason)
    await until('it is asked again', () => plane.streams.length > 2)
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it('by sending as fast as it can is read as fast as rules are worth it', async () => {
    const { victim, plane } = await turned((stream) => {
      const padding = Array.from({ length: 200 }, (_, i) => ({ key: `key-${i}`, value: 'v'.repeat(300) }))
      for (let i = 2; i < 500; i++) {
        stream.write(
          responseOf(String(i), { name: 'a', domain: 'a', descriptors: padding.concat({ key: `k${i}`, value: '' }) }),
        )
      }
    })
    for (let i = 0; i < 20; i++) expect(await victim.decides()).toBe(200)
    await until('some of it was read', () => victim.logged.filter((line) => line.startsWith('rules.loaded')).length > 1)
    expect(plane.sockets[0].bytesWritten).toBeLessThan(8 * 1024 * 1024)
    expect(plane.streams[0].writableLength).toBeGreaterThan(8 * 1024 * 1024)
  })

  it('by sending few bytes that are many descriptors is refused', async () => {
    const key = CONFIG.encode({ descriptors: [{ key: 'k' }] })
    const config = Buffer.concat([CONFIG.encode({ name: 'a', domain: 'a' }), Buffer.alloc(600_000 * key.length, key)])
    const resources = [{ type_url: TYPE_URL, value: config }]
    const message = framed(RESPONSE.encode({ version_info: '2', type_url: TYPE_URL, nonce: '2', resources }))
    const { victim } = await turned((stream) => void stream.write(message))
    await until('it is refused', () => victim.logged.some((line) => line.includes('too many descriptors and values')))
    expect([victim.domains(), await victim.decides()]).toEqual(['a', 200])
  })

  it('by ending calls with a long story has only its beginning logged, in one line', async () => {
    const { victim } = await turned((stream) => {
      stream.once('wantTrailers', () =>
        stream.sendTrailers({ 'grpc-status': '16', 'grpc-message': `a%0Alevel=error ${'x'.repeat(5_000)}` }),
      )
      stream.end()
    })
    await isAway(victim, 'status 16: a level=error xxx')
    const line = victim.logged.find((each) => each.startsWith('rules.away')) ?? ''
    expect(line.length).toBeLessThan(400)
    expect(line).not.toContain('\n')
  })
})
