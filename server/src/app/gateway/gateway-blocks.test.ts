import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { startRoutes } from './gateway.suite.ts'

const routes = (name: string) => `
upstreams: { app: APP }
limits:
  - name: ${name}
    algorithm: token_bucket
    requests_per_unit: 10
    window: 20s
    escalate: { block_after: 5, block_for: 1h }
`

/** Runs a gateway, and counts what its client gets. */
async function startBlocking(name: string, redis: string | undefined) {
  const args = redis === undefined ? [] : ['--redis', redis, '--redis-timeout', '60s']
  const { url, admin } = await startRoutes(routes(name), (_, response) => response.end(), args)
  const counts = { allowed: 0, denied: 0 }
  const ask = async (): Promise<number> => {
    const response = await fetch(url)
    await response.arrayBuffer()
    counts[response.status === 200 ? 'allowed' : 'denied']++
    return Number(response.headers.get('retry-after') ?? 0)
  }
  /** The sum of the series that have some labels. */
  const metric = async (family: string, ...labels: string[]): Promise<number> => {
    const lines = (await (await fetch(`${admin}/metrics`)).text()).split('\n')
    const found = lines.filter((line) => line.startsWith(`${family}{`) && labels.every((label) => line.includes(label)))
    return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  return { ask, counts, metric }
}

describe.each([
  ['in memory', async () => undefined],
  ['on Redis', async () => (await sharedRedis()).url],
])('a blocked caller %s', (_, open) => {
  it('hears how long its block is, which metrics name as the reason, and nothing else is counted', async () => {
    const name = `bots-${randomUUID()}`
    const { ask, counts, metric } = await startBlocking(name, await open())
    await until('it is blocked', async () => (await ask()) > 3_000)
    for (let i = 0; i < 10; i++) expect(await ask()).toBeGreaterThan(3_000)
    await Promise.all(Array.from({ length: 10 }, async () => expect(await ask()).toBeGreaterThan(3_000)))
    const requests = async (outcome: string) => await metric('ratelimit_requests_total', `outcome="${outcome}"`)
    expect({ allowed: await requests('allowed'), denied: await requests('denied') }).toEqual(counts)
    const block = await metric('ratelimit_denied_total', `limit=${name} block`)
    const limit = await metric('ratelimit_denied_total', `limit=${name}/`)
    expect(block).toBeGreaterThanOrEqual(20)
    expect(block + limit).toBe(counts.denied)
    const admitted = await metric('ratelimit_decisions_total', `limit=${name}/`, 'allowed"')
    expect(admitted).toBe(counts.allowed)
    expect(await metric('ratelimit_hits_total', `limit=${name} strikes`)).toBe(5)
  })
})

describe('a blocked caller', () => {
  it('stays blocked while Redis is unavailable', async () => {
    const redis = await startRedis()
    const { ask } = await startBlocking('bots', redis.url)
    await until('it is blocked', async () => (await ask()) > 3_000)
    redis.kill()
    for (let i = 0; i < 20; i++) expect(await ask()).toBeGreaterThan(3_000)
  })
})
