import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { Charge, LendingStore } from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { storeSuite } from '../store.suite.ts'
import { mulberry32 } from '../suite/run.suite.ts'
import type { CasWrite } from './cas-engine.ts'
import { CasStore } from './cas-store.ts'
import { MapEngine } from './map-engine.suite.ts'

const seldom = (seed: number, of: number): (() => boolean) => {
  const random = mulberry32(seed)
  return () => random(of) === 0
}
const upTo = (seed: number, turns: number): (() => number) => {
  const random = mulberry32(seed)
  return () => random(turns)
}

const ENGINES = {
  'an engine': () => new MapEngine(),
  'an engine that loses answers and races': () =>
    new MapEngine({ conflicts: seldom(1, 4), losesAnswers: seldom(2, 4), delays: upTo(3, 3) }),
  'an engine without transactions that loses answers and races': () =>
    new MapEngine({ isAtomic: false, losesAnswers: seldom(5, 4), delays: upTo(6, 3) }),
}

for (const [name, make] of Object.entries(ENGINES)) {
  storeSuite(
    `cas store on ${name}`,
    async ({ startMs }) => {
      let nowMs = startMs
      const store = new CasStore(make(), { timeoutMs: 60_000, clock: { nowMs: () => nowMs } })
      return {
        store,
        setNowMs: (next) => {
          nowMs = next
        },
        close: () => store.close(),
      }
    },
    { seeds: [3_729_438_487], operations: 1_500 },
  )
}

const TEN = compileLimit({ limit: 10, window: '1m' })
const START_MS = 1_780_000_020_000
const clock = { nowMs: () => START_MS }

function open(engine: MapEngine, timeoutMs = 60_000): CasStore {
  return new CasStore(engine, { timeoutMs, clock })
}

const charge = (key: string, cost = 1, limit = TEN): Charge => ({ key, limit, cost, enforce: true })
const ask = async (store: LendingStore, ...charges: Charge[]) => await store.decide(charges)
const remaining = async (store: LendingStore, key: string) => (await ask(store, charge(key, 0)))[0].remaining

