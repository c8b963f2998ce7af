import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/decision.ts'
import { KeyedHash } from '../../src/core/hash.ts'
import { storedKey } from '../../src/core/keys.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../src/core/limit.ts'
import type { Charge, SliceRequest } from '../../src/engine/ports.ts'
import { bookKey, headKey } from '../../src/stores/redis/formats/exchange-format.ts'
import { CompactKeys, readableKeys } from '../../src/stores/redis/formats/stored-keys.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import type { RedisServer } from '../servers/redis.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

// Whatever stands in a counter's place, the limit holds, every number is one, and the counter heals.

const MOST = 4
const HOUR_MS = 3_600_000
const LIMITS: readonly LimitOptions[] = [
  { algorithm: 'sliding_window', limit: MOST, window: '1d' },
  { algorithm: 'sliding_window', limit: MOST, window: '1d', subWindows: 6 },
  { algorithm: 'sliding_window', limit: MOST, window: '1d', countDenied: true },
  { algorithm: 'token_bucket', limit: MOST, window: '1d' },
  { algorithm: 'token_bucket', limit: MOST, window: '1d', countDenied: true },
  { algorithm: 'gcra', limit: MOST, window: '1d' },
  { algorithm: 'leaky_bucket', limit: MOST, window: '1d' },
  { algorithm: 'fixed_window', limit: MOST, window: '1d' },
  { algorithm: 'fixed_window', limit: MOST, window: '1d', anchor: 'first_hit' },
  { algorithm: 'fixed_window', limit: MOST, calendar: { unit: 'month' } },
  { algorithm: 'sliding_log', limit: MOST, window: '1d' },
  { algorithm: 'sliding_log', limit: MOST, window: '1d', countDenied: true },
  { algorithm: 'concurrency', limit: MOST, leaseTtl: '1d' },
]

const doubles = (...values: number[]): Buffer => Buffer.from(new Float64Array(values).buffer)
const word = (value: number): Buffer => Buffer.from(new Uint32Array([value]).buffer)
const ODD = [Number.NaN, Infinity, -Infinity, -1, 0, 0.5, 1e300, -1e300, 2 ** 53, Date.now() + 1e12]
const COUNTS = [0, 1, 3, 4_294_967_295]

/** What a compact counter could be taken for. */
const NUMBERS = [
  ...['0', '-', '-1', '2', '-22', '012', '1e9', '0x12', '1.5', '99999', '-99999', '00000', '12-24', '9'.repeat(19)],
  ...['9'.repeat(36), '9'.repeat(400), `-${'9'.repeat(35)}`, '42949672959999999999999999990'],
  ...[Date.now(), -Date.now(), Date.now() + 1e12].flatMap((ms) => [`${ms}`, `${ms}012`, `${ms}01012`, `${ms}99994`]),
]

/** Values of every length that some algorithm has, and of others. */
const GARBAGE: readonly Buffer[] = [
  ...[0, 1, 4, 7, 8, 9, 12, 16, 20, 36, 1_000].map((length) => Buffer.alloc(length, 0xff)),
  ...[4, 8, 12, 16, 20, 36].map((length) => Buffer.alloc(length)),
  Buffer.from('a text'),
  ...NUMBERS.map((digits) => Buffer.from(digits)),
  ...ODD.flatMap((odd) => [
    doubles(odd),
    doubles(odd, odd),
    doubles(Date.now(), odd),
    doubles(odd, 1),
    ...COUNTS.map((count) => Buffer.concat([doubles(odd), word(count)])),
    ...COUNTS.map((count) => Buffer.concat([doubles(odd), word(count), word(count)])),
    ...COUNTS.map((count) => Buffer.concat([word(count), doubles(odd, 1)])),
    ...COUNTS.map((count) => Buffer.concat([word(count), doubles(Date.now(), odd)])),
    Buffer.concat([word(2), doubles(odd, 1, Date.now(), odd)]),
    Buffer.concat([word(2), doubles(Date.now(), odd, odd, 1)]),
  ]),
]

const OTHER_TYPES: readonly (readonly string[])[] = [
  ['RPUSH', 'a'],
  ['HSET', 'a', 'b'],
  ['SADD', 'a'],
  ['ZADD', '1', 'a'],
]

