import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { reset } from '../../server/src/cli/reset.ts'
import { createLimiter } from '../../src/library/create-limiter.ts'
import { urlOf } from '../cluster/partitions.suite.ts'
import { sharedCluster, sharedRedis, sharedSentinel } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ruleFile, startNode, type TestNode } from './nodes.suite.ts'
import { printedBy, refusedBy } from './printed.suite.ts'

/** Has a rule of its own for each way to count. Budgets come back slowly: no test sees it. */
function rulesOf(domain: string): string {
  const limit = 'unit: day, requests_per_unit: 3, algorithm: token_bucket'
  return `
domain: ${domain}
descriptors:
  - key: exact
    rate_limit: {${limit}}
  - key: leased
    rate_limit: {${limit}, consistency: leased}
  - key: user
    rate_limits:
      - {${limit}}
      - {${limit.replace('day', 'week')}, name: weekly}
`
}

const SERVERS = {
  'one Redis': async () => (await sharedRedis()).url,
  'a cluster': async () => urlOf(await sharedCluster()),
  'a master of Sentinels': async () => {
    const { name, sentinels } = await sharedSentinel()
    return `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${name}`
  },
}

let domain: string
beforeEach(() => {
  domain = `d${randomUUID()}`
  vi.stubEnv('SLUICE_SECRET', 'secret')
  onTestFinished(() => void vi.unstubAllEnvs())
})

/** Asks until a caller is refused, and then once more: from memory. */
async function refuse(node: TestNode, entries: Record<string, string>): Promise<void> {
  await until('the caller is refused', async () => !(await node.check(domain, entries)).allowed)
  expect((await node.check(domain, entries)).allowed).toBe(false)
}

async function admits(node: TestNode, entries: Record<string, string>): Promise<void> {
  await until('the caller is admitted', async () => (await node.check(domain, entries)).allowed)
}

const PLACES = Object.entries(SERVERS).flatMap(([name, urlOfServer]) =>
  (['readable', 'compact'] as const).map((keys) => [name, keys, urlOfServer] as const),
)

describe.each(PLACES)('sluice reset, on %s with %s keys', (_, keys, urlOfServer) => {
  it.each(['exact', 'leased'])('lets a caller pass again on every node (%s)', async (key) => {
    const url = await urlOfServer()
    const rules = ruleFile(rulesOf(domain))
    const nodes = [
      await startNode(`--rules=${rules}`, `--redis=${url}`, `--keys=${keys}`),
      await startNode(`--rules=${rules}`, `--redis=${url}`, `--keys=${keys}`),
    ]
    const caller = { [key]: 'alice' }
    for (const node of nodes) await refuse(node, caller)
    for (const node of nodes) await refuse(node, { [key]: 'bob' })
    const printed = await printedBy(reset, ['--redis', url, '--keys', keys, '--rules', rules, `${key}=alice`])
    expect(printed).toMatch(/^sluice:\{\d+\}:d[^|]+\|[a-z]+\|[a-z]+=alice\|t1d\nreset 1 counter\n$/)
    for (const node of nodes) await admits(node, caller)
    for (const node of nodes) expect((await node.check(domain, { [key]: 'bob' })).allowed).toBe(false)
  })

  it('resets a whole domain, and no other, when asked to', async () => {
    const url = await urlOfServer()
    const [rules, others] = [ruleFile(rulesOf(domain)), ruleFile(rulesOf(`${domain}2`))]
    const node = await startNode(`--rules=${rules}`, `--rules=${others}`, `--redis=${url}`, `--keys=${keys}`)
    const callers = [{ exact: 'alice' }, { exact: 'bob' }, { leased: 'carol' }]
    for (const caller of callers) await refuse(node, caller)
    await until('others', async () => !(await node.check(`${domain}2`, { exact: 'alice' })).allowed)
    const printed = await printedBy(reset, ['--redis', url, '--keys', keys, '--all', '--domain', domain])
    expect(printed).toBe(`reset 3 counters of domain ${domain}\n`)
    for (const caller of callers) await admits(node, caller)
    expect((await node.check(`${domain}2`, { exact: 'alice' })).allowed).toBe(false)
  })
})

describe('a reset', () => {
  it('goes by keys of Redis as well, also when the counter is gone', async () => {
    const redis = await sharedRedis()
    const rules = ruleFile(rulesOf(domain))
    const node = await startNode(`--rules=${rules}`, `--redis=${redis.url}`)
    await refuse(node, { exact: 'alice' })
    const keys = (await redis.call('KEYS', `sluice:*${domain}*`)) as string[]
    expect(keys).toHaveLength(1)
    await redis.call('DEL', ...keys)
    const printed = await printedBy(reset, ['--redis', redis.url, '--key', String(keys[0])])
    expect(printed).toContain('reset 1 counter, of which 0 had counted something\n')
    await admits(node, { exact: 'alice' })
  })

  it('forgets every limit of a descriptor', async () => {
    const { url } = await sharedRedis()
    const rules = ruleFile(rulesOf(domain))
    const node = await startNode(`--rules=${rules}`, `--redis=${url}`)
    await refuse(node, { user: 'alice' })
    const printed = await printedBy(reset, ['--redis', url, '--rules', rules, '--domain', domain, 'user=alice'])
    expect(printed.trim().split('\n').at(-1)).toBe('reset 2 counters')
    await until('all is left', async () => (await node.check(domain, { user: 'alice' })).remaining === 2)
  })

  it('of the library reaches the service, too', async () => {
    const { url } = await sharedRedis()
    const rate_limit = { unit: 'day', requests_per_unit: 3, algorithm: 'token_bucket' } as const
    const limiter = createLimiter({
      rules: { domain, descriptors: [{ key: 'exact', rate_limit }] },
      redis: url,
      secret: 'secret',
      redisTimeoutMs: 20_000,
    })
    onTestFinished(() => limiter.close())
    const node = await startNode(`--rules=${ruleFile(rulesOf(domain))}`, `--redis=${url}`)
    await refuse(node, { exact: 'alice' })
    await limiter.reset({ domain, descriptors: [{ entries: [{ key: 'exact', value: 'alice' }] }] })
    await admits(node, { exact: 'alice' })
  })

  it('is heard among messages that make no sense, which are counted', async () => {
    const redis = await sharedRedis()
    const prefix = `${randomUUID()}:`
    const rules = ruleFile(rulesOf(domain))
    const shared = [`--redis=${redis.url}`, `--key-prefix=${prefix}`]
    const node = await startNode(`--rules=${rules}`, ...shared)
    await refuse(node, { exact: 'alice' })
    for (const message of ['', 'x', '?', 'zkey', 'x'.repeat(70_000), '\u0000\u0000']) {
      await redis.call('PUBLISH', `${prefix}sluice:notices:1`, message)
    }
    await until('all are counted', async () => (await node.stats()).includes('sluice.store.notices_ignored: 6'))
    expect((await node.check(domain, { exact: 'alice' })).allowed).toBe(false)
    await printedBy(reset, [...shared, '--rules', rules, 'exact=alice'])
    await admits(node, { exact: 'alice' })
  })
})

