import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { routesFile, startApp } from '../../server/src/app/gateway/gateway.suite.ts'
import { reapAtExit } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ENV, run } from './sluice-process.suite.ts'

const MAIN = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

interface RunningGateway {
  readonly child: ChildProcess
  readonly url: string
  readonly admin: string
}

/** Runs `sluice gateway` on free ports, for one test. */
async function startGateway(args: readonly string[], env: Record<string, string> = {}): Promise<RunningGateway> {
  const ports = ['--port', '0', '--host', '127.0.0.1', '--admin-port', '0']
  const child = spawn(process.execPath, [MAIN, 'gateway', ...ports, ...args], {
    env: { ...ENV, LOG_FORMAT: 'json', ...env },
  })
  reapAtExit(child)
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  let printed = ''
  child.stdout.on('data', (data) => {
    printed += data
  })
  child.stderr.on('data', (data) => {
    printed += data
  })
  await until('the gateway is up', () => {
    if (child.exitCode !== null) throw new Error(printed)
    return printed.includes('"service.started"')
  })
  const line = printed.split('\n').find((each) => each.includes('"service.started"')) as string
  const { gateway, admin } = JSON.parse(line) as { gateway: string; admin: string }
  return { child, url: `http://${gateway}`, admin: `http://${admin}` }
}

async function redisArgs(): Promise<readonly string[]> {
  const { url } = await sharedRedis()
  // A machine that is busy is no fault of Redis.
  return ['--redis', url, '--key-prefix', randomUUID(), '--redis-timeout', '60s']
}

const SECRET = { SLUICE_SECRET: 'the secret of these tests' }

describe('sluice gateway', () => {
  it('counts in all its workers together, and ends without a failed request', async () => {
    let inFlight = 0
    const waiting: (() => void)[] = []
    const app = await startApp((request, response) => {
      inFlight++
      if (request.url === '/slow') waiting.push(() => response.end('slow'))
      else response.end()
    })
    const args = [...(await redisArgs()), '--workers', '2', '--to', app, '--limit', '10/1h']
    const { child, url, admin } = await startGateway(args, SECRET)
    const slow = fetch(`${url}/slow`).then((response) => response.text())
    await until('it is at the app', () => waiting.length === 1)
    const all = await Promise.all(
      Array.from({ length: 16 }, () => fetch(url, { headers: { connection: 'close' } }).then(({ status }) => status)),
    )
    expect(all.filter((status) => status === 200)).toHaveLength(9)
    const stats = await (await fetch(`${admin}/stats`)).text()
    expect(stats).toContain('sluice.worker.1.gateway_connections')
    expect(stats).toContain('sluice.worker.2.gateway_connections')
    expect(await (await fetch(`${admin}/metrics`)).text()).toMatch(/outcome="denied",door="gateway"\} 7\n/)
    expect(inFlight).toBe(10)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await until('it takes no new connections', () =>
      fetch(url).then(
        () => false,
        () => true,
      ),
    )
    waiting[0]?.()
    expect(await slow).toBe('slow')
    expect(await ended).toEqual([0, null])
  })

  it('has no moment without limits in any worker while routes and their limits change', async () => {
    const app = await startApp((_, response) => response.end())
    const text = (n: number) =>
      `upstreams: { app: "${app}" }\nroutes: [{ path: /*, limits: [{ name: n${n}, requests_per_unit: 5, unit: day }] }]\n`
    const { file, change } = routesFile(text(0))
    const { url, child } = await startGateway([...(await redisArgs()), '--routes', file, '--workers', '2'], SECRET)
    let isOver = false
    const unlimited: number[] = []
    const ask = async (): Promise<void> => {
      while (!isOver) {
        const response = await fetch(url)
        await response.arrayBuffer()
        if (!response.headers.has('ratelimit')) unlimited.push(response.status)
      }
    }
    const asking = Promise.all(Array.from({ length: 8 }, ask))
    for (let n = 1; n <= 8; n++) {
      change(text(n))
      child.kill('SIGHUP')
      await until(
        'it is in force',
        async () => (await fetch(url)).headers.get('ratelimit')?.includes(`"n${n}"`) === true,
      )
    }
    isOver = true
    await asking
    expect(unlimited).toEqual([])
  })

  it('loses no place for ever when it is killed', async () => {
    const waiting: unknown[] = []
    const app = await startApp((request, response) => {
      if (request.url === '/slow') waiting.push(response)
      else response.end()
    })
    const limit = '{ algorithm: concurrency, requests_per_unit: 1, lease_ttl: 5s }'
    const { file } = routesFile(`upstreams: { app: "${app}" }\nlimits: [${limit}]\n`)
    const args = [...(await redisArgs()), '--routes', file]
    const [one, other] = await Promise.all([startGateway(args, SECRET), startGateway(args, SECRET)])
    const lost = fetch(`${one.url}/slow`).catch(() => 'lost')
    await until('it is at the app', () => waiting.length === 1)
    expect((await fetch(other.url)).status).toBe(429)
    await until('its place has been renewed for longer than its time', async () => {
      const metrics = await (await fetch(`${one.admin}/metrics`)).text()
      return /^ratelimit_renewals_total\{outcome="held"\} ([3-9]|\d\d+)$/m.test(metrics)
    })
    expect((await fetch(other.url)).status).toBe(429)
    one.child.kill('SIGKILL')
    expect(await lost).toBe('lost')
    await until('the place is free again', async () => (await fetch(other.url)).status === 200)
  })

  it('is explained, and its file is checked, before it runs', () => {
    const { file } = routesFile(
      'upstreams: { app: "http://localhost:3000" }\nroutes: [{ path: /a/*, limits: [5/1m] }]\n',
    )
    const good = run(['check', file])
    expect([good.status, good.stdout]).toEqual([
      0,
      expect.stringContaining('any method */a/* → app (http://localhost:3000): 1 limit'),
    ])
    const { file: bad } = routesFile(
      'upstreams: { app: "http://localhost:3000" }\nroutes: [{ path: /a/*, limit: [5/1m] }]\n',
    )
    const refused = run(['check', bad])
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringContaining(':2:24: "limit", did you mean "limits"?'),
    ])
    expect(run(['gateway', '--help']).stdout).toContain('sluice gateway --to http://localhost:3000 --limit 100/1m')
    expect(run(['gateway', '--to', 'http://localhost:3000'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('ROUTE_UNLIMITED: --to: neither --limit 100/1m nor --no-limit is given'),
    })
  })
})
