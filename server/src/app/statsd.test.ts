import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ASK, startWhole } from '../../../tests/attacks/service.suite.ts'
import { logTo } from './log/log.ts'
import type { LogEntry } from './log/log-entry.ts'
import { StatsdExport } from './statsd.ts'

const NEVER = { host: '127.0.0.1', isDog: false, intervalMs: 1_000_000, tags: {} }

/** Has an export of counts that a test changes, and what it logs. */
function exportTo(config: { port: number; isDog?: boolean; tags?: Record<string, string> }) {
  const entries: LogEntry[] = []
  const counts = { a: 0 }
  const statsd = new StatsdExport(
    { ...NEVER, ...config },
    {
      log: logTo((entry) => void entries.push(entry)),
      reports: () => Promise.resolve([{ process: '1', counts: { ...counts } }]),
    },
  )
  onTestFinished(() => statsd.stop())
  return { statsd, counts, events: () => entries.map(({ event }) => event) }
}

/** Takes what StatsD would, over TCP. */
async function listen(port = 0) {
  const received: Promise<string>[] = []
  const server = createServer((socket) => void received.push(text(socket)))
  await once(server.listen(port, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, received, server }
}

describe('StatsdExport', () => {
  it('sends over TCP what has grown, and nothing when nothing has', async () => {
    const { port, received } = await listen()
    const { statsd, counts } = exportTo({ port })
    await statsd.flush()
    counts.a = 5
    await statsd.flush()
    counts.a = 7
    await statsd.flush()
    expect(await Promise.all(received)).toEqual(['a:5|c\n', 'a:2|c\n'])
  })

  it('sends over UDP, with tags, to DogStatsD', async () => {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    onTestFinished(() => void socket.close())
    const { statsd, counts } = exportTo({ port: socket.address().port, isDog: true, tags: { region: 'eu' } })
    counts.a = 5
    const told = once(socket, 'message')
    await statsd.flush()
    expect(String((await told)[0])).toBe('a:5|c|#region:eu\n')
  })

  it('logs once that StatsD is unreachable, and continues when it is reachable', async () => {
    const { port, server } = await listen()
    await new Promise((resolve) => server.close(resolve))
    const { statsd, counts, events } = exportTo({ port })
    for (counts.a = 1; counts.a < 4; counts.a++) await statsd.flush()
    expect(events()).toEqual(['statsd.lost'])
    const { received } = await listen(port)
    await statsd.flush()
    expect(await Promise.all(received)).toEqual(['a:1|c\n'])
    expect(events()).toEqual(['statsd.lost', 'statsd.connected'])
  })

  it('has the service send its counts by the names of envoyproxy/ratelimit', async () => {
    const { port, received } = await listen()
    const env = { STATSD_HOST: '127.0.0.1', STATSD_PORT: String(port), STATS_FLUSH_INTERVAL: '100ms' }
    const service = await startWhole([], env)
    for (let i = 0; i < 4; i++) await service.call('envoy', ASK)
    const sums = new Map<string, number>()
    for (let at = 0; !sums.has('ratelimit.service.rate_limit.d.user.over_limit'); at++) {
      while (received.length <= at) await new Promise((resolve) => setImmediate(resolve))
      for (const line of (await received[at]).split('\n')) {
        const [, name = '', count] = /^(.*):(\d+)\|c$/.exec(line) ?? []
        sums.set(name, (sums.get(name) ?? 0) + Number(count))
      }
    }
    expect(Object.fromEntries(sums)).toMatchObject({
      'ratelimit.service.rate_limit.d.user.total_hits': 4,
      'ratelimit.service.rate_limit.d.user.within_limit': 3,
      'ratelimit.service.rate_limit.d.user.over_limit': 1,
      'ratelimit.service.config_load_success': 1,
      'ratelimit_server.ShouldRateLimit.total_requests': 4,
    })
  })
})
