import { SimpleError } from '@redis/client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { compileLimit } from '../../../core/limit.ts'
import { StoreFault } from '../../../engine/store-fault.ts'
import { FakeConnection, groupSizes, replyTo } from '../connection/fake-connection.suite.ts'
import { decideFormat, type Group } from '../formats/wire-format.ts'
import { RedisStore } from '../redis-store.ts'
import { AdaptiveDeadlines, DEADLINE_RANGE } from './adaptive-deadline.ts'
import { Batcher } from './batcher.ts'

const TEN = compileLimit({ limit: 10, window: '1m' })
/** Answers number the decisions of a call in what is left. */
const MANY = compileLimit({ limit: 100_000, window: '1m' })
const groupOf = (key: string, charges = 1): Group => ({
  charges: Array.from({ length: charges }, (_, i) => ({ key: `${key}${i}`, limit: MANY, cost: 1, enforce: true })),
  permits: undefined,
})

/** A Batcher before a fake connection; `ask` tells how a group ended, in a word. */
function bench(shardOf?: (key: string) => string, learners?: AdaptiveDeadlines) {
  const connection = new FakeConnection(shardOf)
  const received: string[] = []
  let busyMs = 0
  const batcher = new Batcher(
    connection,
    decideFormat,
    {
      breakerChanged: (shard, state) => received.push(`${shard} ${state}`),
      callEnded: (shard, _durationMs, decisions, fault) =>
        received.push(`${shard} ${decisions} ${fault?.reason ?? 'ok'}`),
    },
    { now: () => performance.now() + busyMs, learners },
  )
  const ask = (key = 'k', timeoutMs = 5, charges = 1, lane = ''): Promise<string> =>
    batcher.submit(lane, groupOf(key, charges), timeoutMs).then(
      ([verdict]) => `remaining ${verdict.remaining}`,
      (fault: unknown) => (fault instanceof StoreFault ? fault.reason : String(fault)),
    )
  const answer = (i: number): void => connection.sent[i].resolve(replyTo(connection.sent[i].args))
  /** Lets time pass in which the process does nothing else. */
  const beBusy = (ms: number): void => {
    busyMs += ms
  }
  return { connection, batcher, received, ask, answer, beBusy }
}

