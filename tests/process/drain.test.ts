import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { start } from '../cli/sluice-process.suite.ts'
import { until } from '../servers/until.mjs'
import { grpcClient, rlsRequest, shouldRateLimit, startGrpcLoad } from './grpc-load.suite.ts'
import { watch } from './health-watch.suite.ts'
import { startHttpLoad } from './http-load.suite.ts'

/** A directory of rules for the load, which ends with the test. */
const rulesPath = (): string => new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') }).path

describe('sluice serve, asked to end', () => {
  it.each([
    ['HTTP', (urls: string[], _: string[]) => startHttpLoad(urls, 16)],
    ['gRPC', (_: string[], nodes: string[]) => startGrpcLoad(nodes, 4)],
  ])('answers every call of a load over %s that moves on to another node', async (_, startLoad) => {
    const nodes = await Promise.all([start('--rules', rulesPath()), start('--rules', rulesPath())])
    const [first] = nodes
    const load = startLoad(
      nodes.map(({ url }) => url),
      nodes.map(({ grpc }) => grpc),
    )
    await load.grown(1_000)
    first.child.kill('SIGTERM')
    expect(await once(first.child, 'exit')).toEqual([0, null])
    await load.grown(1_000)
    expect(await load.stop()).toEqual([])
  })

  it('says that it does not serve before it stops serving', async () => {
    const { child, url, grpc, printed, output } = await start('--rules', rulesPath(), '--drain-delay', '10m')
    const { told, ended } = watch(grpc)
    await until('it says that it serves', () => told.length === 1)
    child.kill('SIGTERM')
    await until('it says that it does not serve', () => told.length === 2)
    expect(told).toEqual([1, 2])
    expect((await fetch(`${url}/healthcheck`)).status).toBe(500)
    // It still serves, until balancers have had time to notice.
    const client = grpcClient(grpc)
    expect((await shouldRateLimit(client, rlsRequest('load', 'bob')))[1]).toBe(1)
    await printed(' info  SIGTERM: health says no from now on')
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([130, null])
    expect(await output).toMatch(/ warn {2}SIGINT again: stopping immediately\n$/)
    expect(await ended).toBe(14)
    client.close()
  })

  it('does not wait for watchers of its health', async () => {
    const { child, grpc, output } = await start('--rules', rulesPath(), '--drain-timeout', '10m')
    const { told, ended } = watch(grpc)
    await until('it says that it serves', () => told.length === 1)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await ended).toBe(14)
    expect(told).toEqual([1, 2])
    expect(await output).toMatch(/ info {2}stopped\n$/)
  })
})
