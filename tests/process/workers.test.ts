import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { longRuleText, RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { FREE_PORTS, run, type Started } from '../cli/sluice-process.suite.ts'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { grpcClient, rlsRequest, shouldRateLimit, startGrpcLoad } from './grpc-load.suite.ts'
import { startHttpLoad } from './http-load.suite.ts'
import type { Load } from './load.suite.ts'
import { isRunning, pidsIn, startWorkers } from './worker-service.suite.ts'

const { url: redis } = await sharedRedis()
const DOORS: [name: string, start: (services: readonly Started[]) => Load][] = [
  [
    'HTTP',
    (services) =>
      startHttpLoad(
        services.map(({ url }) => url),
        16,
      ),
  ],
  [
    'gRPC',
    (services) =>
      startGrpcLoad(
        services.map(({ grpc }) => grpc),
        4,
      ),
  ],
]

const headers = { connection: 'close', 'content-type': 'application/json' }

/** Asks over a connection of its own. */
async function limitOf(url: string, domain: string): Promise<number | undefined> {
  const body = JSON.stringify({ domain, descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }], cost: 0 })
  const response = await fetch(`${url}/v1/check`, { method: 'POST', body, headers })
  const { verdicts } = (await response.json()) as { verdicts: { limit: number }[] }
  return verdicts[0]?.limit
}

async function statsOf(admin: string): Promise<Record<string, number>> {
  return (await (await fetch(`${admin}/stats?format=json`)).json()) as Record<string, number>
}