describe('a prefix of keys', () => {
  it('parts two fleets on one cluster: counters, slices and resets', async () => {
    const url = urlOf(await sharedCluster())
    const rules = ruleFile(rulesOf(domain))
    const [one, other] = [`${randomUUID()}:`, `${randomUUID()}*`]
    const ofOne = await startNode(`--rules=${rules}`, `--redis=${url}`, `--key-prefix=${one}`)
    const ofOther = await startNode(`--rules=${rules}`, `--redis=${url}`, `--key-prefix=${other}`)
    for (const caller of [{ exact: 'alice' }, { leased: 'alice' }]) {
      await refuse(ofOne, caller)
      const first = await until('Redis decides', () => ofOther.check(domain, caller))
      expect(first).toMatchObject({ allowed: true, remaining: 2 })
      await refuse(ofOther, caller)
    }
    await printedBy(reset, ['--redis', url, '--key-prefix', one, '--all', '--domain', domain])
    for (const caller of [{ exact: 'alice' }, { leased: 'alice' }]) {
      await admits(ofOne, caller)
      expect((await ofOther.check(domain, caller)).allowed).toBe(false)
    }
    const printed = await printedBy(reset, ['--redis', url, '--key-prefix', other, '--all', '--domain', domain])
    expect(printed).toBe(`reset 2 counters of domain ${domain}\n`)
  })
})

describe('sluice reset refuses', () => {
  const URL_OF_NOBODY = 'redis://127.0.0.1:1'

  it.each<[string, string[], string]>([
    ['nothing to forget', [], 'RESET_TARGET_INVALID: reset: no target is given'],
    [
      'two things together',
      ['--all', '--domain=d', 'a=b'],
      'RESET_TARGET_INVALID: reset: key=value and --all are given together',
    ],
    ['everything', ['--all'], 'RESET_TARGET_INVALID: reset: --all without --domain'],
    ['a descriptor without rules', ['a=b'], 'RESET_TARGET_INVALID: reset: key=value without --rules'],
    ['the key of another program', ['--key', 'session:1'], 'RESET_TARGET_INVALID: --key: got "session:1"'],
    [
      'the key of another prefix',
      ['--key', 'sluice:{1}:a', '--key-prefix', 'p:'],
      'RESET_TARGET_INVALID: --key: got "sluice:{1}:a"',
    ],
    [
      'the hash of a key',
      ['--key', '~AAAbbbbbccccc', '--keys', 'compact', '--secret', 's'],
      'RESET_TARGET_INVALID: --key: got "~AAAbbbbbccccc"',
    ],
    ['a flag that there is not', ['--alll'], 'FLAG_UNKNOWN: reset: got "--alll", did you mean "--all"?'],
  ])('%s', async (_, args, message) => {
    expect(await refusedBy(reset, ['--redis', URL_OF_NOBODY, ...args])).toContain(message)
  })

  it('a descriptor that no rule counts', async () => {
    const args = ['--redis', URL_OF_NOBODY, '--rules', ruleFile(rulesOf(domain)), 'nobody=b']
    expect(await refusedBy(reset, args)).toContain(`no rule of ${domain} matches this descriptor`)
  })

  it('to go without Redis', async () => {
    expect(await refusedBy(reset, ['--key', 'sluice:{1}:a'])).toContain('ARGUMENT_MISSING: reset: no --redis given')
    expect(await refusedBy(reset, ['--redis', URL_OF_NOBODY, '--key', 'sluice:{1}:a'])).toContain(
      'REDIS_UNREACHABLE: redis: not connected: connect ECONNREFUSED',
    )
  })

  it('to be silent when nodes cannot be notified', async () => {
    const redis = await sharedRedis()
    const user = `u${randomUUID()}`
    await redis.call('ACL', 'SETUSER', user, 'on', '>pw', '~*', 'resetchannels', '+@all')
    onTestFinished(async () => void (await redis.call('ACL', 'DELUSER', user)))
    const url = redis.url.replace('//', `//${user}:pw@`)
    expect(await refusedBy(reset, ['--redis', url, '--key', 'sluice:{1}:a|s1m'])).toContain('NODES_NOT_TOLD: reset')
    expect(await refusedBy(reset, ['--redis', url, '--all', '--domain', domain])).toContain('NODES_NOT_TOLD: reset')
  })
})
