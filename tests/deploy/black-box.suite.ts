import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { grpcClient, rlsRequest, shouldRateLimit } from '../process/grpc-load.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

export type Variables = Readonly<Record<string, string>>

/** An Installation is a place that Sluice can be started from. */
export interface Installation {
  /** Starts the service with nothing but variables, as gateways do. */
  serve(variables: Variables): ChildProcess
  /** Carries out a command to its end. */
  run(args: readonly string[], variables: Variables): Promise<{ code: number; stdout: string; stderr: string }>
  /** Writes a ConfigMap of rules as the kubelet does, and returns where the program sees it. */
  mountRules(version: string, text: string): string
}

interface Running {
  readonly child: ChildProcess
  readonly http: string
  readonly grpc: string
  readonly admin: string
}

const RULES = (limit: number): string =>
  `domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: ${limit}, timeout_ms: 5000 }\n`

/** Starts an installation, and waits until it says where it listens. It ends with the test. */
async function startService(from: Installation, variables: Variables): Promise<Running> {
  const child = from.serve({ PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1', ...variables })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  const hear = (chunk: Buffer): void => {
    printed += chunk
  }
  child.stdout?.on('data', hear)
  child.stderr?.on('data', hear)
  const line = await until('it listens', () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${printed}`)
    return printed.split('\n').find((each) => each.includes('"service.started"'))
  })
  const { http, grpc, admin } = JSON.parse(line) as Record<'http' | 'grpc' | 'admin', string>
  return { child, http: `http://${http}`, grpc, admin: `http://${admin}` }
}

async function checked(http: string, user: string): Promise<number> {
  const body = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: user }] }] })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${http}/v1/check`, { method: 'POST', headers, body })).status
}

/** What every installation does, seen from outside: whatever it was built from, and wherever it runs. */
export function blackBox(name: string, installation: () => Installation): void {
  describe(`Sluice, started from ${name}`, () => {
    it("takes envoyproxy/ratelimit's environment, counts in Redis with two workers, and ends without an error", async () => {
      const from = installation()
      const { url } = await sharedRedis()
      const { child, http, grpc, admin } = await startService(from, {
        RUNTIME_ROOT: from.mountRules('1', RULES(2)),
        RUNTIME_SUBDIRECTORY: 'ratelimit',
        RUNTIME_WATCH_ROOT: 'false',
        RUNTIME_IGNOREDOTFILES: 'true',
        USE_STATSD: 'false',
        LOG_LEVEL: 'info',
        REDIS_SOCKET_TYPE: 'tcp',
        REDIS_URL: new URL(url).host,
        CACHE_KEY_PREFIX: `${randomUUID()}:`,
        SLUICE_SECRET: 'a secret of this test',
        SLUICE_WORKERS: '2',
        SLUICE_HEALTH_NEEDS_REDIS: 'true',
      })
      await until('both workers are connected', async () => (await fetch(`${admin}/readyz`)).status === 200)
      const client = grpcClient(grpc)
      onTestFinished(() => client.close())
      expect(await checked(http, 'alice')).toBe(200)
      expect((await shouldRateLimit(client, rlsRequest('api', 'alice')))[1]).toBe(1)
      expect((await shouldRateLimit(client, rlsRequest('api', 'alice')))[1]).toBe(2)
      expect(await checked(http, 'alice')).toBe(429)

      for (const path of ['/livez', '/readyz', '/healthcheck']) expect((await fetch(http + path)).status).toBe(200)
      expect((await from.run(['health', '--admin', admin], {})).code).toBe(0)

      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      expect((await from.run(['health', '--admin', admin], {})).stderr).toMatch(/^ADMIN_UNREACHABLE: /)
    })

    it('loads rules that are swapped as Kubernetes does, and serves metrics and the dashboard', async () => {
      const from = installation()
      const root = from.mountRules('1', RULES(1))
      const { http, admin } = await startService(from, { RUNTIME_ROOT: root, RUNTIME_SUBDIRECTORY: 'ratelimit' })
      expect(await checked(http, 'bob')).toBe(200)
      expect(await checked(http, 'bob')).toBe(429)
      from.mountRules('2', RULES(1_000_000))
      await until('the new rules are in force', async () => (await checked(http, 'bob')) === 200)
      expect(await (await fetch(`${admin}/metrics`)).text()).toContain('ratelimit_decisions_total{')
      const page = await fetch(admin, { headers: { accept: 'text/html' } })
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')])
    })
  })
}