describe('sluice serve --workers 2', () => {
  it('shares a port, and counts together', async () => {
    const domain = `workers-${process.pid}-${Date.now()}`
    // No window ends in the middle of the test.
    const limit = '{unit: hour, requests_per_unit: 4, algorithm: sliding_log}'
    const rules = new RuleDirectory({
      'api.yaml': `domain: ${domain}\ndescriptors: [{key: user, rate_limit: ${limit}}]`,
    })
    const { url, welcome } = await startWorkers(rules)
    expect(welcome).toContain('2 workers; counters in Redis; 1 limit in 1 domain')
    const body = JSON.stringify({ domain, descriptors: [{ entries: [{ key: 'user', value: 'bob' }] }] })
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      const response = await fetch(`${url}/v1/check`, { method: 'POST', body, headers })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429])
  })

  it('replaces a worker that crashes, and never lets go of the port', async () => {
    const { url, child, welcome, printed, output } = await startWorkers(new RuleDirectory({ 'a.yaml': ruleText(9) }))
    const [first, second] = pidsIn(welcome)
    process.kill(first, 'SIGKILL')
    await printed('ended with signal SIGKILL, another takes its place')
    expect(await limitOf(url, 'api')).toBe(9)
    const again = pidsIn(await printed(') is ready', 3))
    expect(again).toHaveLength(3)
    // With both gone at once, connections wait for the next worker.
    process.kill(second, 'SIGKILL')
    process.kill(again[2], 'SIGKILL')
    expect(await Promise.all(Array.from({ length: 8 }, () => limitOf(url, 'api')))).toEqual(Array(8).fill(9))
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await output).toMatch(/ info {2}stopped\n$/)
  })

  it.each(DOORS)('drains and replaces a worker under a load of %s without a failed call', async (_, startLoad) => {
    const service = await startWorkers(new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') }))
    const { child, welcome, printed } = service
    const load = startLoad([service])
    await load.grown(200)
    const [pid] = pidsIn(welcome)
    process.kill(pid, 'SIGTERM')
    await printed('was asked to end, another takes its place')
    await printed(') is ready', 3)
    await until('the worker has ended', () => !isRunning(pid))
    await load.grown(200)
    expect(await load.stop()).toEqual([])
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it.each(DOORS)(
    'drains all workers on SIGTERM under a load of %s that moves on to another node',
    async (_, startLoad) => {
      const rules = new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') })
      const [one, other] = await Promise.all([startWorkers(rules), startWorkers(rules)])
      const load = startLoad([one, other])
      await load.grown(400)
      one.child.kill('SIGTERM')
      expect(await once(one.child, 'exit')).toEqual([0, null])
      expect(pidsIn(await one.output).filter(isRunning)).toEqual([])
      await load.grown(400)
      expect(await load.stop()).toEqual([])
    },
  )

  it('spreads gRPC connections evenly, also over a worker that took the place of another', async () => {
    const service = await startWorkers(new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') }))
    const { grpc, admin, welcome, printed } = service
    const clients = Array.from({ length: 4 }, () => grpcClient(grpc))
    const request = rlsRequest('load', 'alice')
    await Promise.all(clients.map((client) => shouldRateLimit(client, request)))
    const spread = async (): Promise<number[]> => {
      const stats = await statsOf(admin)
      return [1, 2].map((id) => stats[`sluice.worker.${id}.grpc_connections`])
    }
    expect(await spread()).toEqual([2, 2])
    process.kill(pidsIn(welcome)[0], 'SIGKILL')
    await printed(') is ready', 3)
    await until('the clients are spread again', async () => {
      await Promise.all(clients.map((client) => shouldRateLimit(client, request).catch(() => undefined)))
      return String(await spread()) === '2,2'
    })
    for (const client of clients) client.close()
  })

  it('adds up what the workers count', async () => {
    const { grpc, admin } = await startWorkers(new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') }))
    for (let i = 0; i < 6; i++) {
      const client = grpcClient(grpc)
      await shouldRateLimit(client, rlsRequest('load', 'alice'))
      client.close()
    }
    const stats = await statsOf(admin)
    expect(stats['ratelimit.service.rate_limit.load.user.total_hits']).toBe(6)
    expect(stats['sluice.grpc.calls']).toBe(6)
    expect(stats['ratelimit.service.config_load_success']).toBe(1)
    await until('connections that have ended do not count any more', async () => {
      const { 'sluice.worker.1.grpc_connections': one, 'sluice.worker.2.grpc_connections': two } = await statsOf(admin)
      return one === 0 && two === 0
    })
    expect(await (await fetch(`${admin}/rlconfig`)).text()).toMatch(
      /^load\.user: unit=DAY requests_per_unit=1000000000,/,
    )
  })

  it('has every worker use changed rules', async () => {
    const rules = new RuleDirectory({ 'a.yaml': ruleText(9) })
    const { url, child, printed } = await startWorkers(rules)
    rules.replace('a.yaml', ruleText(77))
    child.kill('SIGHUP')
    await printed(' info  rules are in force')
    await until('all workers use them', async () => {
      const limits = await Promise.all(Array.from({ length: 8 }, () => limitOf(url, 'api')))
      return limits.every((limit) => limit === 77)
    })
  })

  it('has every worker use many changed rules, which are loaded once for all, and its successor too', async () => {
    const rules = new RuleDirectory({ 'a.yaml': longRuleText(9) })
    const { url, child, welcome, printed } = await startWorkers(rules)
    const areInForce = (expected: number): Promise<unknown> =>
      until('all workers use them', async () => {
        const limits = await Promise.all(Array.from({ length: 8 }, () => limitOf(url, 'api')))
        return limits.every((limit) => limit === expected)
      })
    rules.replace('a.yaml', longRuleText(77, 2_000))
    await areInForce(77)
    rules.replace('a.yaml', longRuleText(78, 2_000))
    child.kill('SIGHUP')
    rules.replace('a.yaml', longRuleText(79))
    child.kill('SIGHUP')
    await areInForce(79)
    process.kill(pidsIn(welcome)[0], 'SIGKILL')
    await printed(' is ready', 3)
    await areInForce(79)
  })

  it('ends with the reason when workers cannot start', () => {
    const fault = join(makeTemporaryDir('fault'), 'fault.cjs')
    writeFileSync(fault, "if (process.send !== undefined) throw new Error('no luck today')\n")
    const { status, stderr } = run(['serve', '--examples', ...FREE_PORTS, '--workers', '2', '--redis', redis], {
      env: { NODE_OPTIONS: `--require ${fault}`, SLUICE_SECRET: 'x' },
    })
    expect(status).toBe(1)
    expect(stderr).toContain('no luck today')
    expect(stderr).toMatch(
      /\nWORKERS_CRASH: serve: worker \d \(process \d+\) ended with exit code 1. The service stops when none of its workers can start. See the log lines above.\n$/,
    )
  })
})
