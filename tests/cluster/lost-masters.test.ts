import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { KeyedHash } from '../../src/core/hash.ts'
import { compileLimit } from '../../src/core/limit.ts'
import type { CheckRequest } from '../../src/core/request.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { FailurePolicy } from '../../src/engine/failure-policy.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { charge } from '../../src/stores/suite/subject.suite.ts'
import { type Cluster, startCluster } from '../servers/cluster.mjs'
import { until } from '../servers/until.mjs'
import {
  answers,
  connectStore,
  keyOf,
  PARTITIONS,
  partitionsOf,
  reasonOf,
  remaining,
  urlOf,
  type WatchedStore,
  watchStore,
} from './partitions.suite.ts'

const FAULTS = /^(offline|timeout|broken|unavailable|breaker_open)$/
const WINDOW = compileLimit({ algorithm: 'fixed_window', limit: 10, window: '30d' })
const PLACES = compileLimit({ algorithm: 'concurrency', limit: 10, leaseTtl: '1h' })

const fresh = (partition: number, limit = WINDOW, cost = 1): Charge =>
  charge(keyOf(partition, randomUUID()), limit, cost)

/** Gives a charge a short deadline, for a server that is known to be silent. The others have all the time they need. */
const hasty = (each: Charge): Charge => ({
  ...each,
  policy: { onStoreFailure: 'open', localShare: 1, timeoutMs: 50 },
})

const open: WatchedStore[] = []
/** Has a store closed when the test is over. */
function remember(watched: WatchedStore): WatchedStore {
  open.push(watched)
  return watched
}
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ store }) => store.close()))
})

const answersEverywhere = ({ store }: WatchedStore) =>
  until('every partition answers', async () => {
    await Promise.all(PARTITIONS.map((partition) => answers(store, partition)))
    return true
  })

// Each test loses another master: a replica of Redis 7.0 that won an election within the last seconds takes its old votes for
// new ones, and the others do not follow it.
describe('a master with a replica', () => {
  let cluster: Cluster
  beforeAll(async () => {
    // Without this, a cluster that misses some slots serves none.
    cluster = await startCluster({ nodeTimeoutMs: 3_000, args: ['--cluster-require-full-coverage', 'no'] })
  })
  afterAll(() => cluster.stop())

  it('that dies takes its partitions along, no others, until its replica has taken over', async () => {
    const watched = remember(await connectStore(urlOf(cluster), 3))
    const [victim] = await cluster.masters()
    const lost = await partitionsOf(cluster, victim)
    const kept = PARTITIONS.filter((partition) => !lost.includes(partition))
    const counter = fresh(kept[0])
    const far = { ...fresh(kept[1]), key: keyOf(kept[1], 'far') }
    await victim.kill()

    for (const partition of lost) expect(await reasonOf(watched.store, fresh(partition))).toMatch(FAULTS)
    for (let i = 0; i < 5; i++) expect(await reasonOf(watched.store, counter)).toBeUndefined()
    expect(await remaining(watched.store, counter)).toBe(5)

    // A group that has a part there is given back what the other part was charged.
    expect(await reasonOf(watched.store, far, fresh(lost[0]))).toMatch(FAULTS)
    await until('the other part is given back', async () => (await remaining(watched.store, far)) === 10)
    const place = fresh(kept[2], PLACES, 3)
    await expect(watched.store.acquire([place, fresh(lost[0], PLACES)])).rejects.toThrow()
    await until('the places are given back', async () => (await remaining(watched.store, place)) === 10)

    await answersEverywhere(watched)
    expect(await remaining(watched.store, counter)).toBe(5)
    expect(watched.breakers.filter((change) => !change.startsWith(`127.0.0.1:${victim.port} `))).toEqual([])
    expect(watched.connected).not.toContain(`127.0.0.1:${victim.port}`)
    await victim.restart()
    await cluster.settled()
  })

  it('that hands over to its replica is followed', async () => {
    const watched = remember(await connectStore(urlOf(cluster), 3))
    const [, before] = await cluster.masters()
    const [partition] = await partitionsOf(cluster, before)
    const counter = fresh(partition)
    expect(await reasonOf(watched.store, counter)).toBeUndefined()
    const [range] = (await cluster.slots()).filter(({ master }) => master === before)
    await cluster.failover(range.from)
    await until('the new master answers', () => answers(watched.store, partition))
    expect(await remaining(watched.store, counter)).toBe(9)
    await until('the old one is left alone', () => !watched.connected.has(`127.0.0.1:${before.port}`))
    expect(watched.connected.size).toBe(3)
  })

  it('that falls silent is dropped, and its replica takes over', async () => {
    const watched = remember(await connectStore(urlOf(cluster), 3))
    const [bystander, , victim] = await cluster.masters()
    const [partition] = await partitionsOf(cluster, victim)
    await victim.pause()
    const other = fresh((await partitionsOf(cluster, bystander))[0])
    // A timeout in a stall of this process does not count, so there may be more than three.
    while (watched.breakers.length === 0) {
      const both = [hasty(fresh(partition)), other].map((each) => reasonOf(watched.store, each))
      expect(await Promise.all(both)).toEqual(['timeout', undefined])
    }
    expect(watched.breakers).toEqual([`127.0.0.1:${victim.port} open`])
    const counter = fresh(partition)
    expect(await reasonOf(watched.store, hasty(counter))).toMatch(FAULTS)
    // A replica that is not elected at once tries again after six seconds.
    await until(
      'the replica answers',
      async () => (await reasonOf(watched.store, hasty(fresh(partition, WINDOW, 0)))) === undefined,
    )
    expect(await reasonOf(watched.store, counter)).toBeUndefined()
    expect(await remaining(watched.store, counter)).toBe(9)
    victim.resume()
    await cluster.settled()
    // What was asked while it slept was asked of a server that is a replica now: it is charged nowhere.
    expect(await remaining(watched.store, counter)).toBe(9)
  })
})