const turn = () => vi.advanceTimersByTimeAsync(0)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('decisions', () => {
  it('of one turn travel as one call, and get their own answers', async () => {
    const { connection, ask, answer } = bench()
    const answers = Promise.all(['a', 'b', 'c'].map((key) => ask(key)))
    expect(connection.sent).toHaveLength(0)
    await turn()
    expect(connection.sent).toHaveLength(1)
    answer(0)
    expect(await answers).toEqual(['remaining 0', 'remaining 1', 'remaining 2'])
  })

  it('that are alone leave in the turn that they came in', async () => {
    vi.useRealTimers()
    const { connection, ask, answer } = bench()
    const decided = ask('a', 60_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(connection.sent).toHaveLength(1)
    answer(0)
    expect(await decided).toBe('remaining 0')
  })

  it('that come one by one leave immediately, after the first', async () => {
    const { connection, ask, answer } = bench()
    for (let i = 0; i < 4; i++) {
      const decided = ask('a')
      expect(connection.sent).toHaveLength(i === 0 ? 0 : i + 1)
      await turn()
      expect(connection.sent).toHaveLength(i + 1)
      answer(i)
      expect(await decided).toBe('remaining 0')
    }
  })

  it('that come together again travel together, but for the first, and then all', async () => {
    const { connection, ask, answer } = bench()
    const sizes = async (number: number): Promise<number[]> => {
      const from = connection.sent.length
      const decided = Promise.all(Array.from({ length: number }, () => ask()))
      await turn()
      for (let i = from; i < connection.sent.length; i++) answer(i)
      await decided
      return connection.sent.slice(from).map(({ args }) => groupSizes(args).length)
    }
    expect(await sizes(1)).toEqual([1])
    expect(await sizes(9)).toEqual([1, 8])
    expect(await sizes(9)).toEqual([9])
    expect(await sizes(1)).toEqual([1])
    expect(await sizes(2)).toEqual([1, 1])
    expect(await sizes(2)).toEqual([2])
  })

  it('that find a call in flight wait for the end of the turn', async () => {
    const { connection, ask } = bench()
    void ask()
    await turn()
    void ask()
    expect(connection.sent).toHaveLength(1)
    await turn()
    expect(connection.sent).toHaveLength(2)
  })

  it.each(['offline', 'breaker_open'])(
    'that are refused one after the other (%s) leave the process time for other things',
    async (reason) => {
      vi.useRealTimers()
      const { batcher, connection, ask, answer } = bench()
      const first = ask('a', 60_000)
      await new Promise((resolve) => setImmediate(resolve))
      answer(0)
      await first
      if (reason === 'offline') connection.goOffline()
      else for (let i = 0; i < 3; i++) batcher.breakerOf('redis').failed(performance.now())
      let hasTurned = false
      setImmediate(() => {
        hasTurned = true
      })
      let refused = 0
      for (; !hasTurned && refused < 1_000; refused++) expect(await ask('a', 60_000)).toBe(reason)
      expect(refused).toBeLessThan(1_000)
    },
  )

  it('do not wait for those before', async () => {
    const { connection, ask } = bench()
    void ask('a')
    await turn()
    void ask('b')
    await turn()
    expect(connection.sent).toHaveLength(2)
  })

  it('of several lanes travel apart', async () => {
    const { connection, ask } = bench()
    for (const lane of ['{1}', '{2}', '{1}']) void ask('k', 5, 1, lane)
    await turn()
    expect(connection.sent.map(({ args }) => groupSizes(args))).toEqual([[1, 1], [1]])
  })

  it('are at most 512 in a call', async () => {
    const { connection, ask, answer } = bench()
    const answers = Promise.all(Array.from({ length: 1_300 }, (_, i) => ask(`k${i}`)))
    await turn()
    answer(0)
    await turn()
    expect(connection.sent.map(({ args }) => groupSizes(args).length)).toEqual([512, 512, 276])
    for (let i = 1; i < 3; i++) answer(i)
    expect((await answers).at(-1)).toBe('remaining 275')
  })

  it('have at most 32,768 charges in a call', async () => {
    const { connection, ask } = bench()
    for (let i = 0; i < 130; i++) void ask(`k${i}:`, 5, 300)
    await turn()
    expect(connection.sent.map(({ args }) => groupSizes(args).length)).toEqual([109, 21])
  })

  it('that cannot be encoded fail alone, and harm nothing', async () => {
    const { connection, ask, answer } = bench()
    const tooLarge = ask('k', 5, 70_000)
    const small = ask('a')
    await turn()
    expect(await tooLarge).toBe('broken')
    expect(connection.sent).toHaveLength(1)
    answer(0)
    expect(await small).toBe('remaining 0')
  })
})

describe('calls in flight', () => {
  it('are 256 at most; more are refused immediately', async () => {
    const { connection, ask, answer } = bench()
    const first: Promise<string>[] = []
    for (let i = 0; i < 256; i++) {
      first.push(ask('k', 60_000, 1, `lane ${i}`))
      await turn()
    }
    const more = ask()
    await turn()
    expect(await more).toBe('overloaded')
    expect(connection.sent).toHaveLength(256)
    answer(7)
    expect(await first[7]).toBe('remaining 0')
    void ask()
    await turn()
    expect(connection.sent).toHaveLength(257)
  })

  it('are two in a lane; what comes meanwhile waits for one to end, and travels together', async () => {
    const { connection, ask, answer } = bench()
    const first = [ask('a')]
    await turn()
    first.push(ask('b'))
    await turn()
    const held = [ask('c')]
    await turn()
    held.push(ask('d'))
    await turn()
    const elsewhere = ask('e', 5, 1, 'other lane')
    await turn()
    expect(connection.sent.map(({ key }) => key)).toHaveLength(3)
    answer(0)
    await turn()
    expect(groupSizes(connection.sent[3].args)).toEqual([1, 1])
    for (let i = 1; i < 4; i++) answer(i)
    expect(await Promise.all([...first, ...held, elsewhere])).toEqual([0, 0, 0, 1, 0].map((n) => `remaining ${n}`))
  })

  it('do not make anybody wait beyond the deadline', async () => {
    const { connection, ask } = bench()
    const first = [ask('a', 60_000)]
    await turn()
    first.push(ask('b', 60_000))
    await turn()
    const held = ask('c', 5)
    await vi.advanceTimersByTimeAsync(6)
    expect(await held).toBe('timeout')
    expect(connection.sent).toHaveLength(2)
  })

  it('that ran out of time do not hold up their lane', async () => {
    const { connection, ask } = bench()
    const first = [ask('a', 3)]
    await turn()
    first.push(ask('b', 3))
    await turn()
    void ask('c', 60_000)
    await vi.advanceTimersByTimeAsync(5)
    expect(await Promise.all(first)).toEqual(['timeout', 'timeout'])
    expect(connection.sent).toHaveLength(3)
  })
})

describe('deadlines', () => {
  it('are each decision’s own, in one call', async () => {
    const { ask, answer } = bench()
    const [short, long] = [ask('a', 5), ask('b', 20)]
    await vi.advanceTimersByTimeAsync(6)
    expect(await short).toBe('timeout')
    await vi.advanceTimersByTimeAsync(10)
    answer(0)
    expect(await long).toBe('remaining 1')
  })

  it('that have passed leave a late reply unheard, and one failure for one call', async () => {
    const { ask, answer, received, batcher } = bench()
    const [short, long] = [ask('a', 5), ask('b', 8)]
    await vi.advanceTimersByTimeAsync(10)
    expect([await short, await long]).toEqual(['timeout', 'timeout'])
    answer(0)
    await turn()
    expect(received).toEqual(['redis 2 timeout'])
    expect(batcher.breakerOf('redis').state).toBe('closed')
  })

  it('start when a decision is sent, not while the process is busy before', async () => {
    const { ask, answer, beBusy } = bench()
    const decided = ask('a', 5)
    beBusy(100)
    await turn()
    await vi.advanceTimersByTimeAsync(4)
    answer(0)
    expect(await decided).toBe('remaining 0')
  })

  it('leave a process that was busy the time to read the reply', async () => {
    const { ask, answer, beBusy } = bench()
    const decided = ask('a', 5)
    await turn()
    beBusy(100)
    await vi.advanceTimersByTimeAsync(7)
    answer(0)
    expect(await decided).toBe('remaining 0')
  })

  it('are not passed before the reply could be read, where the process is immediately busy again', async () => {
    const { ask, answer, beBusy, connection } = bench()
    const first = ask('a', 5)
    await turn()
    beBusy(100)
    // The timer has rung, and the sockets are read: the first reply, after which another decision is sent.
    vi.advanceTimersToNextTimer()
    answer(0)
    expect(await first).toBe('remaining 0')
    const second = ask('b', 5)
    expect(connection.sent).toHaveLength(2)
    beBusy(100)
    await vi.advanceTimersByTimeAsync(1)
    answer(1)
    expect(await second).toBe('remaining 0')
  })

  it('end all the same when there is no reply to read', async () => {
    const { ask, beBusy } = bench()
    const decided = ask('a', 5)
    await turn()
    beBusy(100)
    await vi.advanceTimersByTimeAsync(12)
    expect(await decided).toBe('timeout')
  })

  it('give the store its full time again after each stall of the process, at most three times', async () => {
    const { ask, answer, beBusy, received } = bench()
    const decided = ask('a', 5)
    await turn()
    for (let i = 0; i < 3; i++) {
      beBusy(20)
      await vi.advanceTimersByTimeAsync(6)
    }
    await vi.advanceTimersByTimeAsync(2)
    answer(0)
    expect(await decided).toBe('remaining 0')
    expect(received).toEqual(['redis 1 ok'])
  })

  it('end all the same for a process that stalls on and on', async () => {
    const { ask, beBusy } = bench()
    const decided = ask('a', 5)
    await turn()
    for (let i = 0; i < 4; i++) {
      beBusy(20)
      await vi.advanceTimersByTimeAsync(6)
    }
    expect(await decided).toBe('timeout')
  })

  it('of what waits for its turn are not passed by a stall of the process', async () => {
    const { ask, answer, beBusy } = bench()
    const first = [ask('a')]
    await turn()
    first.push(ask('b'))
    await turn()
    const held = ask('c')
    await turn()
    beBusy(100)
    await vi.advanceTimersByTimeAsync(6)
    answer(0)
    answer(1)
    await turn()
    answer(2)
    expect(await Promise.all([...first, held])).toEqual(['remaining 0', 'remaining 0', 'remaining 0'])
  })

  it('leave no timer behind', async () => {
    const { ask, answer } = bench()
    const decided = ask('a', 60_000)
    await turn()
    answer(0)
    await decided
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('what is learned about the time of a server', () => {
  /** A bench that has learned from a thousand calls, each of which took `ms`; `waits` is how long it waits now. */
  async function learned(ms: number) {
    const learners = new AdaptiveDeadlines(DEADLINE_RANGE, () => {})
    const all = bench(undefined, learners)
    const call = async (afterMs: number, timeoutMs = 100): Promise<string> => {
      const decided = all.ask('k', timeoutMs)
      await vi.advanceTimersByTimeAsync(afterMs)
      all.answer(all.connection.sent.length - 1)
      return await decided
    }
    for (let i = 0; i < 1_000; i++) await call(ms)
    const waits = async (): Promise<number> => {
      await vi.advanceTimersByTimeAsync(20)
      return Math.round(learners.of('redis').timeoutMs(performance.now()))
    }
    return { ...all, call, waits }
  }

  it('is the time of its answers', async () => {
    expect(await (await learned(4)).waits()).toBe(12)
  })

  it('includes answers that came too late', async () => {
    const { call, waits } = await learned(0)
    expect(await waits()).toBe(5)
    for (let i = 0; i < 2; i++) expect(await call(16, 5)).toBe('timeout')
    await call(0)
    expect(await waits()).toBe(48)
  })

  it('is not the time in which the process itself stood still', async () => {
    const { ask, answer, beBusy, connection, waits } = await learned(0)
    for (let i = 0; i < 5; i++) {
      const decided = ask('k', 5)
      await turn()
      beBusy(30)
      await vi.advanceTimersByTimeAsync(5)
      answer(connection.sent.length - 1)
      expect(await decided).toBe('remaining 0')
    }
    expect(await waits()).toBe(5)
  })
})

describe('the breaker', () => {
  const fail = async ({ ask }: ReturnType<typeof bench>, times: number, key = 'k'): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const decided = ask(key)
      await vi.advanceTimersByTimeAsync(60)
      expect(await decided).toBe('timeout')
    }
  }

  it('opens at the third timeout in a row, drops the connection, and lets nothing through', async () => {
    const all = bench()
    await fail(all, 3)
    expect(all.connection.resets).toEqual(['redis'])
    const decided = all.ask()
    await turn()
    expect(await decided).toBe('breaker_open')
    expect(all.connection.sent).toHaveLength(3)
  })

  it('stays closed when a server is silent for a moment, and opens when that goes on', async () => {
    const all = bench()
    const ask = async (): Promise<void> => {
      const decided = all.ask()
      await vi.advanceTimersByTimeAsync(6)
      expect(await decided).toBe('timeout')
    }
    for (let i = 0; i < 17; i++) await ask()
    expect(all.batcher.breakerOf('redis').state).toBe('closed')
    await ask()
    expect(all.batcher.breakerOf('redis').state).toBe('open')
  })

  it('opens for a server that answers always, but always too late', async () => {
    const all = bench()
    for (let i = 0; i < 3; i++) {
      await fail(all, 1)
      all.answer(i)
      await turn()
    }
    expect(all.batcher.breakerOf('redis').state).toBe('open')
  })

  it('probes with one call after a second, and closes when that is answered', async () => {
    const all = bench()
    await fail(all, 3)
    await vi.advanceTimersByTimeAsync(1_000)
    const probe = all.ask()
    await turn()
    const other = all.ask()
    await turn()
    expect(await other).toBe('breaker_open')
    all.answer(3)
    expect(await probe).toBe('remaining 0')
    expect(all.received.filter((line) => /open|closed/.test(line))).toEqual([
      'redis open',
      'redis half_open',
      'redis closed',
    ])
  })

  it('does not count calls that are answered in the time that a stall of the process gave back', async () => {
    const all = bench()
    for (let call = 0; call < 5; call++) {
      const decided = all.ask()
      await turn()
      for (let i = 0; i < 3; i++) {
        all.beBusy(20)
        await vi.advanceTimersByTimeAsync(5)
      }
      all.answer(call)
      expect(await decided).toBe('remaining 0')
    }
    expect(all.batcher.breakerOf('redis').state).toBe('closed')
    expect(all.connection.resets).toEqual([])
  })

  it('counts a store that stays silent in a process whose timers are always late', async () => {
    const all = bench()
    for (let call = 0; call < 3; call++) {
      const decided = all.ask()
      await turn()
      for (let i = 0; i < 4; i++) {
        all.beBusy(20)
        await vi.advanceTimersByTimeAsync(6)
      }
      expect(await decided).toBe('timeout')
    }
    expect(all.batcher.breakerOf('redis').state).toBe('open')
    expect(all.connection.resets).toEqual(['redis'])
  })

  it('counts a store that says nothing in the time that it has after a stall', async () => {
    const all = bench()
    for (let call = 0; call < 3; call++) {
      const decided = all.ask()
      await turn()
      all.beBusy(20)
      await vi.advanceTimersByTimeAsync(60)
      expect(await decided).toBe('timeout')
    }
    expect(all.batcher.breakerOf('redis').state).toBe('open')
  })

  it('is each server’s own', async () => {
    const all = bench((key) => key[0])
    await fail(all, 3, 'a')
    const [a, b] = [all.ask('a', 5, 1, 'a'), all.ask('b', 5, 1, 'b')]
    await turn()
    all.answer(3)
    expect([await a, await b]).toEqual(['breaker_open', 'remaining 0'])
    expect(all.connection.resets).toEqual(['a'])
  })

  it('stays closed without a connection, and lets the probe through that finds one', async () => {
    const all = bench()
    const offline = async (): Promise<void> => {
      const decided = all.ask()
      await turn()
      all.connection.sent.at(-1)?.reject(new StoreFault('offline', 'redis', 'not connected'))
      expect(await decided).toBe('offline')
    }
    for (let i = 0; i < 5; i++) await offline()
    expect(all.batcher.breakerOf('redis').state).toBe('closed')
    await fail(all, 3)
    await vi.advanceTimersByTimeAsync(1_000)
    for (let i = 0; i < 3; i++) await offline()
    expect(all.batcher.breakerOf('redis').state).toBe('half_open')
    const probe = all.ask()
    await turn()
    all.answer(all.connection.sent.length - 1)
    expect(await probe).toBe('remaining 0')
    expect(all.batcher.breakerOf('redis').state).toBe('closed')
  })

  it.each([
    [
      'a reply that is too short',
      (sent: { resolve(reply: unknown): void }) => sent.resolve(Buffer.alloc(20)),
      'broken',
    ],
    ['a reply of another kind', (sent: { resolve(reply: unknown): void }) => sent.resolve(null), 'broken'],
    [
      'an error of the server',
      (sent: { reject(error: unknown): void }) => sent.reject(new SimpleError('OOM command not allowed')),
      'unavailable',
    ],
    [
      'an error of unknown origin',
      (sent: { reject(error: unknown): void }) => sent.reject(new TypeError('boom')),
      'broken',
    ],
  ])('counts %s', async (_, end, reason) => {
    const all = bench()
    for (let i = 0; i < 3; i++) {
      const decided = all.ask()
      await turn()
      end(all.connection.sent[i])
      expect(await decided).toBe(reason)
    }
    expect(all.received).toEqual([`redis 1 ${reason}`, `redis 1 ${reason}`, 'redis open', `redis 1 ${reason}`])
  })
})

describe('an answer that makes no sense', () => {
  /** Answers a call, the first of its jobs with an unknown code. */
  const nonsense = (reply: Buffer): Buffer => {
    reply.writeUInt8(9, 0)
    return reply
  }

  it('is a fault of its decision alone; others of the call have theirs, and the breaker stays closed', async () => {
    const { connection, ask, received, batcher } = bench()
    for (let i = 0; i < 5; i++) {
      const answers = Promise.all([ask('a'), ask('b')])
      await turn()
      connection.sent[i].resolve(nonsense(replyTo(connection.sent[i].args)))
      expect(await answers).toEqual(['broken', 'remaining 1'])
    }
    expect(received).toEqual(Array(5).fill('redis 2 broken'))
    expect(batcher.breakerOf('redis').state).toBe('closed')
  })

  it('opens the breaker where nothing else comes', async () => {
    const { connection, ask, batcher } = bench()
    for (let i = 0; i < 3; i++) {
      const answer = ask('a')
      await turn()
      connection.sent[i].resolve(nonsense(replyTo(connection.sent[i].args)))
      expect(await answer).toBe('broken')
    }
    expect(batcher.breakerOf('redis').state).toBe('open')
  })
})

describe('on a server', () => {
  it('a hundred decisions about three counters are one call, one read, and one write for each counter', async () => {
    vi.useRealTimers()
    const redis = await startRedis()
    let connect: () => void = () => {}
    const connected = new Promise<void>((resolve) => {
      connect = resolve
    })
    const store = new RedisStore({ url: redis.url, timeoutMs: 30_000, events: { connected: () => connect() } })
    try {
      await connected
      // The first of a turn leaves alone after a turn that had no other.
      const warm = ['warm', 'up'].map((key) => store.decide([{ key, limit: TEN, cost: 1, enforce: true }]))
      await Promise.all(warm)
      await redis.call('CONFIG', 'RESETSTAT')
      const keys = ['a', 'b', 'c']
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, (_, i) => store.decide([{ key: keys[i % 3], limit: TEN, cost: 1, enforce: true }])),
      )
      expect(verdicts.filter(([{ allowed }]) => allowed)).toHaveLength(30)
      const stats = String(await redis.call('INFO', 'commandstats'))
      const callsOf = (name: string) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
      expect(['fcall', 'evalsha', 'mget', 'get', 'psetex', 'del'].map(callsOf)).toEqual([1, 0, 1, 0, 3, 0])
    } finally {
      await store.close()
      await redis.stop()
    }
  })
})
