import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { compileLimit, type LimitOptions } from '../../../core/limit.ts'
import type { Charge } from '../../../engine/ports.ts'
import { packedHead } from '../heads.suite.ts'
import { RedisStore } from '../redis-store.ts'
import { RespClient } from '../resp/resp-client.ts'
import type { EncodedBatch } from './batch-format.ts'
import { LimitTexts } from './limit-texts.ts'
import { decodeWhole, encodePlain } from './plain-format.ts'
import { decideFormat, encodeGroups } from './wire-format.ts'

const TEN = compileLimit({ limit: 10, window: '1m' })
const HUNDRED = compileLimit({ limit: 100, window: '1h' })
const LEASED = { consistency: 'leased', onStoreFailure: 'open', localShare: 1 } as const
const NOW_MS = 1_780_000_000_000

const charge = (change: Partial<Charge> = {}): Charge => ({ key: 'k', limit: TEN, cost: 1, enforce: true, ...change })
const encode = (charges: readonly Charge[], nowMs?: number) => encodePlain(charges, new LimitTexts(), nowMs)

describe('the plain form', () => {
  it('of a lone charge is its key and its limit', () => {
    expect(encode([charge()])).toEqual({ keys: ['k|s1m'], args: ['s 10 60000 10 0 1 1 0'] })
  })

  it('encodes another cost than 1, and a time where there is one', () => {
    expect(encode([charge({ cost: -7 })])?.args.slice(1)).toEqual(['-7'])
    expect(encode([charge()], NOW_MS)?.args.slice(1)).toEqual(['1', '1780000000000'])
  })

  it('of a lone charge whose counter may be lent has the head of its book', () => {
    const lent = { keys: ['k|s1m', 'k|s1m|out'], args: ['+s 10 60000 10 0 1 1 0'] }
    expect(encode([charge({ policy: LEASED })])).toEqual(lent)
    expect(encode([charge({ policy: LEASED, cost: 3 })])?.args).toEqual([...lent.args, '3'])
    // What is given back is not asked of the book.
    expect(encode([charge({ policy: LEASED, cost: -1 })])?.keys).toEqual(['k|s1m'])
  })

  it('of a group marks the rules that do not enforce, and encodes costs that differ', () => {
    const charges = [
      charge({ enforce: false, quota: true }),
      charge({ limit: HUNDRED, quota: true, cost: 5 }),
      charge({ key: 'other' }),
    ]
    const lines = '~s 10 60000 10 0 1 1 0\n&s 100 3600000 100 0 1 1 0\ns 10 60000 10 0 1 1 0'
    expect(encode(charges)).toEqual({ keys: ['k|s1m', 'k|s1h', 'other|s1m'], args: [lines, '1 5 1'] })
    expect(encode([charge({ cost: 2 }), charge({ key: 'other', cost: 2 })])?.args[1]).toBe('2')
  })

  it.each<[string, readonly Charge[]]>([
    ['nothing', []],
    ['a log', [charge({ limit: compileLimit({ algorithm: 'sliding_log', limit: 10, window: '1m' }) })]],
    ['permits', [charge({ limit: compileLimit({ algorithm: 'concurrency', limit: 4 }) })]],
    ['a late charge', [charge({ debit: true })]],
    ['a group with something that may be lent', [charge(), charge({ key: 'other', policy: LEASED })]],
    ['a counter that is named twice', [charge(), charge()]],
    ['many charges', Array.from({ length: 17 }, (_, i) => charge({ key: `k${i}` }))],
  ])('is not that of %s', (_, charges) => {
    expect(encode(charges)).toBeUndefined()
  })
})

