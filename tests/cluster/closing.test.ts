import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import { freePort } from '../servers/ports.mjs'
import { sharedCluster, sharedSentinel } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { connectStore, keyOf, PARTITIONS, reasonOf, urlOf, watchStore } from './partitions.suite.ts'

// A promise that rejects and that nobody handles fails the test run by itself.

/** Counts the connections that keep this process alive. */
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => /^TCP(Socket)?Wrap$/.test(name)).length

/** A server that takes connections and never says a word. */
const silent = createServer((socket) => {
  heard.add(socket)
  socket.on('error', () => {})
})
const heard = new Set<Socket>()

/** Where a store may be while it is closed. */
let urls: Record<string, string>
let before: number
beforeAll(async () => {
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  silent.unref()
  const cluster = await sharedCluster()
  const { addresses, name } = await sharedSentinel()
  const mute = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const nobody = `127.0.0.1:${await freePort()}`
  urls = {
    'a cluster': urlOf(cluster),
    'a cluster that says nothing': `redis+cluster://${mute}`,
    'a cluster that is not there': `redis+cluster://${nobody}`,
    'a master that Sentinels name': `redis+sentinel://${addresses.map(({ host, port }) => `${host}:${port}`).join()}/${name}`,
    'Sentinels that say nothing': `redis+sentinel://${mute},${mute}/main`,
    'Sentinels that are not there': `redis+sentinel://${nobody}/main`,
  }
  await until('what the tests themselves asked is answered', () => process.getActiveResourcesInfo())
  before = sockets()
})
afterAll(() => {
  for (const socket of heard) socket.destroy()
  silent.close()
})

/** Resolves when nothing of a store is left. The silent server's own ends of connections do not count. */
const allEnd = () =>
  until('all connections have ended', () => {
    for (const socket of heard) {
      socket.destroy()
      heard.delete(socket)
    }
    return sockets() <= before
  })

const NAMES = [
  'a cluster',
  'a cluster that says nothing',
  'a cluster that is not there',
  'a master that Sentinels name',
  'Sentinels that say nothing',
  'Sentinels that are not there',
]

describe('close', () => {
  it.each(NAMES)('ends what is connecting to %s', async (name) => {
    const { store } = watchStore(urls[name])
    await store.close()
    expect(await reasonOf(store, charge(keyOf(0, 'late'), TEN.gcra, 1))).toBe('offline')
    await allEnd()
  })

  it.each(NAMES)('ends what is connecting to %s, a moment later', async (name) => {
    const { store } = watchStore(urls[name])
    await reasonOf(store, charge(keyOf(0, 'early'), TEN.gcra, 0))
    await until(
      'a few turns have passed',
      (
        (turns) => () =>
          turns++ > 2
      )(0),
    )
    await store.close()
    await store.close()
    await allEnd()
  })

  it('ends all connections, and settles the calls in flight', async () => {
    const { store, connected } = await connectStore(urls['a cluster'], 3)
    const calls = PARTITIONS.map((partition) => reasonOf(store, charge(keyOf(partition, 'under way'), TEN.gcra, 0)))
    await store.close()
    for (const reason of await Promise.all(calls)) expect([undefined, 'offline', 'broken']).toContain(reason)
    expect(connected.size).toBeLessThanOrEqual(3)
    await allEnd()
  })
})
