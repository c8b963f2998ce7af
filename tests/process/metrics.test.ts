import { describe, expect, it } from 'vitest'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { start } from '../cli/sluice-process.suite.ts'
import { until } from '../servers/until.mjs'
import { pidsIn, startWorkers } from './worker-service.suite.ts'

const headers = { connection: 'close', 'content-type': 'application/json' }

/** Asks over a connection of its own, so that workers take turns. */
async function ask(url: string, domain: string): Promise<number> {
  const body = JSON.stringify({ domain, descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] })
  return (await fetch(`${url}/v1/check`, { method: 'POST', body, headers })).status
}

async function scrape(admin: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${admin}/metrics`, { headers: { connection: 'close' } })).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

async function probe(url: string): Promise<readonly [number, string]> {
  const response = await fetch(url, { headers: { connection: 'close' } })
  return [response.status, await response.text()]
}

/** Has rules of a domain that nobody else uses: counters in Redis are shared. */
function directoryOf(domain: string): RuleDirectory {
  const rules = new RuleDirectory()
  const limit = 'rate_limit: {unit: day, requests_per_unit: 1000}'
  rules.write('rules.yaml', `domain: ${domain}\ndescriptors:\n  - key: user\n    ${limit}\n`)
  return rules
}

describe('/metrics of a service with workers', () => {
  it('adds them up, and no counter falls when one is killed or stopped', async () => {
    const domain = `metrics-${process.pid}-${Date.now()}`
    const service = await startWorkers(directoryOf(domain))
    const hits = `ratelimit_hits_total{domain="${domain}",rule="user"}`
    const allowed = 'ratelimit_requests_total{outcome="allowed",door="http"}'
    for (let i = 0; i < 20; i++) expect(await ask(service.url, domain)).toBe(200)
    const before = await scrape(service.admin)
    expect([before.get(hits), before.get(allowed), before.get('ratelimit_workers{state="ready"}')]).toEqual([20, 20, 2])
    for (const worker of ['primary', '1', '2']) {
      expect(before.get(`process_resident_memory_bytes{worker="${worker}"}`)).toBeGreaterThan(1e6)
    }
    expect(before.get('ratelimit_circuit_state{shard="redis"}')).toBe(0)
    expect(before.get('ratelimit_redis_duration_seconds_count{shard="redis"}')).toBeGreaterThan(0)

    const [first, second] = pidsIn(await service.printed('is ready', 2))
    process.kill(first, 'SIGKILL')
    await service.printed('is ready', 3)
    expect((await scrape(service.admin)).get(hits)).toBe(20)

    for (let i = 0; i < 10; i++) expect(await ask(service.url, domain)).toBe(200)
    process.kill(second, 'SIGTERM')
    await service.printed('is ready', 4)
    await until(
      'two workers are ready',
      async () => (await scrape(service.admin)).get('ratelimit_workers{state="ready"}') === 2,
    )
    const after = await scrape(service.admin)
    expect([after.get(hits), after.get(allowed)]).toEqual([30, 30])
    expect(after.get('ratelimit_config_loads_total')).toBe(1)
  })

  it('is ready when its workers are, and no longer when it is asked to end', async () => {
    const domain = `probes-${process.pid}-${Date.now()}`
    const { url, admin, child, printed } = await startWorkers(directoryOf(domain), '--drain-delay', '60s')
    for (const path of [`${url}/readyz`, `${admin}/readyz`, `${url}/livez`, `${admin}/livez`]) {
      expect(await probe(path)).toEqual([200, 'ok\n'])
    }
    child.kill('SIGTERM')
    await printed('health says no')
    await until('it is not ready', async () => (await probe(`${url}/readyz`))[0] === 503)
    expect(await probe(`${url}/readyz`)).toEqual([503, 'not ready: draining\n'])
    expect(await probe(`${admin}/readyz`)).toEqual([503, 'not ready: draining\n'])
    expect(await probe(`${url}/livez`)).toEqual([200, 'ok\n'])
    expect(await probe(`${admin}/livez`)).toEqual([200, 'ok\n'])
  })
})

describe('/metrics of a service in one process', () => {
  it('is at another address too where that is wanted', async () => {
    const env = ['--prometheus', '--prometheus-address', '127.0.0.1:0', '--prometheus-path', '/here']
    const service = await start('--log-level', 'info', ...env)
    const [, url = ''] = /metrics are at (http:\S+)/.exec(await service.printed('metrics are at')) ?? []
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/here$/)
    expect(await probe(url)).toEqual([200, expect.stringContaining('\nratelimit_workers{state="ready"} 1\n')])
  })

  it('is not there where it is switched off', async () => {
    const service = await start('--metrics', 'off')
    expect((await probe(`${service.admin}/metrics`))[0]).toBe(404)
  })
})
