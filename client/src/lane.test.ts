import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RateLimitError } from './errors.ts'
import { Lane, type LaneCall, now } from './lane.ts'
import type { Budget } from './rate-limits.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

let order = 0
const call = (parts: Partial<LaneCall> = {}): LaneCall => ({
  cost: { requests: 1 },
  priority: 0,
  order: order++,
  deadlineAtMs: Number.POSITIVE_INFINITY,
  signal: new AbortController().signal,
  ...parts,
})

const budget = (remaining: number, resetMs: number, limit = 100): Budget => ({
  name: 'default',
  unit: 'requests',
  limit,
  remaining,
  resetMs,
  windowMs: undefined,
  partition: undefined,
})

const MAX_WAITING = 20_000

/** Makes a lane whose server has nothing left for so long. */
function emptied(resetMs: number): Lane {
  const lane = new Lane()
  lane.pacer.update(now(), [budget(0, resetMs)])
  return lane
}

/** Answers the call that asked, and says that there is ample budget. */
function refill(lane: Lane, asked: LaneCall): void {
  lane.pacer.answered(now(), asked.cost, { budgets: [budget(100, 1_000)] })
  lane.look()
}

/** Has calls enter, and returns the names of those that went, in their order. */
function enterAll(lane: Lane, calls: readonly (readonly [name: string, call: LaneCall])[]): string[] {
  const went: string[] = []
  for (const [name, each] of calls) void lane.enter(each, MAX_WAITING).then(() => went.push(name))
  return went
}

const settled = () => vi.advanceTimersByTimeAsync(0)

