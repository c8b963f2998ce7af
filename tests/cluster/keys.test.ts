import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { KeyedHash } from '../../src/core/hash.ts'
import { KeyEncoder } from '../../src/core/key-encoder.ts'
import type { Entry } from '../../src/core/request.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { match } from '../../src/core/rules/match.ts'
import type { Domain } from '../../src/core/rules/rule-set.ts'
import { hashSlot } from '../../src/stores/redis/cluster/hash-slot.ts'
import type { ClusterView } from '../servers/cluster.mjs'
import { sharedCluster } from '../servers/shared.ts'
import { PARTITIONS, partitionsOf } from './partitions.suite.ts'

const MINUTE = { unit: 'minute', requests_per_unit: 1 } as const
const domain = compileObjects([
  {
    domain: 'api',
    descriptors: [
      {
        key: 'user',
        rate_limits: [MINUTE, { ...MINUTE, unit: 'hour' }],
        descriptors: [{ key: 'path', rate_limit: MINUTE }],
      },
    ],
  },
]).domains.get('api') as Domain
const encoder = new KeyEncoder(new KeyedHash(1, 2), PARTITIONS.length)

/** Formats the counters of a user, for all of its rules. */
function keysOf(user: string, by = encoder): string[] {
  const entries: Entry[] = [{ key: 'user', value: user }]
  const below = [...entries, { key: 'path', value: '/' }]
  return [entries, below].flatMap((each) => match(domain, each).map((rule) => by.encode('api', rule, each)))
}

const partitionOf = (key: string): number => Number(/^sluice:\{(\d+)\}:/.exec(key)?.[1])

let cluster: ClusterView
beforeAll(async () => {
  cluster = await sharedCluster()
})

describe('keys on a cluster', () => {
  it('spread the partitions over all masters', async () => {
    const shares = await Promise.all((await cluster.masters()).map((master) => partitionsOf(cluster, master)))
    expect(shares.flat().sort((a, b) => a - b)).toEqual(PARTITIONS)
    expect(Math.min(...shares.map(({ length }) => length))).toBeGreaterThan(4)
  })

  it('spread callers over all partitions', () => {
    const counts = PARTITIONS.map(() => 0)
    for (let i = 0; i < 6_400; i++) counts[partitionOf(keysOf(`user-${i}`)[0])]++
    expect(Math.min(...counts)).toBeGreaterThan(100)
    expect(Math.max(...counts)).toBeLessThan(300)
  })

  it('of all rules of a caller share one partition', () => {
    for (let i = 0; i < 100; i++) {
      const keys = keysOf(randomUUID())
      expect(keys).toHaveLength(3)
      expect(new Set(keys).size).toBe(3)
      expect(new Set(keys.map(partitionOf)).size).toBe(1)
    }
  })

  it('are in other partitions under another secret, so that no caller can choose one', () => {
    const other = new KeyEncoder(new KeyedHash(3, 4), PARTITIONS.length)
    const users = Array.from({ length: 3_200 }, (_, i) => `user-${i}`)
    const same = users.filter((user) => partitionOf(keysOf(user)[0]) === partitionOf(keysOf(user, other)[0]))
    // By chance, one in 32 stays: 100 of these.
    expect(same.length).toBeLessThan(200)
    // Callers who found out that they share a partition do not under the other secret.
    const together = users.filter((user) => partitionOf(keysOf(user)[0]) === 7)
    expect(new Set(together.map((user) => partitionOf(keysOf(user, other)[0]))).size).toBeGreaterThan(20)
  })

  it.each(['{x}', '}{0}', '{', '}', '{}{1}', 'sluice:{3}:', '\u{1f600}{7}'])(
    'have the slot of their partition whatever the caller is called: %s',
    async (user) => {
      for (const key of keysOf(user)) {
        const slot = hashSlot(`{${partitionOf(key)}}`)
        expect(hashSlot(key)).toBe(slot)
        expect(await cluster.nodes[0].call('CLUSTER', 'KEYSLOT', key)).toBe(slot)
      }
    },
  )
})