describe('a master without a replica', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ replicasPerMaster: 0, nodeTimeoutMs: 2_000 })
  })
  afterAll(() => cluster.stop())

  it('that dies takes the cluster down (CLUSTERDOWN), which recovers with it', async () => {
    const watched = remember(await connectStore(urlOf(cluster), 3))
    const victim = cluster.nodes[2]
    const [partition] = await partitionsOf(cluster, cluster.nodes[0])
    await victim.kill()
    await until('the cluster is down', async () => (await reasonOf(watched.store, fresh(partition))) === 'unavailable')
    await victim.restart()
    await cluster.settled()
    await answersEverywhere(watched)
  })

  it('does not keep a store from starting with the others', async () => {
    for (const node of cluster.nodes) await node.call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
    const victim = cluster.nodes[2]
    const lost = await partitionsOf(cluster, victim)
    await victim.kill()
    const watched = remember(await connectStore(urlOf(cluster), 2))
    const kept = PARTITIONS.filter((partition) => !lost.includes(partition))
    await until('the others answer', async () => {
      await Promise.all(kept.map((partition) => answers(watched.store, partition)))
      return true
    })
    for (let i = 0; i < 5; i++) expect(await reasonOf(watched.store, fresh(lost[0]))).toMatch(FAULTS)
    await victim.restart()
    await cluster.settled()
    await answersEverywhere(watched)
  })

  it('gets nothing of what was asked while it was unavailable', async () => {
    const watched = remember(await connectStore(urlOf(cluster), 3))
    const victim = cluster.nodes[1]
    const [partition] = await partitionsOf(cluster, victim)
    const counter = fresh(partition)
    await victim.kill()
    await until('it is noticed', () => watched.connected.size === 2)
    await Promise.all(Array.from({ length: 8 }, () => reasonOf(watched.store, counter)))
    await victim.restart()
    await cluster.settled()
    await answersEverywhere(watched)
    expect(await remaining(watched.store, counter)).toBe(10)
  })

  it('that answers too late gives back the permits of lost answers', async () => {
    const { store } = remember(await connectStore(urlOf(cluster), 3))
    const [late] = await partitionsOf(cluster, cluster.nodes[1])
    const [prompt] = await partitionsOf(cluster, cluster.nodes[0])
    const places = [fresh(prompt, PLACES, 3), fresh(late, PLACES, 3)]
    await cluster.nodes[1].pause()
    await expect(store.acquire(places.map(hasty))).rejects.toThrow('timeout')
    cluster.nodes[1].resume()
    await cluster.settled()
    for (const place of places)
      await until('the places are free', async () => (await remaining(store, place)) === PLACES.max)
  })

  it('is found when all were down at the start', async () => {
    await Promise.all(cluster.nodes.map((node) => node.kill()))
    const watched = remember(watchStore(urlOf(cluster)))
    expect(await reasonOf(watched.store, fresh(0))).toBe('offline')
    expect(await reasonOf(watched.store, fresh(1))).toBe('offline')
    await Promise.all(cluster.nodes.map((node) => node.restart()))
    await cluster.settled()
    await answersEverywhere(watched)
  })

  it('is left to the policy of each rule', async () => {
    const { store } = remember(await connectStore(urlOf(cluster), 3))
    const rules = loadRules([{ file: 'rules.yaml', text: RULES }])
    const policy = new FailurePolicy(store, new MemoryStore())
    const limiter = new Limiter(() => rules, policy, { hash: new KeyedHash(1, 2), partitions: PARTITIONS.length })
    const ask = (key: string, value: string): CheckRequest => ({
      domain: 'api',
      descriptors: [{ entries: [{ key, value }] }],
    })
    const first = async (key: string, value: string) => {
      const { allowed, verdicts } = await limiter.check(ask(key, value))
      return [allowed, verdicts[0].verdict.remaining, verdicts[0].verdict.fallback]
    }

    const victim = cluster.nodes[0]
    await victim.kill()
    const callers = Array.from({ length: 40 }, (_, i) => `caller-${i}`)
    const answered = { open: 0, closed: 0, local: 0, store: 0 }
    for (const caller of callers) {
      for (const [mode, expected] of Object.entries(FALLBACKS)) {
        const answer = await first(mode, caller)
        if (answer[2] === undefined) {
          answered.store++
          expect(answer).toEqual([true, 9, undefined])
        } else {
          answered[mode as keyof typeof FALLBACKS]++
          expect(answer).toEqual(expected)
        }
      }
    }
    // A third of the callers is on the node that is gone; the others do not notice.
    for (const mode of Object.keys(FALLBACKS) as (keyof typeof FALLBACKS)[]) {
      expect(answered[mode]).toBeGreaterThan(4)
      expect(answered[mode]).toBeLessThan(25)
    }
    expect(answered.store).toBeGreaterThan(60)

    await victim.restart()
    await cluster.settled()
    await until('the store decides for all of them again', async () => {
      const answersNow = await Promise.all(
        callers.flatMap((caller) => Object.keys(FALLBACKS).map((mode) => first(mode, caller))),
      )
      return answersNow.every(([, , fallback]) => fallback === undefined)
    })
  })
})

/** What a caller gets whose master is gone: [allowed, remaining, fallback]. A local share of a half is 5 of 10. */
const FALLBACKS = { open: [true, 10, 'open'], closed: [false, 0, 'closed'], local: [true, 4, 'local'] }

/** Windows begin with the first hit: none ends at midnight. */
const RULES = `
domain: api
descriptors:
  - key: open
    rate_limit: { unit: day, algorithm: fixed_window, anchor: first_hit, requests_per_unit: 10, on_store_failure: open, timeout_ms: 20000 }
  - key: closed
    rate_limit: { unit: day, algorithm: fixed_window, anchor: first_hit, requests_per_unit: 10, on_store_failure: closed, timeout_ms: 20000 }
  - key: local
    rate_limit: { unit: day, algorithm: fixed_window, anchor: first_hit, requests_per_unit: 10, on_store_failure: local, local_share: 0.5, timeout_ms: 20000 }
`