describe('cas store', () => {
  it('makes all charges of a key that come in one turn with one write', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    const verdicts = await Promise.all(Array.from({ length: 15 }, () => ask(store, charge('hot'))))
    expect(verdicts.filter(([{ allowed }]) => allowed)).toHaveLength(10)
    expect(engine.calls.map(({ kind }) => kind)).toEqual(['read', 'write'])
  })

  it('decides about a known key in one call: a write where it is charged, a read where it is refused', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    await ask(store, charge('known', 9))
    engine.calls.length = 0
    await ask(store, charge('known'))
    expect(engine.calls.map(({ kind }) => kind)).toEqual(['write'])
    engine.calls.length = 0
    expect(await ask(store, charge('known'))).toMatchObject([{ kind: 'refused' }])
    expect(engine.calls.map(({ kind }) => kind)).toEqual(['read'])
  })

  it('refuses only by what is stored, not by what it remembers', async () => {
    const engine = new MapEngine()
    const [one, other] = [open(engine), open(engine)]
    await ask(one, charge('shared', 10))
    await other.reset('shared', TEN)
    expect(await ask(one, charge('shared', 3))).toMatchObject([{ kind: 'allowed', remaining: 7 }])
  })

  it('counts a charge once whose answer was lost', async () => {
    const engine = new MapEngine({ losesAnswers: () => true })
    const store = open(engine)
    for (let i = 1; i <= 3; i++) expect(await ask(store, charge('lost'))).toMatchObject([{ remaining: 10 - i }])
    engine.faults = {}
    expect(await remaining(store, 'lost')).toBe(7)
  })

  it('recognises its write among those of as many nodes as a counter remembers', async () => {
    const engine = new MapEngine()
    const nodes = Array.from({ length: 9 }, () => open(engine))
    for (const node of nodes) await ask(node, charge('many'))
    const [first] = nodes as [CasStore]
    expect(await remaining(first, 'many')).toBe(1)
    engine.faults = { losesAnswers: () => true }
    expect(await ask(first, charge('many'))).toMatchObject([{ kind: 'allowed', remaining: 0 }])
  })

  it('counts a charge once that the engine carried out twice', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    engine.write = async (writes: readonly CasWrite[]) => {
      engine.apply(writes)
      return engine.apply(writes).map((result, i) => {
        return result.isWritten ? result : { ...result, found: engine.rows.get(writes[i].name) }
      })
    }
    expect(await ask(store, charge('twice', 4))).toMatchObject([{ remaining: 6 }])
    expect(await remaining(store, 'twice')).toBe(6)
  })

  it('does not make a charge again that may still arrive, and does not count it twice when it does', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    await ask(store, charge('late'))
    let late: readonly CasWrite[] = []
    engine.beforeWrite = (writes) => {
      late = writes
      throw new StoreFault('broken', 'map', 'cut')
    }
    await expect(ask(store, charge('late'))).rejects.toMatchObject({ reason: 'broken' })
    engine.beforeWrite = () => {}
    expect(await ask(store, charge('late'))).toMatchObject([{ remaining: 8 }])
    expect(engine.apply(late)).toMatchObject([{ isWritten: false }])
    expect(await remaining(store, 'late')).toBe(8)
  })

  it('makes a charge again whose answer was lost together with the race', async () => {
    const engine = new MapEngine()
    const [one, other] = [open(engine), open(engine)]
    await ask(one, charge('raced'))
    let isFirst = true
    engine.beforeWrite = async () => {
      if (!isFirst) return
      isFirst = false
      await ask(other, charge('raced'))
      throw new StoreFault('broken', 'map', 'cut')
    }
    expect(await ask(one, charge('raced'))).toMatchObject([{ remaining: 7 }])
  })

  it('charges nothing for what the engine refused to do', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    engine.beforeWrite = () => {
      throw new StoreFault('unavailable', 'map', 'read only')
    }
    await expect(ask(store, charge('away'))).rejects.toMatchObject({ reason: 'unavailable' })
    engine.beforeWrite = () => {}
    expect(await remaining(store, 'away')).toBe(10)
  })

  it('adds a counter again that was evicted between read and write', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    await ask(store, charge('evicted', 5))
    engine.rows.clear()
    expect(await ask(store, charge('evicted'))).toMatchObject([{ remaining: 9 }])
  })

  it.each([true, false])('admits exactly the limit among 200 writers (transactions: %s)', async (isAtomic) => {
    const engine = new MapEngine({ isAtomic, delays: upTo(7, 3) })
    const limit = compileLimit({ limit: 50, window: '1m' })
    const writers = Array.from({ length: 200 }, () => open(engine))
    const answers = await Promise.allSettled(writers.map((store) => ask(store, charge('storm', 1, limit))))
    const admitted = answers.filter((answer) => answer.status === 'fulfilled' && answer.value[0].allowed).length
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ reason: 'overloaded' })
    }
    const [left] = await ask(open(engine), charge('storm', 0, limit))
    expect(left.remaining).toBe(50 - admitted)
    expect(admitted).toBeGreaterThan(0)
  })

  it('gives up after a bounded number of races', async () => {
    const engine = new MapEngine({ conflicts: () => true })
    const store = open(engine)
    engine.faults = {}
    await ask(store, charge('raced'))
    engine.faults = { conflicts: () => true }
    engine.calls.length = 0
    await expect(ask(store, charge('raced'))).rejects.toMatchObject({ reason: 'overloaded' })
    expect(engine.calls.filter(({ kind }) => kind === 'write')).toHaveLength(24)
  })

  it('gives back what was charged of a group of which another part lost its race', async () => {
    const engine = new MapEngine({ isAtomic: false })
    const [one, other] = [open(engine), open(engine)]
    const places = compileLimit({ algorithm: 'concurrency', limit: 5 })
    await ask(one, charge('a'), charge('b'))
    let isFirst = true
    engine.beforeWrite = async () => {
      if (!isFirst) return
      isFirst = false
      await ask(other, charge('b', 9))
    }
    const { verdicts, permits } = await one.acquire([charge('a'), charge('b'), charge('c', 1, places)])
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, true])
    expect(permits).toBeUndefined()
    expect([await remaining(one, 'a'), await remaining(one, 'b')]).toEqual([9, 0])
    expect(await ask(one, charge('c', 0, places))).toMatchObject([{ remaining: 5 }])
  })

  it('writes the counters of a group together where the engine can', async () => {
    const engine = new MapEngine()
    const [one, other] = [open(engine), open(engine)]
    await ask(one, charge('a'), charge('b'))
    let seen: unknown
    engine.beforeWrite = async () => {
      engine.beforeWrite = () => {
        seen = engine.rows.get('a|s1m')
      }
      await ask(other, charge('b', 9))
    }
    const before = engine.rows.get('a|s1m')
    await ask(one, charge('a'), charge('b'))
    expect(seen).toEqual(before)
    expect(engine.rows.get('a|s1m')).toEqual(before)
  })

  it('waits longer for the first answer of an engine, as for a first connection', async () => {
    const engine = new MapEngine()
    const store = open(engine, 1)
    engine.beforeRead = () => new Promise((resolve) => setTimeout(resolve, 100))
    expect(await ask(store, charge('first'))).toMatchObject([{ kind: 'allowed', remaining: 9 }])
    await expect(ask(store, charge('second'))).rejects.toMatchObject({ reason: 'timeout' })
  })

  it('answers by the deadline though the engine does not, and does not race itself later', async () => {
    const engine = new MapEngine()
    const store = open(engine, 20)
    let goOn = (): void => {}
    engine.beforeWrite = () => new Promise<void>((resolve) => (goOn = resolve))
    await expect(ask(store, charge('slow'))).rejects.toMatchObject({ reason: 'timeout' })
    await expect(ask(store, charge('slow'))).rejects.toMatchObject({ reason: 'timeout' })
    engine.beforeWrite = () => {}
    goOn()
    expect(await ask(open(engine), charge('slow', 0))).toMatchObject([{ allowed: true }])
  })

  it('fails for a counter that is malformed, for no other, and until it is reset', async () => {
    const engine = new MapEngine()
    const store = open(engine)
    for (const text of ['', 'x', '1;;;;', '1;;5;1,2;', '1;;;!5,q q;', '9;;;;', '1;a;5;5,NaN,5;', '1;;;;5/a,b']) {
      engine.rows.set('bad|s1m', { text, version: 'v' })
      const both = Promise.allSettled([ask(store, charge('bad')), ask(store, charge('good', 0))])
      const isEmpty = text === '1;;;;'
      const bad = isEmpty ? { status: 'fulfilled' } : { status: 'rejected', reason: { reason: 'broken' } }
      expect(await both).toMatchObject([bad, { status: 'fulfilled' }])
      await store.reset('bad', TEN)
      expect(await remaining(store, 'bad')).toBe(10)
    }
  })

  it('refuses a request that names more counters than the engine takes', async () => {
    const store = open(new MapEngine({ maxNames: 2 }))
    await expect(ask(store, charge('a'), charge('b'), charge('c'))).rejects.toMatchObject({ reason: 'unavailable' })
    expect(await ask(store, charge('a'), charge('b'))).toMatchObject([{ allowed: true }, { allowed: true }])
  })

  it('decides with more keys at the same time than one call takes', async () => {
    const engine = new MapEngine({ maxNames: 3 })
    const store = open(engine)
    const keys = Array.from({ length: 40 }, (_, i) => `key:${i}`)
    await Promise.all(keys.map((key) => ask(store, charge(key, 4))))
    expect(await Promise.all(keys.map((key) => remaining(store, key)))).toEqual(keys.map(() => 6))
    expect(Math.max(...engine.calls.map(({ names }) => names.length))).toBe(3)
  })

  it("takes the engine's time", async () => {
    const engine = new MapEngine()
    engine.nowMs = 5 * 60_000 + 30_000
    const store = new CasStore(engine, { timeoutMs: 60_000 })
    const window = compileLimit({ limit: 10, window: '1m', algorithm: 'fixed_window' })
    const [{ resetAfterMs }] = await ask(store, charge('timed', 1, window))
    expect(resetAfterMs).toBeGreaterThan(0)
    expect(resetAfterMs).toBeLessThanOrEqual(30_000)
    expect(resetAfterMs).toBeGreaterThan(29_000 - 60_000)
  })

  it('opens its breaker when the engine fails, and closes it when it answers again', async () => {
    const engine = new MapEngine()
    const states: string[] = []
    const events = { breakerChanged: (_: string, state: string) => void states.push(state) }
    const store = new CasStore(engine, { timeoutMs: 60_000, clock, events })
    engine.beforeRead = () => {
      throw new StoreFault('unavailable', 'map', 'no')
    }
    for (let i = 0; i < 3; i++) await expect(ask(store, charge('a'))).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(ask(store, charge('a'))).rejects.toMatchObject({ reason: 'breaker_open' })
    expect(states).toEqual(['open'])
  })
})
