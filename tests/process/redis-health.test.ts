import { expect, it, onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'
import { ruleFile } from '../cli/nodes.suite.ts'
import { startProxy } from '../servers/proxy.mjs'
import { type RedisOptions, type RedisServer, startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'

const RULES = '{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5}}]}'
const PORTS = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']

async function server(options: RedisOptions = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  onTestFinished(async () => void (await redis.stop()))
  return redis
}

/** Starts a service whose health needs Redis. */
async function start(url: string) {
  let logged = ''
  const config = readConfig([`--rules=${ruleFile(RULES)}`, `--redis=${url}`, '--health-needs-redis', ...PORTS], {})
  const log = logTo((line) => {
    logged += `${JSON.stringify(line)}\n`
  })
  const service = await startService(config, log)
  onTestFinished(() => service.close())
  const health = async () => (await fetch(`http://${service.addresses.http}/healthcheck`)).status
  return { health, logged: () => logged }
}

it('a cluster without slots is not healthy, until it has all of them', async () => {
  const redis = await server({ args: ['--cluster-enabled', 'yes'] })
  const { health, logged } = await start(`redis+cluster://127.0.0.1:${redis.port}`)
  expect(await health()).toBe(500)
  const lost = 'no connection to cluster: CLUSTERDOWN 16384 of 16384 slots have no master'
  await until('the reason is logged', () => logged().includes(lost))
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_000)
  await until('some slots are known', () => logged().includes('connected to 127.0.0.1'))
  expect(await health()).toBe(500)
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 16_001, 16_383)
  await until('it is healthy', async () => (await health()) === 200)
})

it('a cluster that could not be reached at first becomes healthy', async () => {
  const redis = await server({ args: ['--cluster-enabled', 'yes'] })
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  const proxy = await startProxy(redis.port)
  onTestFinished(() => proxy.stop())
  await proxy.refuse()
  const { health } = await start(`redis+cluster://127.0.0.1:${proxy.port}`)
  expect(await health()).toBe(500)
  await proxy.listen()
  await until('it is healthy', async () => (await health()) === 200)
})

it('a replica is not healthy, until it is promoted', async () => {
  const [master, replica] = [await server(), await server()]
  await replica.call('REPLICAOF', '127.0.0.1', master.port)
  const { health, logged } = await start(replica.url)
  expect(await health()).toBe(500)
  await until('the reason is logged', () =>
    logged().includes('no connection to redis: READONLY it is a replica, which takes no writes'),
  )
  await replica.call('REPLICAOF', 'NO', 'ONE')
  await until('it is healthy', async () => (await health()) === 200)
})

it('a server that wants a password is not healthy without it', async () => {
  const redis = await server({ password: 'p' })
  const { health, logged } = await start(`redis://127.0.0.1:${redis.port}`)
  expect(await health()).toBe(500)
  await until('the reason is logged', () => logged().includes('no connection to redis: NOAUTH'))
})

it('a server that is still loading is not healthy, until it has loaded', async () => {
  const redis = await server()
  const proxy = await startProxy(redis.port)
  onTestFinished(() => proxy.stop())
  proxy.rewrite({ replies: (chunk) => chunk.toString().replace('+PONG', '-LOADING Redis is loading the dataset') })
  const { health, logged } = await start(proxy.url)
  expect(await health()).toBe(500)
  await until('the reason is logged', () => logged().includes('no connection to redis: LOADING'))
  proxy.rewrite({})
  await until('it is healthy', async () => (await health()) === 200)
})
