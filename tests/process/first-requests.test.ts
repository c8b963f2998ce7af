import { describe, expect, it, onTestFinished } from 'vitest'
import { openServiceStore } from '../../server/src/app/doors/open-store.ts'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { StoreStats } from '../../server/src/observe/store-stats.ts'
import { startWhole } from '../attacks/service.suite.ts'
import { freePort } from '../servers/ports.mjs'
import { startProxy } from '../servers/proxy.mjs'
import { startRedis } from '../servers/redis.mjs'
import { sharedCluster, sharedRedis } from '../servers/shared.ts'

const PATIENT = '--redis-timeout=20s'

/** An answer to a check. */
interface Body {
  readonly verdicts: readonly { readonly fallback?: string }[]
}

const ask = (user: string) => ({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: user }] }] })

/** Those to requests that are sent as soon as there is a port: how each was decided. */
async function firstAnswers(args: readonly string[]): Promise<readonly (string | undefined)[]> {
  const { post } = await startWhole(args)
  const prefix = Math.random().toString(36)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => post('/v1/check', ask(`${prefix} ${i}`))))
  const bodies = await Promise.all(answers.map(async (answer) => (await answer.json()) as Body))
  return bodies.map(({ verdicts: [verdict] }) => verdict?.fallback)
}

const SHARED = Array.from({ length: 20 }, () => undefined)
const LOCAL = SHARED.map(() => 'local')

async function server() {
  const redis = await startRedis()
  onTestFinished(async () => void (await redis.stop()))
  return redis
}

describe('the first requests of a service', () => {
  it('are counted in Redis', async () => {
    const { url } = await sharedRedis()
    expect(await firstAnswers([`--redis=${url}`, PATIENT])).toEqual(SHARED)
  })

  it('are counted in a Redis that takes longer than a second to answer', async () => {
    const redis = await server()
    const proxy = await startProxy(redis.port)
    onTestFinished(() => proxy.stop())
    proxy.delay(1_500)
    expect(await firstAnswers([`--redis=${proxy.url}`, PATIENT])).toEqual(SHARED)
  })

  it('are counted in every master of a cluster', async () => {
    const { url } = await sharedCluster()
    expect(await firstAnswers([`--redis=${url.replace('redis:', 'redis+cluster:')}`, PATIENT])).toEqual(SHARED)
  })

  it('are decided by the failure policy where there is no Redis', async () => {
    const port = await freePort()
    expect(await firstAnswers([`--redis=redis://127.0.0.1:${port}`])).toEqual(LOCAL)
  })

  it('are decided by the failure policy where Redis is stopped, and takes connections', async () => {
    const redis = await server()
    redis.pause()
    onTestFinished(() => redis.resume())
    expect(await firstAnswers([`--redis=${redis.url}`])).toEqual(LOCAL)
  })
})

it('a cluster is reached when every master is connected, and not before', async () => {
  const { url } = await sharedCluster()
  const config = readConfig([`--redis=${url.replace('redis:', 'redis+cluster:')}`], {})
  const links = new Set<string>()
  const log = logTo(({ event, fields }) => {
    if (event === 'store.connected') links.add(String(fields?.shard))
  })
  const whenReached = await new Promise<number>((resolve) => {
    const open = openServiceStore(config, log, new StoreStats(), (isReached) => isReached && resolve(links.size))
    onTestFinished(() => open.close())
  })
  expect(whenReached).toBe(3)
})
