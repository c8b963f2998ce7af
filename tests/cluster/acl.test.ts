import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { HeldPermits } from '../../src/engine/ports.ts'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import { sharedCluster } from '../servers/shared.ts'
import { connectStore, keyOf, PARTITIONS, remaining, urlOf } from './partitions.suite.ts'

it('the rights that the documentation lists are enough for a cluster', async () => {
  const text = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8')
  const rights = /^ACL SETUSER sluice on >password (.*)$/m.exec(text)?.[1] ?? ''
  const [user, password] = [`sluice-${randomUUID()}`, randomUUID()]
  const cluster = await sharedCluster()
  await Promise.all(
    cluster.nodes.map((node) => node.call('ACL', 'SETUSER', user, 'on', `>${password}`, ...rights.split(' '))),
  )
  const { store } = await connectStore(urlOf(cluster).replace('//', `//${user}:${password}@`), 3)
  for (const partition of PARTITIONS) {
    const key = keyOf(partition, randomUUID())
    const { permits: lease } = await store.acquire([charge(key, TEN.concurrency, 4), charge(key, TEN.gcra, 4)])
    await store.release(lease as HeldPermits)
    await store.reset(key, TEN.gcra)
    expect(await remaining(store, { key, limit: TEN.concurrency })).toBe(10)
    expect(await remaining(store, { key, limit: TEN.gcra })).toBe(10)
  }
  await store.close()
  await Promise.all(cluster.nodes.map((node) => node.call('ACL', 'DELUSER', user)))
})
