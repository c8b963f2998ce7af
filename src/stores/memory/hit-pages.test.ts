import { describe, expect, it } from 'vitest'
import { Outcome } from '../../core/algorithms/outcome.ts'
import { mulberry32 } from '../suite/run.suite.ts'
import { Entries } from './entries.ts'
import { HitPages } from './hit-pages.ts'

type Record = [timeMs: number, value: number]

/** A PagedLogs is some logs in pages, each with the array that it should equal. Of holders a record is [time, permit]. */
class PagedLogs {
  readonly entries = new Entries()
  readonly pages: HitPages
  readonly models: Record[][]
  readonly #holders: boolean

  constructor(logs: number, holders: boolean, mostPages: number) {
    this.pages = new HitPages(this.entries, mostPages)
    this.#holders = holders
    this.models = Array.from({ length: logs }, () => [])
    for (let id = 0; id < logs; id++) {
      this.entries.append()
      this.pages.open(id, holders)
      this.pages.clear()
    }
  }

  apply(id: number, changes: Partial<Outcome>, permits = 0): void {
    const out = Object.assign(new Outcome(), { latestMs: Number.MAX_SAFE_INTEGER, ...changes })
    this.pages.open(id, this.#holders)
    this.pages.apply(out, permits)
    this.models[id] = this.#applied(this.models[id], out, permits)
  }

  release(id: number, permits: number): void {
    const kept = this.models[id].filter(([, value]) => value !== permits)
    this.pages.open(id, true)
    expect(this.pages.release(permits)).toBe(kept.length < this.models[id].length)
    this.models[id] = kept
  }

  freeAll(id: number): void {
    this.pages.open(id, this.#holders)
    this.pages.freeAll()
    this.models[id] = []
  }

  read(id: number): { records: Record[]; totalHits: number; isEmpty: boolean } {
    this.pages.open(id, this.#holders)
    const records: Record[] = []
    this.pages.rewind()
    while (this.pages.next()) records.push([this.pages.timeMs, this.pages.hits])
    return { records, totalHits: this.pages.totalHits, isEmpty: this.pages.isEmpty }
  }

  expectEqual(id: number): void {
    const records = this.models[id].map(([timeMs, value]): Record => [timeMs, this.#holders ? 1 : value])
    const totalHits = records.reduce((sum, [, hits]) => sum + hits, 0)
    expect(this.read(id)).toEqual({ records, totalHits, isEmpty: records.length === 0 })
    if (records.length > 0) expect(this.pages.newestMs).toBe(records.at(-1)?.[0])
  }

  #applied(records: readonly Record[], out: Outcome, permits: number): Record[] {
    const next = records.slice(out.dropOldest).map(([timeMs, value]): Record => [Math.min(timeMs, out.latestMs), value])
    for (let left = out.pop; left > 0; ) {
      const [timeMs, value] = next.pop() as Record
      const hits = this.#holders ? 1 : value
      if (hits > left) next.push([timeMs, hits - left])
      left -= hits
    }
    if (this.#holders) for (let i = 0; i < out.push; i++) next.push([out.latestMs, permits])
    else if (out.push > 0 && next.at(-1)?.[0] === out.latestMs) (next.at(-1) as Record)[1] += out.push
    else if (out.push > 0) next.push([out.latestMs, out.push])
    return next
  }
}

describe.each([
  ['hits', false],
  ['holders', true],
] as const)('pages of %s', (_, holders) => {
  it.each([1, 2, 3, 4])('hold what an array holds, and all are freed (seed %i)', (seed) => {
    const random = mulberry32(seed)
    const logs = new PagedLogs(5, holders, 10_000)
    let nowMs = 1_780_000_000_000
    for (let i = 0; i < 2_000; i++) {
      const id = random(5)
      const records = logs.models[id].length
      const total = logs.models[id].reduce((sum, [, value]) => sum + (holders ? 1 : value), 0)
      nowMs += random(10) === 0 ? -random(30) : random(8)
      const dice = random(20)
      if (dice < 10)
        logs.apply(
          id,
          { latestMs: nowMs, push: 1 + random(3), dropOldest: random(4) === 0 ? random(records + 1) : 0 },
          i,
        )
      else if (dice < 13) logs.apply(id, { latestMs: nowMs, pop: random(Math.min(total, 12) + 1) })
      else if (dice < 16) logs.apply(id, { dropOldest: random(records + 1) })
      else if (dice < 17) logs.apply(id, { latestMs: nowMs - random(50) })
      else if (dice < 19 && holders) logs.release(id, logs.models[id][random(records)]?.[1] ?? 0)
      else if (random(10) === 0) logs.freeAll(id)
      logs.expectEqual(id)
    }
    for (let id = 0; id < 5; id++) logs.expectEqual(id)
    for (let id = 0; id < 5; id++) logs.freeAll(id)
    expect(logs.pages.pagesInUse).toBe(0)
  })
})

describe('hit pages', () => {
  it('take three records to a page, and give a page back with its last record', () => {
    const logs = new PagedLogs(1, false, 100)
    const used = [1, 2, 3, 4, 5, 6, 7].map((timeMs) => {
      logs.apply(0, { latestMs: timeMs, push: 1 })
      return logs.pages.pagesInUse
    })
    expect(used).toEqual([1, 1, 1, 2, 2, 2, 3])
    logs.apply(0, { pop: 1 })
    expect(logs.pages.pagesInUse).toBe(2)
    logs.apply(0, { dropOldest: 3 })
    expect(logs.pages.pagesInUse).toBe(1)
    logs.apply(0, { dropOldest: 3 })
    expect(logs.pages.pagesInUse).toBe(0)
  })

  it('use pages again before making new ones', () => {
    const logs = new PagedLogs(2, false, 10_000)
    for (let i = 0; i < 300; i++) logs.apply(0, { latestMs: i, push: 1 })
    const { bytes } = logs.pages
    for (let round = 0; round < 50; round++) {
      logs.freeAll(round % 2)
      for (let i = 0; i < 300; i++) logs.apply((round + 1) % 2, { latestMs: i + 1_000 * round, push: 1 })
    }
    expect(logs.pages.bytes).toBe(bytes)
  })

  it('read an empty log where there is no entry', () => {
    const logs = new PagedLogs(1, false, 10)
    expect(logs.read(-1)).toEqual({ records: [], totalHits: 0, isEmpty: true })
  })

  it('add hits to the newest record when no page is left, so that they stay longer, never shorter', () => {
    const logs = new PagedLogs(2, false, 2)
    for (let timeMs = 1; timeMs <= 10; timeMs++) logs.apply(0, { latestMs: timeMs, push: 1 })
    expect(logs.read(0)).toMatchObject({
      totalHits: 10,
      records: [
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 1],
        [5, 1],
        [10, 5],
      ],
    })
    logs.apply(1, { latestMs: 11, push: 1 })
    expect(logs.read(1)).toMatchObject({ totalHits: 1 })
    expect(logs.pages.pagesInUse).toBe(3)
  })

  it('keep every holder apart although no page is left', () => {
    const logs = new PagedLogs(1, true, 1)
    for (let permits = 1; permits <= 9; permits++) logs.apply(0, { latestMs: permits, push: 1 }, permits)
    for (const permits of [5, 1, 9, 3]) logs.release(0, permits)
    logs.expectEqual(0)
    expect(logs.read(0).totalHits).toBe(5)
  })

  it('count up to 4,294,967,295 hits in one log', () => {
    const logs = new PagedLogs(1, false, 10)
    logs.apply(0, { latestMs: 1, push: 4_294_967_290 })
    logs.apply(0, { latestMs: 2, push: 5 })
    expect(logs.read(0).totalHits).toBe(4_294_967_295)
    logs.apply(0, { dropOldest: 1 })
    expect(logs.read(0)).toMatchObject({ totalHits: 5, records: [[2, 5]] })
  })
})