describe('a number as the answer', () => {
  it('says what remains, and until when', () => {
    expect(decodeWhole(11 * 59_000 + 9, charge())).toEqual({
      kind: 'allowed',
      allowed: true,
      limit: 10,
      remaining: 9,
      resetAfterMs: 59_000,
      delayMs: 0,
    })
  })

  it.each([-1, 0.5, Number.NaN, 2 ** 53, 11 * 1e13])('makes no sense as %d', (whole) => {
    expect(decodeWhole(whole, charge())).toBeUndefined()
  })

  it('is understood as a text, and only of a lone charge', () => {
    const lone = { charges: [charge()], permits: undefined }
    expect(decideFormat.decode('9', [lone])?.[0]?.[0].remaining).toBe(9)
    expect(decideFormat.decode('OK', [lone])).toEqual([undefined])
    expect(decideFormat.decode(9, [lone, lone])).toBeUndefined()
    expect(decideFormat.decode(9, [{ charges: [charge(), charge()], permits: undefined }])).toBeUndefined()
  })
})

describe('both forms', () => {
  let redis: RespClient
  beforeAll(async () => {
    const { port } = (await sharedRedis()).address
    redis = await RespClient.open({ at: { host: '127.0.0.1', port }, tls: false })
  })
  afterAll(() => redis.destroy())

  /** Runs decide.lua as a script, and returns its verdicts. */
  async function run({ keys, args }: EncodedBatch, charges: readonly Charge[]) {
    const reply = await redis.call(['EVAL', decideFormat.script.source, String(keys.length), ...keys, ...args])
    return decideFormat.decode(reply, [{ charges, permits: undefined }])?.[0]
  }

  const OPTIONS: readonly LimitOptions[] = [
    { limit: 5, window: '10s' },
    { limit: 5, window: '10s', countDenied: true },
    { algorithm: 'fixed_window', limit: 5, window: '10s' },
    { algorithm: 'fixed_window', limit: 5, window: '10s', anchor: 'first_hit' },
    { algorithm: 'token_bucket', limit: 5, window: '10s', burst: 8 },
    { algorithm: 'gcra', limit: 5, window: '10s' },
    { algorithm: 'leaky_bucket', limit: 5, window: '10s' },
    { limit: 4_294_967_295, window: '3650d' },
  ]
  /** What is asked of the two counters, at what time: hits, refusals, looks, refunds, a clock that goes back. */
  const MOVES = [
    [0, 1, 1],
    [0, 1, 2],
    [100, 2, 2],
    [100, 3, 0],
    [200, 1, 3],
    [2_500, 1, 1],
    [2_600, 0, 0],
    [2_700, -1, -2],
    [1_000, 1, 1],
    [9_999, 4, 1],
    [10_000, 2, 2],
    [15_000, 6, 1],
    [29_000, 1, 1],
    [29_000, -9, -9],
    [60_000, 1, 1],
  ] as const
  const kinds: readonly Partial<Charge>[] = [{}, { enforce: false }, { quota: true }]

  for (const options of OPTIONS)
    it(`decide and count alike under ${JSON.stringify(options)}`, async () => {
      const limits = [compileLimit(options), compileLimit({ limit: 6, window: '20s' })]
      for (const size of [1, 2])
        for (const kind of kinds) {
          const texts = new LimitTexts()
          const name = `forms:${JSON.stringify([options, size, kind])}`.replaceAll(/[{}]/g, '')
          for (const [afterMs, ...costs] of MOVES) {
            const chargesOf = (form: string): Charge[] =>
              limits
                .slice(0, size)
                .map((limit, i) => charge({ key: `${name}:${form}`, limit, cost: costs[i], ...(i === 0 ? kind : {}) }))
            const [plain, packed] = [chargesOf('plain'), chargesOf('packed')]
            const first = encodePlain(plain, texts, NOW_MS + afterMs)
            const second = encodeGroups([{ charges: packed, permits: undefined }], texts, NOW_MS + afterMs)
            expect(first).toBeDefined()
            if (first === undefined) return
            const what = [name, afterMs, ...costs].join(' ')
            expect(await run(first, plain), what).toEqual(await run(second, packed))
            for (let i = 0; i < size; i++)
              expect(await redis.call(['GET', first.keys[i]]), what).toEqual(await redis.call(['GET', second.keys[i]]))
          }
        }
    })
})

