import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { until } from '../../../tests/servers/until.mjs'
import { raisedBy } from '../../core/raised.suite.ts'
import { rateLimit } from '../../index.ts'
import { AppCounts } from './app-counts.ts'
import { prometheus } from './index.ts'

/** The lines about one metric. */
async function linesOf(registry: { metrics(): Promise<string> }, name: string): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.replace(/^# (HELP|TYPE) /, '').startsWith(name))
}

describe('prometheus()', () => {
  it('counts decisions by the names of the service', async () => {
    const registry = new Registry()
    const limiter = rateLimit({
      limit: 1,
      window: '1m',
      name: 'login',
      observer: prometheus({ registry, door: 'web' }),
    })
    for (let i = 0; i < 3; i++) limiter.check('alice')
    expect(await linesOf(registry, 'ratelimit_decisions')).toEqual([
      '# HELP ratelimit_decisions_total Verdicts of rules, by outcome.',
      '# TYPE ratelimit_decisions_total counter',
      'ratelimit_decisions_total{domain="",rule="login",outcome="allowed",door="web"} 1',
      'ratelimit_decisions_total{domain="",rule="login",outcome="denied",door="web"} 2',
    ])
    expect((await linesOf(registry, 'ratelimit_requests_total{')).map((line) => line.split(' ')[1])).toEqual([
      '1',
      '2',
      '0',
    ])
    const times = await linesOf(registry, 'ratelimit_check_duration_seconds')
    expect(times.filter((line) => line.includes('_bucket{'))).toHaveLength(16)
    expect(times.find((line) => line.includes('le="+Inf"'))).toMatch(/ 3$/)
    expect(times.at(-1)).toBe('ratelimit_check_duration_seconds_count{door="web"} 3')
  })

  it('speaks OpenMetrics where the registry does', async () => {
    const registry = new Registry()
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
    const limiter = rateLimit({ limit: 1, window: '1m', name: 'login', observer: prometheus({ registry }) })
    limiter.check('alice')
    expect(await linesOf(registry, 'ratelimit_decisions')).toEqual([
      '# HELP ratelimit_decisions Verdicts of rules, by outcome.',
      '# TYPE ratelimit_decisions counter',
      'ratelimit_decisions_total{domain="",rule="login",outcome="allowed",door="app"} 1',
    ])
  })

  it('is available as JSON, for the registry of a cluster', async () => {
    const registry = new Registry()
    prometheus({ registry })
    const all = await registry.getMetricsAsJSON()
    expect(all.map(({ name, type, aggregator }) => [name, type, aggregator])).toEqual([
      ['ratelimit_decisions_total', 'counter', 'sum'],
      ['ratelimit_requests_total', 'counter', 'sum'],
      ['ratelimit_failopen_total', 'counter', 'sum'],
      ['ratelimit_fallback_total', 'counter', 'sum'],
      ['ratelimit_redis_deadline_seconds', 'gauge', 'max'],
      ['ratelimit_check_duration_seconds', 'histogram', 'sum'],
    ])
  })

  it('publishes how long decisions wait for Redis, and how many were made without it', async () => {
    const redis = await startRedis()
    onTestFinished(() => redis.stop())
    const registry = new Registry()
    const observer = prometheus({ registry })
    const limits = ['a', 'b'].map((name) =>
      rateLimit({ limit: 9, window: '1m', name, redis: redis.url, observer, log: () => {} }),
    )
    for (const limit of limits) await limit.check('alice')
    expect(await linesOf(registry, 'ratelimit_redis_deadline_seconds{')).toEqual([
      'ratelimit_redis_deadline_seconds{shard="redis"} 0.1',
    ])
    expect(await linesOf(registry, 'ratelimit_fallback_total{')).toEqual([])
    await redis.stop()
    await until('a decision is made without Redis', async () => (await limits[0].check('alice')).fallback === 'local')
    const [line, ...more] = await linesOf(registry, 'ratelimit_fallback_total{')
    expect(line).toMatch(/^ratelimit_fallback_total\{mode="local",reason="(offline|broken|timeout)"\} 1$/)
    expect(more).toEqual([])
    for (const limit of limits) await limit.close()
  })

  it('counts servers beyond the bound as other', () => {
    const counts = new AppCounts([], 2)
    for (let i = 0; i < 300; i++) counts.deadlineChanged(`r:${i}`, i)
    counts.deadlineChanged('r:7', 70)
    const deadlines = new Map(counts.deadlines())
    expect([deadlines.size, deadlines.get('r:7'), deadlines.get('other')]).toEqual([257, 70, 299])
  })

  it('may be heard by one registry once', () => {
    const registry = new Registry()
    prometheus({ registry })
    expect(raisedBy(() => prometheus({ registry }))).toContain('has already been registered')
  })

  it('refuses options that there are not', () => {
    expect(raisedBy(() => prometheus({ bucket: [1] } as object))).toContain('bucket')
  })

  it('counts rules beyond the bound as other', () => {
    const counts = new AppCounts([], 2)
    for (const name of ['a', 'b', 'c', 'd']) rateLimit({ limit: 1, window: '1m', name, observer: counts }).check('x')
    expect(Array.from(counts.rules(), ({ rule, outcomes }) => [rule, outcomes[0]])).toEqual([
      ['a', 1],
      ['b', 1],
      ['other', 2],
    ])
  })
})