describe.each([
  ['readable', undefined],
  ['compact', new KeyedHash(17, 42)],
] as const)('with %s keys', (_, compactKeys) => {
  let redis: RedisServer
  let store: RedisStore

  // What stands in a counter's place is read alike, whatever the counter is called: a third of it will do for the second kind of names.
  const garbageHere = compactKeys === undefined ? GARBAGE : GARBAGE.filter((_, i) => i % 3 === 0 || i < 50)
  const names = compactKeys === undefined ? readableKeys('') : new CompactKeys(compactKeys, '', false)
  const nameOf = (key: string, limit: Limit): string => names.of(storedKey(key, limit))

  beforeAll(async () => {
    redis = (await sharedRedis()) as RedisServer
    let isConnected = false
    const events = {
      connected: () => {
        isConnected = true
      },
    }
    store = new RedisStore({ url: redis.url, compactKeys, timeoutMs: 30_000, events })
    await until('the store is connected', () => isConnected)
  })
  afterAll(() => store.close())

  /** A log is not read as a whole: what is wrong in the middle is noticed when it leaves, and then the budget is whole again. */
  const mostOf = ({ isLog }: Limit): number => (isLog ? 2 * MOST - 1 : MOST)
  const keyOf = (): string => `sluice:{1}:${randomUUID()}`
  const chargeOf = (key: string, limit: Limit, cost = 1): Charge => ({ key, limit, cost, enforce: true })

  /** Checks that a verdict has no number that cannot be one. */
  function expectNumbers(verdict: Verdict, { windowMs }: Limit): void {
    for (const [name, value] of Object.entries(verdict)) {
      if (typeof value !== 'number') continue
      // Asked a hundred thousand times: an assertion for each would be most of the work.
      const most = name.endsWith('Ms') ? 2 * windowMs : MOST
      if (!(value >= 0 && value <= most)) expect.fail(`${name} is ${value}, of 0 to ${most}`)
    }
  }

  /** Asks ten times for one, and returns how often that was granted. */
  async function spend(key: string, limit: Limit): Promise<number> {
    let allowed = 0
    for (let i = 0; i < 10; i++) {
      const { verdicts } = await store.acquire([chargeOf(key, limit)])
      expectNumbers(verdicts[0], limit)
      if (verdicts[0].allowed) allowed++
    }
    return allowed
  }

  describe.each(LIMITS)('a counter of %j', (options) => {
    const limit = compileLimit(options)

    it('limits whatever stands in its place, in numbers', async () => {
      await Promise.all(
        garbageHere.map(async (garbage) => {
          const key = keyOf()
          await redis.call('SET', nameOf(key, limit), garbage)
          expectNumbers((await store.decide([chargeOf(key, limit, 0)]))[0], limit)
          expect(await spend(key, limit), garbage.toString('hex')).toBeLessThanOrEqual(mostOf(limit))
        }),
      )
    })

    it('takes refunds whatever stands in its place', async () => {
      await Promise.all(
        garbageHere.map(async (garbage) => {
          const key = keyOf()
          await redis.call('SET', nameOf(key, limit), garbage)
          expectNumbers((await store.decide([chargeOf(key, limit, -2)]))[0], limit)
          expect(await spend(key, limit), garbage.toString('hex')).toBeLessThanOrEqual(mostOf(limit))
        }),
      )
    })

    it('starts over in the place of something of another type', async () => {
      for (const [command, ...args] of OTHER_TYPES) {
        const key = keyOf()
        await redis.call(command, nameOf(key, limit), ...args)
        expect(await spend(key, limit)).toBe(MOST)
      }
    })

    it('recovers: within two windows, everything is as if nothing had been', async () => {
      let nowMs = Date.now()
      const later = new RedisStore({ url: redis.url, compactKeys, timeoutMs: 30_000, scriptNowMs: () => nowMs })
      try {
        await until('the store answers', async () => (await later.decide([chargeOf(keyOf(), limit, 0)])).length === 1)
        for (const garbage of garbageHere) {
          const key = keyOf()
          await redis.call('SET', nameOf(key, limit), garbage)
          await later.acquire([chargeOf(key, limit)])
          nowMs += 2 * limit.windowMs + HOUR_MS
          const [verdict] = await later.decide([chargeOf(key, limit, 0)])
          expect(verdict, garbage.toString('hex')).toMatchObject({ kind: 'allowed', remaining: MOST, resetAfterMs: 0 })
          nowMs -= 2 * limit.windowMs + HOUR_MS
        }
      } finally {
        await later.close()
      }
    })
  })

  describe('a book of slices', () => {
    const limit = compileLimit({ limit: MOST, window: '1d' })
    const book = (key: string): string => bookKey(nameOf(key, limit))
    const request = (key: string): SliceRequest => ({
      key,
      limit,
      holder: 'me',
      sequence: 1,
      spent: 0,
      confirmed: 0,
      keep: 0,
      need: 10,
      ahead: 0,
      cost: 1,
      leaseMs: 1_000,
      timeoutMs: 30_000,
    })

    const expectLent = async (key: string): Promise<void> => {
      const reply = await store.exchange(request(key))
      for (const value of Object.values(reply)) if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true)
      expect(reply.held).toBeLessThanOrEqual(MOST)
      expect(reply.free + reply.held).toBeLessThanOrEqual(MOST)
    }

    it('starts over in the place of something of another type', async () => {
      for (const [command, ...args] of [['SET', 'a'], ...OTHER_TYPES]) {
        const key = keyOf()
        await redis.call(command, book(key), ...args)
        await expectLent(key)
      }
    })

    it('lends and admits no more than there is, whatever stands in its head', async () => {
      const policy = { consistency: 'leased', onStoreFailure: 'closed', localShare: 1, timeoutMs: 30_000 } as const
      const garbage = [...ODD.map((odd) => doubles(odd, odd, odd, odd, odd)), ...GARBAGE]
      await Promise.all(
        garbage.map(async (value) => {
          const key = keyOf()
          await redis.call('SET', headKey(nameOf(key, limit)), value)
          const [verdict] = await store.decide([{ key, limit, cost: MOST + 1, enforce: true, policy }])
          expect(verdict.allowed).toBe(false)
          await expectLent(key)
          const [after] = await store.decide([{ key, limit, cost: MOST, enforce: true, policy }])
          expect(after.allowed).toBe(false)
        }),
      )
    })

    it('lends no more than there is, whatever stands in it', async () => {
      const garbage = [
        ...ODD.flatMap((odd) => [doubles(odd, odd, odd, odd), doubles(odd, odd, odd, odd, odd)]),
        ...GARBAGE,
      ]
      await Promise.all(
        garbage.map(async (value) => {
          const key = keyOf()
          await redis.call('HSET', book(key), '.', value, 'me', value, 'other', value)
          await expectLent(key)
        }),
      )
    })
  })
})