describe('Lane', () => {
  it('lets a call go immediately while there is budget', async () => {
    const lane = new Lane()
    lane.pacer.update(now(), [budget(100, 1_000)])
    await lane.enter(call(), MAX_WAITING)
    expect(lane.waiting).toBe(0)
  })

  it('lets calls go in their order when there is more', async () => {
    const lane = emptied(1_000)
    const asks = call()
    const went = enterAll(lane, [
      ['a', asks],
      ['b', call()],
      ['c', call()],
    ])
    await vi.advanceTimersByTimeAsync(999)
    expect(went).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(went).toEqual(['a'])
    refill(lane, asks)
    await settled()
    expect(went).toEqual(['a', 'b', 'c'])
  })

  it('lets a call of higher priority go first', async () => {
    const lane = emptied(1_000)
    const asks = call({ priority: 9 })
    const went = enterAll(lane, [
      ['low', call()],
      ['high', call({ priority: 5 })],
      ['asks', asks],
    ])
    await vi.advanceTimersByTimeAsync(1_000)
    refill(lane, asks)
    await settled()
    expect(went).toEqual(['asks', 'high', 'low'])
  })

  it('lets the longest waiting call go every eighth turn, whatever its priority', async () => {
    const lane = emptied(1_000)
    const low = call()
    const calls = [['low', low] as const]
    const high = Array.from({ length: 20 }, (_, i) => [`high ${i}`, call({ priority: 1 })] as const)
    const went = enterAll(lane, [...calls, ...high])
    await vi.advanceTimersByTimeAsync(1_000)
    refill(lane, high[0][1])
    await settled()
    expect(went.indexOf('low')).toBe(7)
  })

  it('gives a call that was refused its place again', async () => {
    const lane = emptied(1_000)
    const refused = call()
    const asks = call({ priority: 1 })
    const went = enterAll(lane, [
      ['later', call()],
      ['refused', refused],
      ['asks', asks],
    ])
    await vi.advanceTimersByTimeAsync(1_000)
    refill(lane, asks)
    await settled()
    expect(went).toEqual(['asks', 'refused', 'later'])
  })

  it('says immediately that a call would have to wait beyond its deadline, and until when', async () => {
    const lane = emptied(5_000)
    await expect(lane.enter(call({ deadlineAtMs: now() + 4_999 }), MAX_WAITING)).rejects.toMatchObject({
      name: 'RateLimitError',
      reason: 'deadline',
      retryAfterMs: 5_000,
      retryAt: new Date(Date.now() + 5_000),
    })
    expect(lane.waiting).toBe(0)
  })

  it('counts callers that go first when it says so', async () => {
    const lane = new Lane()
    lane.pacer.update(now(), [{ ...budget(0, 1_000, 10), windowMs: 1_000 }])
    for (let i = 0; i < 20; i++) void lane.enter(call(), MAX_WAITING)
    // The first ten go after one second, the next after two: this one has to wait for three.
    await expect(lane.enter(call({ deadlineAtMs: now() + 2_500 }), MAX_WAITING)).rejects.toMatchObject({
      retryAfterMs: 3_000,
    })
  })

  it('gives up on callers that wait as soon as an answer says that waiting is of no use', async () => {
    const lane = emptied(1_000)
    const short = lane.enter(call({ deadlineAtMs: now() + 3_000 }), MAX_WAITING)
    void lane.enter(call({ deadlineAtMs: now() + 60_000 }), MAX_WAITING)
    lane.pacer.pause(now(), 30_000)
    lane.look()
    await expect(short).rejects.toMatchObject({ reason: 'deadline', retryAfterMs: 30_000 })
    expect(lane.waiting).toBe(1)
  })

  it('spreads a call for at most half of its time, when there is budget', async () => {
    const lane = new Lane()
    lane.pacer.update(now(), [budget(40, 60_000, 4_000)])
    const went = enterAll(
      lane,
      Array.from({ length: 40 }, (_, i) => [`${i}`, call({ deadlineAtMs: now() + 6_000 })] as const),
    )
    await vi.advanceTimersByTimeAsync(2_999)
    expect(went.length).toBeLessThan(5)
    await vi.advanceTimersByTimeAsync(1)
    expect(went).toHaveLength(40)
  })

  it('refuses more than may wait', async () => {
    const lane = emptied(1_000)
    void lane.enter(call(), 2)
    void lane.enter(call(), 2)
    await expect(lane.enter(call(), 2)).rejects.toMatchObject({ reason: 'queue_full', retryAfterMs: 1_000 })
  })

  it('lets a call go that need not wait where no one may', async () => {
    await new Lane().enter(call(), 0)
  })

  it('gives up on two thousand calls without work that grows with them', async () => {
    const lane = emptied(1_000)
    const ends = Array.from({ length: 2_000 }, () =>
      lane.enter(call({ deadlineAtMs: now() + 60_000 }), MAX_WAITING).catch((error: RateLimitError) => error.reason),
    )
    const looked = vi.spyOn(lane.pacer, 'leastMs')
    lane.pacer.pause(now(), 120_000)
    lane.look()
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['deadline']))
    expect(looked.mock.calls.length).toBeLessThan(4_001)
  })

  it('lets go of a call that is aborted, and keeps nothing of it', async () => {
    const lane = emptied(1_000)
    const controller = new AbortController()
    const reason = new Error('enough')
    const waiting = lane.enter(call({ signal: controller.signal }), MAX_WAITING)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(lane.isIdle).toBe(true)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('lets others go as soon as a call is aborted, or given up, that held them up', async () => {
    for (const how of ['aborted', 'given up']) {
      const lane = new Lane()
      lane.pacer.update(now(), [budget(5, 1_000)])
      const controller = new AbortController()
      const large = { cost: { requests: 50 }, signal: controller.signal, deadlineAtMs: now() + 3_000 }
      const ended = lane.enter(call(large), MAX_WAITING).catch((error: unknown) => error)
      const went = enterAll(lane, [['small', call()]])
      await settled()
      expect([went, lane.waiting]).toEqual([[], 2])
      if (how === 'aborted') controller.abort(new Error('enough'))
      else {
        lane.pacer.update(now(), [budget(5, 10_000)])
        lane.look()
      }
      expect(await ended).toBeInstanceOf(Error)
      await settled()
      expect(went).toEqual(['small'])
    }
  })

  it('has two thousand calls wait without work that grows with them', async () => {
    const lane = emptied(1_000)
    const looked = vi.spyOn(lane.pacer, 'leastMs')
    const asks = call()
    const went = enterAll(
      lane,
      Array.from(
        { length: 2_000 },
        (_, i) => [`${i}`, i === 0 ? asks : call({ deadlineAtMs: now() + 600_000 })] as const,
      ),
    )
    await vi.advanceTimersByTimeAsync(1_000)
    lane.pacer.answered(now(), asks.cost, { budgets: [budget(1_000_000, 1_000, 1_000_000)] })
    lane.look()
    await settled()
    expect(went).toHaveLength(2_000)
    expect(looked.mock.calls.length).toBeLessThan(4_000)
  })
})
