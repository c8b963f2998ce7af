import { randomUUID } from 'node:crypto'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { AWAY_MS, FleetNodes } from './fleet-nodes.ts'
import { NO_FIGURES, readNote } from './node-note.ts'

const STATE = {
  revision: 3,
  store: 'up',
  circuit: 'closed',
  decisionsPerSecond: 7,
  memoryBytes: 1_000_000,
  eventLoopDelayMs: 0.5,
  adminAddress: 'localhost:1',
  workers: [{ id: '1', state: 'ready', startedAtMs: 1, pid: 42, decisionsPerSecond: 7 }],
} as const
const FIGURES = { ...NO_FIGURES, allowed: 7 }

/** fleet makes nodes on the same Redis, with a clock that the test owns. */
async function fleet() {
  const { url } = await sharedRedis()
  const now = { ms: Date.now() }
  const keyPrefix = randomUUID()
  const store = await new Promise<RedisStore>((resolve) => {
    const opened: RedisStore = new RedisStore({ url, keyPrefix, events: { connected: () => resolve(opened) } })
  })
  onTestFinished(() => store.close())
  const node = (ruleVersion: string, name: string = ruleVersion): FleetNodes =>
    new FleetNodes({
      version: '1.0.0',
      name: () => name,
      notes: async () => store.nodeNotes,
      state: () => ({ ...STATE, ruleVersion }),
      nowMs: () => now.ms,
    })
  const pass = (ms: number): void => {
    now.ms += ms
  }
  return { node, pass, store, now }
}

const versions = async (node: FleetNodes): Promise<string[]> =>
  (await node.list()).map(
    ({ ruleVersion, isHere, isAway }) => `${ruleVersion}${isHere ? ' here' : ''}${isAway ? ' away' : ''}`,
  )

describe('nodes on one Redis', () => {
  it('know each other, and what each did last', async () => {
    const { node } = await fleet()
    const [one, two] = [node('v1'), node('v2')]
    await one.beat(FIGURES)
    await two.beat(NO_FIGURES)
    expect(await versions(two)).toEqual(['v2 here', 'v1'])
    expect(two.others()).toMatchObject({ there: [{ allowed: 7 }], away: 0 })
    expect((await two.list())[1]).toMatchObject({ version: '1.0.0', revision: 3, workers: [{ id: '1' }] })
    expect((await two.list())[1]).toMatchObject(STATE)
    expect(two.ids()).toEqual({ ids: [one.id], away: 0 })
  })

  it('say that one is silent when it has stopped writing, and forget it after ten minutes', async () => {
    const { node, pass } = await fleet()
    const [one, two] = [node('v1'), node('v2')]
    await one.beat(FIGURES)
    await two.beat(NO_FIGURES)
    pass(AWAY_MS + 1)
    expect(await versions(two)).toEqual(['v2 here', 'v1 away'])
    expect(two.others()).toEqual({ there: [], away: 1 })
    await one.beat(FIGURES)
    await two.beat(NO_FIGURES)
    expect(await versions(two)).toEqual(['v2 here', 'v1'])
    pass(600_001)
    await two.beat(NO_FIGURES)
    expect(await versions(two)).toEqual(['v2 here'])
  })

  it('list a node that was killed and started again once, and say until when a silent one is listed', async () => {
    const { node, pass, now } = await fleet()
    const [one, first] = [node('v1', 'one'), node('v2', 'two')]
    for (const each of [one, first, one]) await each.beat(NO_FIGURES)
    const seenAtMs = now.ms
    pass(AWAY_MS + 1)
    expect((await one.list())[1]).toMatchObject({ name: 'two', isAway: true, listedUntilMs: seenAtMs + 600_000 })
    const second = node('v3', 'two')
    await second.beat(FIGURES)
    // It does not miss itself, either.
    expect(await versions(second)).toEqual(['v3 here', 'v1 away'])
    await one.beat(NO_FIGURES)
    expect(await versions(one)).toEqual(['v1 here', 'v3'])
    expect(one.others()).toMatchObject({ there: [{ allowed: 7 }], away: 0 })
    expect((await one.list())[1]).toMatchObject({ name: 'two', listedUntilMs: undefined })
    expect(one.ids()).toEqual({ ids: [second.id], away: 0 })
  })

  it('list a node that was killed and started again within a second once', async () => {
    const { node, pass } = await fleet()
    const [one, first] = [node('v1', 'one'), node('v2', 'two')]
    for (const each of [one, first, one]) await each.beat(NO_FIGURES)
    pass(1_000)
    await node('v3', 'two').beat(NO_FIGURES)
    pass(1_000)
    await one.beat(NO_FIGURES)
    expect(await versions(one)).toEqual(['v1 here', 'v3'])
  })

  it('list two that have one name and run both', async () => {
    const { node, pass } = await fleet()
    const [one, two] = [node('v1', 'same'), node('v2', 'same')]
    for (let i = 0; i < 3; i++) {
      pass(1_000)
      for (const each of [one, two]) await each.beat(NO_FIGURES)
    }
    const three = node('v3')
    for (const each of [one, two, three]) await each.beat(NO_FIGURES)
    pass(1_000)
    for (const each of [one, two, three]) await each.beat(NO_FIGURES)
    expect((await versions(three)).toSorted()).toEqual(['v1', 'v2', 'v3 here'])
    expect((await versions(two)).toSorted()).toEqual(['v1', 'v2 here', 'v3'])
  })

  it('miss no node that shuts down', async () => {
    const { node, pass } = await fleet()
    const [one, two] = [node('v1'), node('v2')]
    await one.beat(FIGURES)
    await two.beat(NO_FIGURES)
    await one.leave()
    pass(1_000)
    await two.beat(NO_FIGURES)
    expect(await versions(two)).toEqual(['v2 here'])
  })

  it('pass over notes that are none of theirs', async () => {
    const { node, store, now } = await fleet()
    const one = node('v1')
    for (const [id, text] of Object.entries({ a: '{', b: '[]', c: '{"id": "c"}', d: 'x'.repeat(10_000) })) {
      await store.nodeNotes.put(id, text, 60_000, now.ms)
    }
    await one.beat(FIGURES)
    expect(await versions(one)).toEqual(['v1 here'])
  })

  it('are one where nothing is shared', async () => {
    const state = {
      ...STATE,
      ruleVersion: 'v1',
      revision: 0,
      store: 'memory',
      circuit: undefined,
      workers: [],
    } as const
    const alone = new FleetNodes({ version: '1', name: () => 'one', notes: undefined, state: () => state })
    await alone.beat(FIGURES)
    await alone.leave()
    expect(await versions(alone)).toEqual(['v1 here'])
  })
})

