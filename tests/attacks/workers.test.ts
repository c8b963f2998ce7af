import { describe, expect, it } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { startWith } from '../cli/sluice-process.suite.ts'
import { grpcClient, rlsRequest, shouldRateLimit } from '../process/grpc-load.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const { url: redis } = await sharedRedis()

describe('a worker that no longer answers', () => {
  it('is killed and replaced, and its clients are answered by another', async () => {
    const rules = new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') })
    const env = { REDIS_URL: redis, SLUICE_SECRET: 'a secret of this test', LOG_LEVEL: 'debug' }
    const args = ['--workers', '2', '--worker-timeout', '2s', '--rules', rules.path]
    const { grpc, welcome, printed } = await startWith(env, ...args)
    const clients = Array.from({ length: 4 }, () => grpcClient(grpc))
    const request = rlsRequest('load', 'alice')
    await Promise.all(clients.map((client) => shouldRateLimit(client, request)))
    const [, pid] = / debug worker \d+ \(process (\d+)\) is ready/.exec(welcome) ?? []
    process.kill(Number(pid), 'SIGSTOP')
    // Half of them wait for the worker that stands still, and fail when it is killed; then all are answered.
    await Promise.all(clients.map((client) => shouldRateLimit(client, request).catch(() => undefined)))
    await printed(`(process ${pid}) has not answered for 2000 ms, and is killed`)
    await printed(`(process ${pid}) ended with signal SIGKILL, another takes its place`)
    await printed(') is ready', 3)
    await until('all are answered', () => Promise.all(clients.map((client) => shouldRateLimit(client, request))))
    for (const client of clients) client.close()
  })

  it('is left alone as long as it answers', async () => {
    const rules = new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') })
    const env = { REDIS_URL: redis, SLUICE_SECRET: 'a secret of this test', LOG_LEVEL: 'debug' }
    const args = ['--workers', '2', '--worker-timeout', '10s', '--rules', rules.path]
    const { grpc, welcome, printed } = await startWith(env, ...args)
    const [, pid] = / debug worker \d+ \(process (\d+)\) is ready/.exec(welcome) ?? []
    process.kill(Number(pid), 'SIGSTOP')
    process.kill(Number(pid), 'SIGCONT')
    const client = grpcClient(grpc)
    await shouldRateLimit(client, rlsRequest('load', 'alice'))
    expect(await printed('is ready', 2)).not.toContain('has not answered')
    client.close()
  })
})
