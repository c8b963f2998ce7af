import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { storedKey } from '../../src/core/keys.ts'
import { compileLimit, type Limit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { decideFormat, encodeSections } from '../../src/stores/redis/formats/wire-format.ts'
import { charge } from '../../src/stores/suite/subject.suite.ts'
import { type Cluster, startCluster } from '../servers/cluster.mjs'
import type { RedisServer } from '../servers/redis.mjs'
import { slotOf } from '../servers/slots.mjs'
import { until } from '../servers/until.mjs'
import {
  connectStore,
  keyOf,
  PARTITIONS,
  partitionsOf,
  remaining,
  urlOf,
  type WatchedStore,
} from './partitions.suite.ts'

const BUDGET = 40
const WINDOW = compileLimit({ algorithm: 'fixed_window', limit: BUDGET, window: '30d' })
/** Which never binds, beside one that does: both are charged, or none. */
const WIDE = compileLimit({ algorithm: 'gcra', limit: 1_000_000, window: '365d', burst: 1_000_000 })

const NODE_SCRIPT = decideFormat.byNode?.script

let cluster: Cluster
const opened: WatchedStore[] = []
beforeAll(async () => {
  cluster = await startCluster({ replicasPerMaster: 1 })
})
afterAll(() => cluster.stop())
afterEach(async () => {
  for (const { store } of opened.splice(0)) await store.close()
})

async function open(): Promise<WatchedStore> {
  const watched = await connectStore(urlOf(cluster), 3)
  opened.push(watched)
  return watched
}

/** Counts the reads that nodes have refused, because their keys are elsewhere. */
async function refusedReads(): Promise<number> {
  const texts = await Promise.all(cluster.nodes.map((node) => node.call('INFO', 'commandstats')))
  return texts.reduce<number>(
    (sum, text) => sum + Number(/cmdstat_mget:.*rejected_calls=(\d+)/.exec(String(text))?.[1] ?? 0),
    0,
  )
}

const counter = (partition: number, limit: Limit = WINDOW): Charge => charge(keyOf(partition, randomUUID()), limit, 1)
const left = ({ store }: WatchedStore, each: Charge): Promise<number> => remaining(store, each)
/** Asks once about each in one turn, and returns how many were admitted. It fails when one was not decided. */
async function admit({ store }: WatchedStore, charges: readonly Charge[]): Promise<number> {
  const verdicts = await Promise.all(charges.map((each) => store.decide([each])))
  return verdicts.filter(([{ allowed }]) => allowed).length
}

/** A promise, and how to resolve it. */
function resolvable(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** Returns two partitions of the first of the masters, and another master. */
async function twoOf() {
  const [from, to] = await cluster.masters()
  const [moving, staying] = await partitionsOf(cluster, from)
  return { moving, staying, to }
}

describe('a call for a node', () => {
  it('leaves alone what has moved, which is charged once where it is now', async () => {
    const watched = await open()
    const { moving, staying, to } = await twoOf()
    const charges = [counter(moving), counter(staying), counter(moving)]
    expect(await admit(watched, charges)).toBe(3)
    await cluster.moveSlot(slotOf(`{${moving}}`), to)
    const before = await refusedReads()
    expect(await admit(watched, charges)).toBe(3)
    expect(await refusedReads()).toBe(before + 1)
    expect(await Promise.all(charges.map((each) => left(watched, each)))).toEqual([38, 38, 38])
    // From now on it knows.
    expect(await admit(watched, charges)).toBe(3)
    expect(await refusedReads()).toBe(before + 1)
    expect(watched.breakers).toEqual([])
  })

  it('leaves alone what is on its way and not here, and decides what still is', async () => {
    const watched = await open()
    const { moving, staying, to } = await twoOf()
    const [here, gone, unseen, other] = [counter(moving), counter(moving), counter(moving), counter(staying)]
    expect(await admit(watched, [here, gone, other])).toBe(3)
    const move = await cluster.beginMove(slotOf(`{${moving}}`), to)
    await move.moveKeys(storedKey(gone.key, gone.limit))
    const before = await refusedReads()
    expect(await admit(watched, [here, other])).toBe(2)
    expect(await refusedReads()).toBe(before)
    expect(await admit(watched, [gone, other])).toBe(2)
    expect(await admit(watched, [unseen, other])).toBe(2)
    expect(await refusedReads()).toBe(before + 2)
    await move.moveAllKeys()
    await move.finish()
    const charges = [here, gone, unseen, other]
    expect(await Promise.all(charges.map((each) => left(watched, each)))).toEqual([38, 38, 39, 36])
  })

  it('does not count for what is on its way to the node: only a call that was sent on from the old one does', async () => {
    const watched = await open()
    const { moving, to } = await twoOf()
    const [there] = await partitionsOf(cluster, to)
    const [one, other] = [counter(moving), counter(there)]
    expect(await admit(watched, [one, other])).toBe(2)
    const move = await cluster.beginMove(slotOf(`{${moving}}`), to)
    expect(await ask(to, one, other)).toEqual([0, 1])
    expect([await left(watched, one), await left(watched, other)]).toEqual([39, 38])
    await move.moveAllKeys()
    expect(await ask(to, one, other)).toEqual([0, 1])
    await move.finish()
    expect(await ask(to, one, other)).toEqual([1, 1])
    expect([await left(watched, one), await left(watched, other)]).toEqual([38, 36])
  })

  /**
   * Sends a call about charges of different partitions to a node, whether they are there or not, and returns which it
   * decided.
   */
  async function ask(node: RedisServer, ...charges: Charge[]): Promise<number[]> {
    const sections = charges.map((each) => [{ charges: [each], permits: undefined }])
    const { name = '', library = '' } = NODE_SCRIPT?.asFunction ?? {}
    await node.call('FUNCTION', 'LOAD', 'REPLACE', library)
    const reply = await node.call('FCALL', name, 0, ...encodeSections(sections, new LimitTexts()).args)
    return charges.map((_, i) => String(reply).charCodeAt(i))
  }

  it('that meets a replica continues as calls for partitions', async () => {
    const watched = await open()
    const charges = PARTITIONS.map((partition) => counter(partition))
    expect(await admit(watched, charges)).toBe(charges.length)
    await cluster.failover(slotOf('{0}'))
    // Where the new master is not connected yet, nothing is decided, and nothing charged.
    const answered = await Promise.allSettled(charges.map((each) => watched.store.decide([each])))
    await until('the new master is connected', async () =>
      (await Promise.allSettled(charges.map((each) => left(watched, each)))).every(
        ({ status }) => status === 'fulfilled',
      ),
    )
    const used = answered.map(({ status }) => (status === 'fulfilled' ? 38 : 39))
    expect(await Promise.all(charges.map((each) => left(watched, each)))).toEqual(used)
    expect(watched.breakers).toEqual([])
  })
})

describe('a budget that many spend while slots move, key by key', () => {
  const MOVED = 4
  const STEP = 4
  const SPENT = 150
  const SPENT_WINDOW = compileLimit({ algorithm: 'fixed_window', limit: SPENT, window: '30d' })
  const SPENT_LOG = compileLimit({ algorithm: 'sliding_log', limit: SPENT, window: '30d' })

  it('is spent exactly', async () => {
    const before = await refusedReads()
    const stores = await Promise.all([open(), open(), open()])
    const [from, to] = await cluster.masters()
    const moved = (await partitionsOf(cluster, from)).slice(0, MOVED)
    // Of each partition: two windows, a log, and a window that is charged together with another counter.
    const counters = PARTITIONS.flatMap((partition) =>
      [SPENT_WINDOW, SPENT_WINDOW, SPENT_LOG, SPENT_WINDOW].map((limit) => counter(partition, limit)),
    )
    const isPair = (i: number): boolean => i % 4 === 3
    const groups = counters.map((each, i) => (isPair(i) ? [each, charge(`${each.key}:wide`, WIDE, 1)] : [each]))
    const admitted = counters.map(() => 0)
    const failures: string[] = []
    /** What callers may have by now: they wait for each other, so that every step of the move has hits before and after it. */
    let allowance = 0
    let raised = resolvable()
    const raise = (to: number): void => {
      allowance = to
      raised.resolve()
      raised = resolvable()
    }
    const call = async ({ store }: WatchedStore, i: number): Promise<void> => {
      while (allowance <= SPENT) {
        if (admitted[i] >= allowance) await raised.promise
        else {
          const verdicts = await store.decide(groups[i]).catch((fault: unknown) => String(fault))
          if (typeof verdicts === 'string') failures.push(verdicts)
          else if (verdicts.every(({ allowed }) => allowed)) admitted[i]++
        }
      }
    }
    const callers = stores.flatMap((watched) => counters.map((_, i) => call(watched, i)))
    // The keys of the first slot are not there before it begins to move.
    for (const partition of moved) {
      const slot = slotOf(`{${partition}}`)
      const move = await cluster.beginMove(slot, to)
      for (let isLeft = true; isLeft; ) {
        raise(Math.min(allowance + STEP, SPENT))
        // A pair whose keys are on both sides waits until they are together.
        await until('callers have what they may', () => admitted.every((count, i) => isPair(i) || count >= allowance))
        const [key] = (await move.from.call('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[]
        isLeft = key !== undefined
        if (isLeft) await move.moveKeys(key)
      }
      await move.finish()
    }
    raise(SPENT)
    await until('everything is spent', () => admitted.every((count) => count >= SPENT))
    const more = await Promise.all(groups.map((group) => stores[0].store.decide(group)))
    raise(SPENT + 1)
    await Promise.all(callers)
    expect(failures).toEqual([])
    expect(await refusedReads()).toBeGreaterThan(before)
    expect(more.filter(([{ allowed }]) => allowed)).toEqual([])
    expect(admitted).toEqual(counters.map(() => SPENT))
  })
})