describe('a note of a stranger', () => {
  const GOOD = {
    ...{
      id: 'a',
      name: 'n',
      host: 'h',
      version: '1',
      ruleVersion: 'v',
      startedAtMs: 1,
      atMs: 1,
      revision: 0,
      store: 'up',
    },
    ...{ workers: [], isLeaving: false, figures: NO_FIGURES, decisionsPerSecond: 3, memoryBytes: 5 },
  }
  it('is read where it has the form of ours', () => {
    expect(readNote(JSON.stringify(GOOD))).toEqual(GOOD)
  })
  it('of the version before is read, without what that did not report', () => {
    const { decisionsPerSecond: _decisions, memoryBytes: _memory, name: _name, ...older } = GOOD
    expect(readNote(JSON.stringify(older))).toEqual({ ...older, decisionsPerSecond: 0, memoryBytes: 0, name: 'h' })
  })
  it.each<[claim: string, changes: object]>([
    ['a circuit of another kind', { circuit: 'blown' }],
    ['an address of a kilobyte', { adminAddress: 'x'.repeat(1_024) }],
    ['memory that is no number', { memoryBytes: '9' }],
    ['half a decision', { decisionsPerSecond: 0.5 }],
    ['a worker without a whole pid', { workers: [{ id: '1', state: 'ready', startedAtMs: 1, pid: -1 }] }],
    ['a name that is no text', { name: 7 }],
    ['a text of a kilobyte', { host: 'x'.repeat(1_024) }],
    ['a time that no calendar has', { startedAtMs: 1e300 }],
    ['a store of another kind', { store: 'tape' }],
    ['a negative count', { figures: { ...NO_FIGURES, allowed: -1 } }],
    ['rules without number', { figures: { ...NO_FIGURES, rules: new Array(1_000).fill({}) } }],
    ['workers that are none', { workers: [null] }],
  ])('with %s is none', (_, changes) => {
    expect(readNote(JSON.stringify({ ...GOOD, ...changes }))).toBeUndefined()
  })
})
