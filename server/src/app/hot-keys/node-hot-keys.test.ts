import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { DEFAULT_HOT_KEY_LIMITS } from '../../observe/hot-keys/hot-key-alarm.ts'
import { type HotKeysReport, mapTallies } from '../../observe/hot-keys/hot-keys-report.ts'
import type { Counted } from '../../observe/hot-keys/key-tally.ts'
import { logTo } from '../log/log.ts'
import type { LogEntry } from '../log/log-entry.ts'
import type { Config } from '../settings/config.ts'
import { readConfig } from '../settings/config.ts'
import { noteOf, openFleetNotes } from './fleet-notes.ts'
import { NodeHotKeys } from './node-hot-keys.ts'

function reportOf(...keys: Counted[]): HotKeysReport {
  const total = keys.reduce((sum, [, count]) => sum + count, 0)
  const list = { total, missed: 0, tracked: keys.length, keys }
  return {
    rules: [{ domain: 'd', rule: 'user', isShadow: false, exhausted: 0, windows: mapTallies(() => list) }],
    rulesLeftOut: 0,
  }
}

/** A node whose processes report this. */
function nodeOf(reports: readonly HotKeysReport[], url?: string, keyPrefix = '') {
  const told: LogEntry[] = []
  const config: Config = { ...readConfig([], {}), keyPrefix }
  const fleet = url === undefined ? undefined : openFleetNotes(url, config)
  const node = new NodeHotKeys({
    collect: () => reports,
    fleet,
    limits: DEFAULT_HOT_KEY_LIMITS,
    log: logTo((entry) => told.push(entry)),
  })
  onTestFinished(() => node.close())
  return { node, told }
}

const activeIn = ({ rules }: HotKeysReport) => rules[0].windows[1].active.keys

describe('NodeHotKeys', () => {
  it('merges the processes of a node', async () => {
    const { node } = nodeOf([reportOf(['a', 2], ['b', 1]), reportOf(['b', 4])])
    const { report, nodes } = await node.ask('node')
    expect(activeIn(report)).toEqual([
      ['b', 5],
      ['a', 2],
    ])
    expect(nodes).toBe(1)
  })

  it('says that there is no fleet without Redis', async () => {
    const { node } = nodeOf([reportOf(['a', 2])])
    await node.look()
    expect(await node.ask('fleet')).toMatchObject({
      scope: 'node',
      nodes: 1,
      reason: 'no Redis is shared with other nodes',
    })
  })

  it('merges what other nodes wrote to the same Redis under the same prefix', async () => {
    const { url } = await sharedRedis()
    const prefix = randomUUID()
    const { node: one } = nodeOf([reportOf(['a', 2], ['b', 1])], url, prefix)
    const { node: two } = nodeOf([reportOf(['b', 4])], url, prefix)
    const { node: elsewhere } = nodeOf([reportOf(['c', 9])], url, randomUUID())
    await Promise.all([one.look(), two.look(), elsewhere.look()])
    for (const node of [one, two]) {
      const { report, scope, nodes } = await node.ask('fleet')
      expect([scope, nodes]).toEqual(['fleet', 2])
      expect(activeIn(report)).toEqual([
        ['b', 5],
        ['a', 2],
      ])
    }
  })

  it('writes keys that expire, and takes old nodes off the list', async () => {
    const redis = await sharedRedis()
    const prefix = randomUUID()
    const index = `${prefix}sluice:hot-keys:1`
    await redis.call('HSET', index, 'gone', '1')
    const { node } = nodeOf([reportOf(['a', 2])], redis.url, prefix)
    await node.look()
    const [name] = (await redis.call('HKEYS', index)) as string[]
    expect(await redis.call('HLEN', index)).toBe(1)
    for (const key of [index, `${index}:${name}`]) expect(Number(await redis.call('PTTL', key))).toBeGreaterThan(0)
  })

  it('ignores notes that are none', async () => {
    const redis = await sharedRedis()
    const prefix = randomUUID()
    const index = `${prefix}sluice:hot-keys:1`
    const notes = { bad: '{', other: '{"rules": 1}', long: 'x'.repeat(600_000) }
    for (const [name, text] of Object.entries(notes)) {
      await redis.call('HSET', index, name, String(Date.now()))
      await redis.call('SET', `${index}:${name}`, text)
    }
    await redis.call('HSET', index, 'expired', String(Date.now()))
    const { node } = nodeOf([reportOf(['a', 2])], redis.url, prefix)
    expect(await node.ask('fleet')).toMatchObject({ scope: 'fleet', nodes: 1 })
  })

  it('answers for itself while Redis is unavailable, says so, and finds the others again', async () => {
    const redis = await startRedis()
    onTestFinished(() => redis.stop())
    const { node: one } = nodeOf([reportOf(['a', 2])], redis.url)
    const { node: two } = nodeOf([reportOf(['b', 4])], redis.url)
    await Promise.all([one.look(), two.look()])
    expect(await one.ask('fleet')).toMatchObject({ scope: 'fleet', nodes: 2 })
    await redis.kill()
    const away = await until('it notices', async () => {
      const answer = await one.ask('fleet')
      return answer.scope === 'node' && answer
    })
    expect(away.reason).toMatch(/^other nodes are not known: /)
    expect(activeIn(away.report)).toEqual([['a', 2]])
    await redis.restart()
    await until('both are known again', async () => {
      await Promise.all([one.look(), two.look()])
      return (await one.ask('fleet')).nodes === 2
    })
  })

  it('logs a hot key once, and counts it', async () => {
    const others = Array.from({ length: 20 }, (_, i): Counted => [`user=${i}`, 10])
    const { node, told } = nodeOf([reportOf(['user=hot', 700], ...others), reportOf(['user=hot', 900])])
    await node.look()
    await node.look()
    expect(told).toEqual([
      {
        level: 'warn',
        event: 'hot_key.detected',
        message: 'one key takes 89 % of the requests to d/user: user=hot, 1600 in a minute',
        fields: { domain: 'd', rule: 'user', key: 'user=hot', requests: 1_600, percent: 89 },
      },
    ])
    expect(node.figures()).toEqual([{ domain: 'd', rule: 'user', detected: 1, exhausted: 0 }])
  })
})

describe('noteOf', () => {
  it('writes at most 256 KiB', () => {
    const keys = Array.from({ length: 200 }, (_, i): Counted => [`${i}${'k'.repeat(500)}`, 1])
    const { rules } = reportOf(...keys)
    const report = { rules: Array.from({ length: 200 }, () => rules[0]), rulesLeftOut: 0 }
    expect(noteOf(report).length).toBeLessThan(262_145)
    expect(JSON.parse(noteOf(reportOf(...keys))).rules[0].windows[1].active.keys).toHaveLength(50)
  })
})
