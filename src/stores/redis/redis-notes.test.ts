import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { RedisEndpoint } from '../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { MAX_NOTE, type RedisNotes } from './redis-notes.ts'
import { RedisStore } from './redis-store.ts'

const NOW_MS = 1_800_000_000_000
const FORGOTTEN_MS = 600_000
const HOUR_MS = 3_600_000

let redis: RedisEndpoint
let notes: RedisNotes
let index: string

beforeEach(async () => {
  redis = await sharedRedis()
  const keyPrefix = `${randomUUID()}:`
  let isConnected = false
  const connected = (): void => {
    isConnected = true
  }
  const store = new RedisStore({ url: redis.url, keyPrefix, events: { connected } })
  onTestFinished(() => store.close())
  await until('the store is connected', () => isConnected)
  notes = store.nodeNotes
  index = `${keyPrefix}sluice:nodes:1`
})

const write = (node: string, nowMs = NOW_MS): Promise<void> => notes.put(node, `of ${node}`, HOUR_MS, nowMs)
const listed = async (): Promise<unknown> => redis.call('HKEYS', index)

describe('the notes of a fleet', () => {
  it('are read by others, until their time is over', async () => {
    await write('one')
    await write('two')
    expect(await notes.others('one')).toEqual({ notes: new Map([['two', 'of two']]), leftOut: 0 })
    const leftMs = Number(await redis.call('PTTL', `${index}:two`))
    expect(leftMs).toBeGreaterThan(HOUR_MS / 2)
    expect(leftMs).toBeLessThanOrEqual(HOUR_MS)
    await redis.call('DEL', `${index}:two`)
    expect(await notes.others('one')).toEqual({ notes: new Map(), leftOut: 0 })
  })

  it('are listed for ten minutes after they were written, and the list lives no longer than that', async () => {
    await write('early')
    await write('late', NOW_MS + 1)
    await write('now', NOW_MS + FORGOTTEN_MS)
    expect(await listed()).toEqual(['late', 'now'])
    expect(await redis.call('PTTL', index)).toBeGreaterThan(0)
    expect(await redis.call('PTTL', index)).toBeLessThanOrEqual(FORGOTTEN_MS)
  })

  it('come from the nodes that wrote last, where there are too many to read', async () => {
    const fields = Array.from({ length: 66 }, (_, i) => [`node ${i}`, String(NOW_MS + i)])
    await redis.call('HSET', index, ...fields.flat())
    await redis.call('MSET', ...fields.flatMap(([node]) => [`${index}:${node}`, node]))
    const read = await notes.others('node 65')
    expect(read.leftOut).toBe(1)
    expect([...read.notes.keys()].toSorted()).toEqual(
      fields
        .slice(1, 65)
        .map(([node]) => node)
        .toSorted(),
    )
  })

  it('are left out where they are longer than any of ours', async () => {
    for (const [node, length] of [['long', MAX_NOTE + 1] as const, ['longest', MAX_NOTE] as const])
      await notes.put(node, 'x'.repeat(length), HOUR_MS, NOW_MS)
    expect([...(await notes.others('one')).notes.keys()]).toEqual(['longest'])
  })
})
