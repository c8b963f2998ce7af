import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import { charge } from '../../src/stores/suite/subject.suite.ts'
import { type SentinelSystem, startSentinel } from '../servers/sentinel.mjs'
import { sharedSentinel } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { answers, connectStore, keyOf, reasonOf, remaining, type WatchedStore, watchStore } from './partitions.suite.ts'

const PASSWORD = 'secret'
const PLENTY = compileLimit({ algorithm: 'fixed_window', limit: 1_000, window: '30d' })
const fresh = () => charge(keyOf(0, randomUUID()), PLENTY, 1)

interface Sentinels {
  readonly name: string
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
}

function urlOf({ addresses, name }: Sentinels, credentials = ''): string {
  return `redis+sentinel://${credentials}${addresses.map(({ host, port }) => `${host}:${port}`).join()}/${name}`
}

const open: WatchedStore[] = []
function remember(watched: WatchedStore): WatchedStore {
  open.push(watched)
  return watched
}
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ store }) => store.close()))
})

describe('a store that Sentinels guide', () => {
  it('is at the master that they name', async () => {
    const sentinels = await sharedSentinel()
    const { store } = remember(await connectStore(urlOf(sentinels), 1))
    const counter = fresh()
    expect(await reasonOf(store, counter)).toBeUndefined()
    const master = await sentinels.agreed()
    expect(await master.call('KEYS', `${counter.key}*`)).toHaveLength(1)
  })

  it('rejects immediately, and keeps asking, when no Sentinel knows the name', async () => {
    const { addresses } = await sharedSentinel()
    const reasons: string[] = []
    const watched = remember(watchStore(urlOf({ addresses, name: 'nobody' })))
    for (let i = 0; i < 5; i++) reasons.push(String(await reasonOf(watched.store, fresh())))
    expect(reasons).toEqual(Array(5).fill('offline'))
    expect(watched.connected.size).toBe(0)
  })
})

describe('a store that Sentinels guide through trouble', () => {
  let system: SentinelSystem
  beforeAll(async () => {
    system = await startSentinel({ password: PASSWORD, downAfterMs: 2_000 })
  })
  afterAll(() => system.stop())
  const url = () => urlOf(system, `:${PASSWORD}@`)

  it('needs the password of the servers', async () => {
    const stranger = remember(watchStore(urlOf(system)))
    const { store } = remember(await connectStore(url(), 1))
    expect(await reasonOf(store, fresh())).toBeUndefined()
    expect(await reasonOf(stranger.store, fresh())).toMatch(/^(offline|unavailable|broken)$/)
  })

  it('finds the new master after the death of the old one', async () => {
    const watched = remember(await connectStore(url(), 1))
    const before = await system.agreed()
    await before.kill()
    expect(await reasonOf(watched.store, fresh())).toMatch(/^(offline|broken|timeout)$/)
    const after = await system.agreed({ not: before })
    await until('the new master answers', () => answers(watched.store, 0))
    const counter = fresh()
    expect(await reasonOf(watched.store, counter)).toBeUndefined()
    expect(await after.call('KEYS', `${counter.key}*`)).toHaveLength(1)
    await before.restart()
    expect(await system.agreed()).toBe(after)
  })

  it('leaves a master that has become a replica (READONLY), and charges what it admits once', async () => {
    const watched = remember(await connectStore(url(), 1))
    const counter = fresh()
    let admitted = 0
    let isOver = false
    const load = (async () => {
      while (!isOver) if ((await reasonOf(watched.store, counter)) === undefined) admitted++
    })()
    const after = await system.failover()
    await until('the new master answers', () => answers(watched.store, 0))
    isOver = true
    await load
    expect(await reasonOf(watched.store, counter)).toBeUndefined()
    expect(await after.call('KEYS', `${counter.key}*`)).toHaveLength(1)
    // A replica may miss the last writes of its master, but never has more than was admitted.
    expect(PLENTY.max - (await remaining(watched.store, counter))).toBeLessThanOrEqual(admitted + 1)
  })

  it('waits for Sentinels that are down at the start', async () => {
    await Promise.all(system.sentinels.map((sentinel) => sentinel.kill()))
    const watched = remember(watchStore(url()))
    expect(await reasonOf(watched.store, fresh())).toBe('offline')
    await Promise.all(system.sentinels.map((sentinel) => sentinel.restart()))
    await until('the master answers', () => answers(watched.store, 0))
  })

  it('passes over a Sentinel that is silent', async () => {
    await system.sentinels[0].pause()
    const { store } = remember(await connectStore(url(), 1))
    expect(await reasonOf(store, fresh())).toBeUndefined()
    system.sentinels[0].resume()
  })
})
