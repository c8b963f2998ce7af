import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { explain } from '../../server/src/cli/explain.ts'
import { createLimiter } from '../../src/library/create-limiter.ts'
import { urlOf } from '../cluster/partitions.suite.ts'
import { sharedCluster, sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ruleFile } from './nodes.suite.ts'
import { printedBy, refusedBy } from './printed.suite.ts'

const ALGORITHMS = ['sliding_window', 'token_bucket', 'gcra', 'leaky_bucket', 'fixed_window', 'sliding_log'] as const

/** Has a rule for each algorithm, a limiter that counts by them, and explain with the same settings. */
function scene(redis: string, keys: 'readable' | 'compact' = 'readable') {
  const domain = `d${randomUUID()}`
  const keyPrefix = `${randomUUID()}:`
  const limit = { unit: 'day', requests_per_unit: 4 } as const
  const descriptors = [
    ...ALGORITHMS.map((algorithm) => ({ key: algorithm, rate_limit: { ...limit, algorithm } })),
    { key: 'places', rate_limit: { requests_per_unit: 4, algorithm: 'concurrency' as const } },
    { key: 'lent', rate_limit: { unit: 'day' as const, requests_per_unit: 1_000, consistency: 'leased' as const } },
    { key: 'free', rate_limit: { unlimited: true } },
    { key: 'nothing', rate_limit: { ...limit, requests_per_unit: 0 } },
  ]
  const rules = { domain, descriptors }
  const limiter = createLimiter({ rules, redis, keyPrefix, keys, secret: 's', redisTimeoutMs: 20_000 })
  onTestFinished(() => limiter.close())
  const requestOf = (key: string) => ({ domain, descriptors: [{ entries: [{ key, value: 'a' }] }] })
  const settings = ['--redis', redis, '--key-prefix', keyPrefix, '--keys', keys, '--secret', 's']
  const args = [...settings, ruleFile(JSON.stringify(rules))]
  const explained = (key: string) => printedBy(explain, [...args, `${key}=a`])
  const stateOf = async (key: string) => /^ {5}state {4}(.*)$/m.exec(await explained(key))?.[1]
  const check = async (key: string) => (await limiter.check(requestOf(key))).allowed
  const acquire = async (key: string) => (await limiter.acquire(requestOf(key))).allowed
  return { keyPrefix, explained, stateOf, check, acquire }
}

describe.each(['readable', 'compact'] as const)('sluice explain --redis, with %s keys', (keys) => {
  it.each(ALGORITHMS)('shows what is used and left of %s, and changes nothing', async (algorithm) => {
    const redis = await sharedRedis()
    const { keyPrefix, explained, stateOf, check } = scene(redis.url, keys)
    expect(await stateOf(algorithm)).toBe('0 used, 4 left; not refused')
    expect(await redis.call('KEYS', `${keyPrefix}*`)).toEqual([])
    await check(algorithm)
    const [, key = ''] = /redis {4}(\S+)/.exec(await explained(algorithm)) ?? []
    const before = await redis.call('DUMP', key)
    expect(before).not.toBeNull()
    expect(await stateOf(algorithm)).toMatch(/^1 used, 3 left; not refused; unused again in \d/)
    expect(await redis.call('DUMP', key)).toEqual(before)
    for (let i = 0; i < 4; i++) await check(algorithm)
    expect(await stateOf(algorithm)).toMatch(/^4 used, 0 left; refused.*; unused again in \d/)
  })

  it('shows what is held of permits, and what is lent', async () => {
    const { url } = await sharedRedis()
    const { stateOf, check, acquire } = scene(url, keys)
    await acquire('places')
    expect(await stateOf('places')).toMatch(/^1 held, 3 free; not refused/)
    await until('something is lent', async () => {
      for (let i = 0; i < 20; i++) await check('lent')
      return /; \d+ of them lent to 1 node; not refused/.test((await stateOf('lent')) ?? '')
    })
  })

  it('says that no wait helps where a limit admits nothing', async () => {
    const { url } = await sharedRedis()
    const { stateOf } = scene(url, keys)
    expect(await stateOf('nothing')).toMatch(/^0 used, 0 left; refused for ever: the limit admits nothing/)
  })

  it('finds counters on a cluster', async () => {
    const { stateOf, check } = scene(urlOf(await sharedCluster()), keys)
    await until('a check is counted there', async () => {
      await check('gcra')
      return /^[1-4] used, [0-3] left; /.test((await stateOf('gcra')) ?? '')
    })
  })
})

describe('sluice explain --redis', () => {
  it('says what a compact key stands for', async () => {
    const { keyPrefix, explained } = scene((await sharedRedis()).url, 'compact')
    const lines = (await explained('gcra')).split('\n').map((line) => line.trim())
    expect(lines.find((line) => line.startsWith('redis '))?.slice(9)).toMatch(new RegExp(`^${keyPrefix}~[\\w-]{13}$`))
    expect(lines.find((line) => line.startsWith('key '))?.slice(9)).toMatch(/^[^{]*sluice:\{\d+\}:d.*gcra=a\|g1d$/)
  })

  it('says nothing about a rule without a counter', async () => {
    const { explained } = scene((await sharedRedis()).url)
    expect(await explained('free')).not.toMatch(/state|redis/)
  })

  it('says that Redis cannot be reached', async () => {
    const rules = ruleFile('{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]}')
    expect(await refusedBy(explain, ['--redis', 'redis://127.0.0.1:1', rules, 'a=b'])).toContain(
      'REDIS_UNREACHABLE: redis: not connected: connect ECONNREFUSED',
    )
  })
})
