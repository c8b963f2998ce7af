import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { until } from '../servers/until.mjs'
import { grpcClient, rlsRequest, shouldRateLimit } from './grpc-load.suite.ts'
import { watch } from './health-watch.suite.ts'
import { isRunning, pidsIn, startWorkers } from './worker-service.suite.ts'

/** Asks over a connection of its own. */
async function healthOf(url: string): Promise<number> {
  return (await fetch(`${url}/healthcheck`, { headers: { connection: 'close' } })).status
}

describe('sluice serve --workers 2, asked to end', () => {
  it('has every worker say that it does not serve before they stop serving', async () => {
    const rules = new RuleDirectory({ 'load.yaml': ruleText(1e9, 'load') })
    const { child, url, grpc, printed, output } = await startWorkers(rules, '--drain-delay', '10m')
    const { told, ended } = watch(grpc)
    await until('a worker says that it serves', () => told.length === 1)
    child.kill('SIGTERM')
    await until('it says that it does not serve', () => told.length === 2)
    expect(told).toEqual([1, 2])
    // Connections go to the workers in turns. One of them may hear of the end a moment later.
    await until('every worker says so', async () => (await healthOf(url)) === 500 && (await healthOf(url)) === 500)
    expect([await healthOf(url), await healthOf(url)]).toEqual([500, 500])
    // They still serve, until balancers have had time to notice.
    const clients = [grpcClient(grpc), grpcClient(grpc)]
    for (const client of clients) expect((await shouldRateLimit(client, rlsRequest('load', 'bob')))[1]).toBe(1)
    await printed(' info  SIGTERM: health says no from now on')
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([130, null])
    expect(await output).not.toContain('accepting no new connections')
    expect(await ended).toBe(14)
    for (const client of clients) client.close()
  })

  it('kills a worker that does not end in time', async () => {
    const rules = new RuleDirectory({ 'a.yaml': ruleText(9) })
    const { child, welcome, output } = await startWorkers(rules, '--drain-timeout', '1ms')
    const [hung] = pidsIn(welcome)
    process.kill(hung, 'SIGSTOP')
    onTestFinished(() => void (isRunning(hung) && process.kill(hung, 'SIGKILL')))
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(pidsIn(welcome).filter(isRunning)).toEqual([])
    expect(await output).toMatch(/ info {2}stopped\n$/)
  })

  it('ends immediately on a second signal, with all workers', async () => {
    const { child, welcome, printed } = await startWorkers(
      new RuleDirectory({ 'a.yaml': ruleText(9) }),
      '--drain-delay=10m',
    )
    child.kill('SIGTERM')
    await printed(' info  SIGTERM: health says no from now on')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([143, null])
    for (const pid of pidsIn(welcome)) await until('the worker has ended', () => !isRunning(pid))
  })

  it('leaves no worker behind when it is killed', async () => {
    const { child, welcome } = await startWorkers(new RuleDirectory({ 'a.yaml': ruleText(9) }))
    child.kill('SIGKILL')
    for (const pid of pidsIn(welcome)) await until('the worker has ended', () => !isRunning(pid))
  })
})
