import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRulesServer, status, text } from '../../server/src/sources/url/rules-server.suite.ts'
import { ruleText } from '../../src/sources/rule-directory.suite.ts'
import { reapAtExit } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ControlPlane } from '../xds/control-plane.suite.ts'
import { ENV, FREE_PORTS, startWith } from './sluice-process.suite.ts'

const MAIN = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

/** Carries out a command while this process answers it. */
async function ran(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...ENV, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  reapAtExit(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'close').then(([code]) => ({ code, output }))
  return { child, ended }
}

describe('sluice check', () => {
  it('reads rules at an address, with the token of the service', async () => {
    const answer = text(ruleText(5, 'far'))
    const server = await startRulesServer((request, response) =>
      (request.headers.authorization === 'Bearer t0ken' ? answer : status(401))(request, response),
    )
    const good = await (await ran({ SLUICE_RULES_TOKEN: 't0ken' }, 'check', server.url.href)).ended
    expect(good).toMatchObject({ code: 0, output: expect.stringContaining('ok: 1 limit in 1 domain, 1 file') })
    const away = await (await ran({}, 'check', `${server.url}?sig=hidden`)).ended
    expect(away.code).toBe(1)
    expect(away.output).toContain(`RULES_AWAY: ${server.url}?…: answered 401. `)
    expect(away.output).not.toContain('hidden')
  })
})

describe('sluice serve', () => {
  it('ends with success when stopped while it waits for its first rules', async () => {
    const plane = await ControlPlane.start()
    const { child, ended } = await ran(
      { LOG_FORMAT: 'json' },
      'serve',
      ...FREE_PORTS,
      '--rules-xds',
      `127.0.0.1:${plane.port}`,
    )
    await until('it has asked', () => plane.requests.length === 1)
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0, output: expect.stringContaining('"service.stopped"') })
  })

  it('gives the rules of a control plane to all of its workers', async () => {
    const plane = await ControlPlane.start()
    plane.set('default', '1', [])
    const redis = await sharedRedis()
    const env = {
      REDIS_URL: redis.url,
      SLUICE_SECRET: 'a secret of this test',
      SLUICE_KEY_PREFIX: `sources-${Math.random()}`,
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true',
    }
    // No worker counts by itself because the machine is busy.
    const args = [
      '--workers',
      '2',
      '--redis-timeout',
      '20s',
      '--health-needs-redis',
      '--rules-xds',
      `127.0.0.1:${plane.port}`,
    ]
    const service = await startWith(env, ...args)
    const health = async (): Promise<number> => (await fetch(`${service.admin}/readyz`)).status
    expect(await health()).toBe(503)
    const rate_limit = { unit: 'DAY', requests_per_unit: 1 }
    plane.set('default', '2', [{ name: 'a', domain: 'a', descriptors: [{ key: 'user', rate_limit }] }])
    await until('all workers have rules', async () => (await health()) === 200)
    await until('the control plane is notified', () => plane.acks.at(-1)?.version_info === '2')
    const body = JSON.stringify({ domain: 'a', descriptors: [{ entries: [{ key: 'user', value: 'u' }] }] })
    const statuses = []
    for (let i = 0; i < 4; i++) {
      const headers = { 'content-type': 'application/json', connection: 'close' }
      statuses.push((await fetch(`${service.url}/v1/check`, { method: 'POST', headers, body })).status)
    }
    expect(statuses).toEqual([200, 429, 429, 429])
  })
})