describe('both forms of a lone charge whose counter may be lent', () => {
  let redis: RespClient
  beforeAll(async () => {
    const { port } = (await sharedRedis()).address
    redis = await RespClient.open({ at: { host: '127.0.0.1', port }, tls: false })
    await redis.call(['FUNCTION', 'LOAD', 'REPLACE', String(decideFormat.script.asFunction?.library)])
  })
  afterAll(() => redis.destroy())

  const HOWS = {
    function: ['FCALL', String(decideFormat.script.asFunction?.name)],
    script: ['EVAL', decideFormat.script.source],
  }
  /** What is out of a budget of ten, or nothing at all; asked for how much. */
  const CASES = [undefined, 0, 3, 8, 10].flatMap((out) => [0, 1, 4, 11].map((cost) => ({ out, cost })))

  it.each(Object.keys(HOWS) as (keyof typeof HOWS)[])('decide and count alike as a %s', async (how) => {
    for (const { out, cost } of CASES) {
      const name = `lendable:${how}:${out}:${cost}`
      const verdicts: unknown[] = []
      for (const form of ['plain', 'packed'] as const) {
        const lone = charge({ key: `${name}:${form}`, cost, policy: LEASED })
        const texts = new LimitTexts()
        const counted = encodeGroups([{ charges: [{ ...lone, cost: 2 }], permits: undefined }], texts, NOW_MS)
        await redis.call([...HOWS[how], String(counted.keys.length), ...counted.keys, ...counted.args])
        const [counter, head] = counted.keys
        if (out !== undefined) await redis.call(['SET', head, packedHead(out, NOW_MS)])
        const { keys, args } =
          form === 'plain'
            ? (encodePlain([lone], texts, NOW_MS + 5) as EncodedBatch)
            : encodeGroups([{ charges: [lone], permits: undefined }], texts, NOW_MS + 5)
        const reply = await redis.call([...HOWS[how], String(keys.length), ...keys, ...args])
        verdicts.push([
          decideFormat.decode(reply, [{ charges: [lone], permits: undefined }]),
          await redis.call(['MGET', counter, head]),
        ])
      }
      expect(verdicts[0], name).toEqual(verdicts[1])
      // A look at nothing that is left says so.
      const isAllowed = Math.max(cost, 1) <= 8 - (out ?? 0)
      expect(verdicts[0], name).toMatchObject([[[{ allowed: isAllowed }]], expect.anything()])
    }
  })
})

describe('a counter in a window that has hits', () => {
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  /** Opens a store on a server of its own, as a user with these rights. */
  async function open(rights: string) {
    const redis = await startRedis({ acl: { app: `on >secret ~* &* ${rights}` } })
    ends.push(() => redis.stop())
    let isConnected = false
    const connected = (): void => {
      isConnected = true
    }
    const url = `redis://app:secret@127.0.0.1:${redis.address.port}`
    const store = new RedisStore({ url, timeoutMs: 60_000, events: { connected } })
    ends.push(() => store.close())
    await until('the store is connected', () => isConnected)
    return { redis, store }
  }

  it('is not decided for a user who may not read it', async () => {
    const { store } = await open('+@all -get -mget')
    const fault = { reason: 'unavailable' }
    await expect(store.decide([charge({ key: 'sluice:{1}:k', limit: HUNDRED })])).rejects.toMatchObject(fault)
  })

  it.each(['+@all', '+@all -setrange', '+@all -get', '+@all -get -setrange'])(
    'is charged, and keeps its expiry, for a user with the rights %s',
    async (rights) => {
      const { redis, store } = await open(rights)
      const remaining: number[] = []
      const expiry: unknown[] = []
      for (let i = 0; i < 3; i++) {
        const [verdict] = await store.decide([charge({ key: 'sluice:{1}:k', limit: HUNDRED })])
        remaining.push(verdict.remaining)
        expiry.push(await redis.call('PEXPIRETIME', 'sluice:{1}:k|s1h'))
      }
      expect(remaining).toEqual([99, 98, 97])
      expect(expiry[0]).toBeGreaterThan(0)
      expect(new Set(expiry).size).toBe(1)
    },
  )
})
