import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { sharedCluster, sharedRedis, sharedSentinel } from './shared.ts'

it('the shared Redis is the same for all who ask', async () => {
  const [one, other] = [await sharedRedis(), await sharedRedis()]
  const key = randomUUID()
  expect(await one.call('INCR', key)).toBe(1)
  expect(await other.cli('INCR', key)).toBe('2')
})

it('the shared cluster serves all slots', async () => {
  const cluster = await sharedCluster()
  await cluster.settled()
  expect(cluster.nodes).toHaveLength(6)
  const key = randomUUID()
  expect(await cluster.cli('INCR', key)).toBe('1')
})

it('the shared Sentinels name a master', async () => {
  const system = await sharedSentinel()
  expect(system.addresses).toHaveLength(3)
  const master = await system.agreed()
  expect(await master.call('INCR', randomUUID())).toBe(1)
})
