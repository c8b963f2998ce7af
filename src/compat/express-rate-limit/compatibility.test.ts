import type { RequestHandler } from 'express'
import * as peer from 'express-rate-limit'
import { parseList } from 'structured-headers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { type RunningApp, runApp } from '../../middleware/express/express-app.suite.ts'
import * as own from './index.ts'

type Options = Partial<peer.Options>
interface Limiter {
  rateLimit(options?: Options): RequestHandler & Pick<peer.RateLimitRequestHandler, 'resetKey' | 'getKey'>
}

/** Every claim here is made about express-rate-limit itself as well: what it does is what people rely on. */
const LIBRARIES: readonly (readonly [string, Limiter])[] = [
  ['express-rate-limit', peer],
  ['sluice/express', own as unknown as Limiter],
]

/** A store that records what is asked of it. */
class RecordingStore implements peer.Store {
  readonly calls: string[] = []
  options: peer.Options | undefined
  hits = 0

  init(options: peer.Options): void {
    this.options = options
    this.calls.push('init')
  }

  async get(): Promise<peer.ClientRateLimitInfo> {
    this.calls.push('get')
    return { totalHits: this.hits, resetTime: undefined }
  }

  async increment(): Promise<peer.ClientRateLimitInfo> {
    this.calls.push('increment')
    return { totalHits: ++this.hits, resetTime: undefined }
  }

  async decrement(): Promise<void> {
    this.calls.push('decrement')
    this.hits--
  }

  async resetKey(): Promise<void> {
    this.calls.push('resetKey')
  }
}

/** The same with callbacks, as stores for version 5 had them. */
class CallbackStore implements peer.LegacyStore {
  readonly calls: string[] = []
  hits = 0

  incr(_key: string, callback: peer.IncrementCallback): void {
    this.calls.push('increment')
    callback(undefined, ++this.hits, undefined)
  }

  decrement(): void {
    this.calls.push('decrement')
    this.hits--
  }

  resetKey(): void {
    this.calls.push('resetKey')
  }
}

class BrokenStore extends RecordingStore {
  override async increment(): Promise<never> {
    throw new Error('the store is broken')
  }
}

const STORES = [
  ['promises', () => new RecordingStore()],
  ['callbacks', () => new CallbackStore()],
] as const

let running: RunningApp | undefined
const logged: unknown[][] = []

beforeEach(() => {
  logged.length = 0
  vi.spyOn(console, 'error').mockImplementation((...args) => void logged.push(args))
  vi.spyOn(console, 'warn').mockImplementation((...args) => void logged.push(args))
})

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await running?.close()
  running = undefined
})

describe.each(LIBRARIES)('%s', (_, { rateLimit }) => {
  /** Starts an app behind limiters, and returns how to ask it. */
  const serve = async (...options: (Options | RequestHandler)[]): Promise<RunningApp['get']> => {
    running = await runApp(...options.map((each) => (typeof each === 'function' ? each : rateLimit(each))))
    return running.get
  }
  const statuses = async (get: RunningApp['get'], times: number, path = '/'): Promise<number[]> => {
    const seen: number[] = []
    for (let i = 0; i < times; i++) seen.push((await get(path)).status)
    return seen
  }

  it('admits five in a minute by default, and refuses with a sentence', async () => {
    const get = await serve({})
    expect(await statuses(get, 6)).toEqual([200, 200, 200, 200, 200, 429])
    expect((await get()).body).toBe('Too many requests, please try again later.')
  })

  it('begins a window with the first hit, and another one when that is over, again and again', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_123 })
    const get = await serve({ limit: 2 })
    for (let i = 0; i < 3; i++) {
      expect(await statuses(get, 3)).toEqual([200, 200, 429])
      vi.setSystemTime(Date.now() + 59_999)
      expect(await statuses(get, 1)).toEqual([429])
      vi.setSystemTime(Date.now() + 1)
    }
  })

  it('takes the old names of options', async () => {
    expect(await statuses(await serve({ max: 1 }), 2)).toEqual([200, 429])
    const store = new RecordingStore()
    rateLimit({ store, max: 7, headers: false })
    expect(store.options).toMatchObject({ limit: 7, legacyHeaders: false, windowMs: 60_000 })
  })

  it('refuses everything with a limit of 0', async () => {
    expect(await statuses(await serve({ limit: 0, validate: { limit: false } }), 1)).toEqual([429])
  })

  it('takes a limit as a function, or a promise', async () => {
    expect(await statuses(await serve({ limit: () => 1 }), 2)).toEqual([200, 429])
    await running?.close()
    expect(await statuses(await serve({ limit: async () => 1 }), 2)).toEqual([200, 429])
  })

  it.each([
    ['a text', 'slow down', 'slow down'],
    ['an object', { error: { code: 'slow-down' } }, '{"error":{"code":"slow-down"}}'],
    ['a function', () => 'slow down', 'slow down'],
    ['a promise', async () => 'slow down', 'slow down'],
  ])('takes a message as %s', async (_kind, message, body) => {
    const get = await serve({ limit: 1, message, statusCode: 420 })
    await get()
    expect(await get()).toMatchObject({ status: 420, body })
  })

  it('leaves the answer to a handler, and passes it the options', async () => {
    const get = await serve({
      limit: 1,
      statusCode: 418,
      handler: (_request, response, _next, { statusCode, limit }) =>
        void response.status(statusCode).end(`limit ${String(limit)}`),
    })
    await get()
    expect(await get()).toMatchObject({ status: 418, body: 'limit 1' })
  })

  it('counts by the key that keyGenerator says', async () => {
    const get = await serve({ limit: 1, keyGenerator: async (request) => String(request.query.key) })
    expect([(await get('/?key=a')).status, (await get('/?key=b')).status, (await get('/?key=a')).status]).toEqual([
      200, 200, 429,
    ])
  })

  it.each([undefined, null, 7])('counts by a key of %s, too', async (key) => {
    const get = await serve({ limit: 1, keyGenerator: () => key as unknown as string })
    expect(await statuses(get, 2)).toEqual([200, 429])
  })

  it.each([true, Promise.resolve(true)])('does not count what skip says (%s)', async (answer) => {
    const store = new RecordingStore()
    const get = await serve({ limit: 1, store, skip: () => answer })
    expect(await statuses(get, 3)).toEqual([200, 200, 200])
    expect(store.calls).toEqual(['init'])
  })

  it('shows the request what remains, under the name that is wanted', async () => {
    const seen: unknown[] = []
    const get = await serve({ limit: 6, requestPropertyName: 'budget' }, (request, _response, next) => {
      const { budget } = request as unknown as { budget: { current: number } }
      seen.push({ ...budget, current: budget.current })
      next()
    })
    await get()
    await get()
    const common = { limit: 6, resetTime: expect.any(Date), key: '127.0.0.1' }
    expect(seen).toEqual([
      { ...common, used: 1, remaining: 5, current: 1 },
      { ...common, used: 2, remaining: 4, current: 2 },
    ])
  })

  it('keeps counting what it refuses', async () => {
    let used = 0
    const get = await serve({
      limit: 1,
      handler: (request, response) => {
        used = (request as unknown as { rateLimit: { used: number } }).rateLimit.used
        response.sendStatus(429)
      },
    })
    await statuses(get, 4)
    expect(used).toBe(4)
  })

  it('does not change the options', () => {
    const options = {}
    rateLimit(options)
    expect(options).toStrictEqual({})
  })

  it('resets and reports the hits of a key', async () => {
    const limiter = rateLimit({ limit: 1 })
    const get = await serve(limiter)
    expect(await statuses(get, 2)).toEqual([200, 429])
    expect(await limiter.getKey('127.0.0.1')).toMatchObject({ totalHits: 2 })
    limiter.resetKey('127.0.0.1')
    expect(await limiter.getKey('127.0.0.1')).toBeUndefined()
    expect(await statuses(get, 1)).toEqual([200])
  })

  it.each(STORES)('uses a store with %s', async (_kind, storeOf) => {
    const store = storeOf()
    const limiter = rateLimit({ store, limit: 1 })
    const get = await serve(limiter)
    expect(await statuses(get, 2)).toEqual([200, 429])
    limiter.resetKey('key')
    expect(store.calls.filter((call) => call !== 'init')).toEqual(['increment', 'increment', 'resetKey'])
  })

  it('makes a store ready before anybody comes, and asks it for a key', async () => {
    const store = new RecordingStore()
    const limiter = rateLimit({ store })
    expect(store.calls).toEqual(['init'])
    expect(await limiter.getKey('a')).toEqual({ totalHits: 0, resetTime: undefined })
    expect(() => rateLimit({ store: new CallbackStore() }).getKey('a')).toThrow()
  })

  it.each([[{ increment: 1 }], [{}], [Object.assign(new RecordingStore(), { init: 'no function' })]])(
    'refuses what is no store: %#',
    (store) => {
      expect(() => rateLimit({ store: store as never })).toThrow(/store/)
    },
  )

  it.each([
    ['skipSuccessfulRequests', '/', 0],
    ['skipSuccessfulRequests', '/error', 1],
    ['skipFailedRequests', '/', 1],
    ['skipFailedRequests', '/error', 0],
  ] as const)('with %s, %s leaves %i hits', async (option, path, hits) => {
    for (const [, storeOf] of STORES) {
      const store = storeOf()
      const get = await serve({ store, [option]: true })
      await get(path)
      await until('the hit is settled', () => store.hits === hits)
      await running?.close()
    }
  })

  it('takes back the hit of a client that leaves, and of an answer that breaks, with skipFailedRequests', async () => {
    const store = new RecordingStore()
    const get = await serve({ store, skipFailedRequests: true })
    const client = running?.visit('/hang')
    await until('the request is counted', () => store.calls.includes('increment'))
    client?.leave()
    await until('the hit is taken back', () => store.hits === 0)
    await get('/crash').catch(() => {})
    await until('the hit is taken back', () => store.calls.filter((call) => call === 'decrement').length === 2)
    expect(store.hits).toBe(0)
  })

  it('asks requestWasSuccessful, a promise too', async () => {
    const store = new RecordingStore()
    const get = await serve({ store, skipFailedRequests: true, requestWasSuccessful: async () => false })
    await get()
    await until('the hit is taken back', () => store.hits === 0)
  })

  it('takes back refused hits too, with skipFailedRequests', async () => {
    const store = new RecordingStore()
    const get = await serve({ limit: 2, store, skipFailedRequests: true })
    expect(await statuses(get, 3)).toEqual([200, 200, 429])
    await until('the refused hit is taken back', () => store.hits === 2)
  })

  const broken = (): never => {
    throw new Error('broken')
  }
  it.each<[string, Options]>([
    ['decrement', { store: Object.assign(new RecordingStore(), { decrement: broken }), skipSuccessfulRequests: true }],
    [
      'decrement, later',
      { store: Object.assign(new RecordingStore(), { decrement: async () => broken() }), skipSuccessfulRequests: true },
    ],
    ['requestWasSuccessful', { requestWasSuccessful: broken, skipSuccessfulRequests: true }],
    ['init', { store: Object.assign(new RecordingStore(), { init: broken }) }],
    ['init, later', { store: Object.assign(new RecordingStore(), { init: async () => broken() }) }],
  ])('logs an error in %s, and continues', async (_kind, options) => {
    const get = await serve(options)
    expect(await statuses(get, 1)).toEqual([200])
    await until('the error is logged', () => logged.length === 1)
    expect(logged[0]).toEqual([expect.any(String), new Error('broken')])
  })

  it.each<[string, Options]>([
    ['skip', { skip: broken }],
    ['keyGenerator', { keyGenerator: broken }],
    ['limit', { limit: broken }],
    ['handler', { limit: 0, handler: broken, validate: false }],
    ['a store', { store: new BrokenStore() }],
  ])('hands an error in %s to the app', async (_kind, options) => {
    const get = await serve(options)
    running?.app.use(((error, _request, response, _next) => {
      response.status(500).send(`caught: ${(error as Error).message}`)
    }) as import('express').ErrorRequestHandler)
    expect((await get()).body).toMatch(/^caught: /)
  })

  it('lets requests through whose store failed, when configured so, and logs the error', async () => {
    const get = await serve({ store: new BrokenStore(), passOnStoreError: true })
    expect(await statuses(get, 1)).toEqual([200])
    expect(logged).toEqual([[expect.stringContaining('allowing'), expect.any(Error)]])
  })

  it('logs mistakes once, under the same codes', async () => {
    const codes = (): unknown[] => logged.map(([error]) => (error as { code?: unknown }).code)
    const get = await serve({ limit: 9 })
    await get('/', { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' })
    await get('/', { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' })
    expect(codes()).toEqual(['ERR_ERL_UNEXPECTED_X_FORWARDED_FOR', 'ERR_ERL_FORWARDED_HEADER'])
    running?.app.set('trust proxy', true)
    logged.length = 0
    const store = new RecordingStore()
    rateLimit({ store, ipv6Subnet: 8, windwo: 1, validate: { nothing: true } } as Options)
    rateLimit({ store, keyGenerator: (request) => request.ip ?? '', ipv6Subnet: 56 })
    expect(codes()).toEqual([
      'ERR_ERL_UNKNOWN_VALIDATION',
      'ERR_ERL_UNKNOWN_OPTION',
      'ERR_ERL_IPV6_SUBNET',
      'ERR_ERL_KEY_GEN_IPV6',
      'ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR',
      'ERR_ERL_STORE_REUSE',
    ])
  })

  it('says nothing when configured not to validate, and uses a logger of the app', async () => {
    rateLimit({ windwo: 1, validate: false } as Options)
    const received: unknown[] = []
    const logger = { error: (error: unknown) => void received.push(error), warn: () => {} }
    rateLimit({ windwo: 1, logger } as Options)
    expect(logged).toEqual([])
    expect(received).toEqual([expect.objectContaining({ code: 'ERR_ERL_UNKNOWN_OPTION' })])
  })

  const rateFields = (headers: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit|retry-after/.test(name)))

  it.each<[string, Options, Record<string, string>]>([
    ['draft-6', { standardHeaders: true, legacyHeaders: false }, DRAFT_6()],
    ['draft-6 by name', { standardHeaders: 'draft-6', legacyHeaders: false }, DRAFT_6()],
    [
      'draft-7',
      { standardHeaders: 'draft-7', legacyHeaders: false },
      { 'ratelimit-policy': '5;w=7200', ratelimit: 'limit=5, remaining=4, reset=7200' },
    ],
    [
      'draft-8',
      { standardHeaders: 'draft-8', legacyHeaders: false },
      {
        'ratelimit-policy': '"5-in-2hrs"; q=5; w=7200; pk=:MmMyNmI0NmI2OGZm:',
        ratelimit: '"5-in-2hrs"; r=4; t=7200',
      },
    ],
    [
      'draft-8 with a name',
      { standardHeaders: 'draft-8', legacyHeaders: false, identifier: async () => 'mine' },
      { 'ratelimit-policy': '"mine"; q=5; w=7200; pk=:MmMyNmI0NmI2OGZm:', ratelimit: '"mine"; r=4; t=7200' },
    ],
    [
      'the legacy ones',
      { legacyHeaders: true },
      { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '1700007200' },
    ],
    ['none', { legacyHeaders: false }, {}],
    ['none for a draft that there is not', { standardHeaders: 'draft-99' as never, legacyHeaders: false }, {}],
  ])('sends the fields of %s', async (_kind, options, expected) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const get = await serve({ windowMs: 7_200_000, limit: 5, keyGenerator: () => 'foo', ...options })
    expect(rateFields((await get()).headers)).toEqual(expected)
  })

  it('adds up the fields of draft 8, of several limiters', async () => {
    const options: Options = { standardHeaders: 'draft-8', keyGenerator: () => 'foo' }
    const get = await serve(
      { ...options, windowMs: 5_000, limit: 1 },
      { ...options, windowMs: 60_000, limit: 5 },
      { ...options, windowMs: 86_400_000, limit: 7 },
    )
    const { ratelimit } = (await get()).headers
    expect(parseList(ratelimit).map(([name]) => name)).toEqual(['1-in-5sec', '5-in-1min', '7-in-1day'])
  })

  it('says when to retry, unless no field is wanted', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const comeBack = async (options: Options): Promise<string | undefined> => {
      const get = await serve({ limit: 1, ...options })
      await get()
      const { headers } = await get()
      await running?.close()
      return headers['retry-after']
    }
    expect(await comeBack({})).toBe('60')
    expect(await comeBack({ standardHeaders: 'draft-7' })).toBe('60')
    expect(await comeBack({ legacyHeaders: false })).toBeUndefined()
    expect(await comeBack({ retryAfter: () => 7 })).toBe('7')
    expect(await comeBack({ store: new RecordingStore(), windowMs: 30_000 })).toBe('30')
    running = undefined
  })

  it('asks for the block of an address each time', async () => {
    const asked: unknown[] = []
    const get = await serve({ limit: 9, ipv6Subnet: 64 }, (request, _response, next) => {
      asked.push((request as unknown as { rateLimit: { key: string } }).rateLimit.key)
      next()
    })
    running?.app.set('trust proxy', 'loopback')
    await get('/', { 'x-forwarded-for': '2001:db8:1:2:3::4' })
    await get('/', { 'x-forwarded-for': '::ffff:192.0.2.1' })
    expect(asked).toEqual(['2001:db8:1:2::/64', '192.0.2.1'])
  })
})

function DRAFT_6(): Record<string, string> {
  return {
    'ratelimit-policy': '5;w=7200',
    'ratelimit-limit': '5',
    'ratelimit-remaining': '4',
    'ratelimit-reset': '7200',
  }
}

describe('ipKeyGenerator', () => {
  it.each([
    ['1.2.3.4', undefined],
    ['1.2.3.4', 16],
    ['::ffff:1.2.3.4', undefined],
    ['::ffff:102:304', 16],
    ['::ffff:102:304', false],
    ['::1.2.3.4', undefined],
    ['::1.2.3.4', false],
    ['::1', undefined],
    ['::', undefined],
    ['2001:db8::1.2.3.4', undefined],
    ['2001:db8:1234:5678::102:304', undefined],
    ['64:ff9b::1.2.3.4', undefined],
    ['0123:4567:89ab:cdef:0123:4567:89ab:cdef', 63],
    ['0123:4567:89ab:cdef:0123:4567:89ab:cdef', 128],
    ['0123:4567:89ab:cdef:0123:4567:89ab:cdef', false],
    ['123:ABC::89', undefined],
    ['not an address', undefined],
  ] as const)('formats %s (%s) as express-rate-limit does', (ip, subnet) => {
    expect(own.ipKeyGenerator(ip, subnet)).toBe(peer.ipKeyGenerator(ip, subnet))
  })
})

describe.each([
  ['express-rate-limit', peer.MemoryStore as new () => peer.Store & { interval?: unknown }],
  ['sluice/express', own.MemoryStore as unknown as new () => peer.Store & { interval?: unknown }],
])('MemoryStore of %s', (_, MemoryStore) => {
  const storeOf = (windowMs: number): peer.Store & { interval?: unknown } => {
    const store = new MemoryStore()
    void store.init?.({ windowMs } as peer.Options)
    return store
  }

  it('counts, takes back, and forgets', async () => {
    const store = storeOf(60_000)
    await store.increment('a')
    await store.increment('a')
    await store.increment('b')
    await store.decrement('a')
    expect(await store.increment('a')).toMatchObject({ totalHits: 2, resetTime: expect.any(Date) })
    await store.resetKey('a')
    expect(await store.increment('a')).toMatchObject({ totalHits: 1 })
    await store.resetAll?.()
    expect(await store.get?.('b')).toBeUndefined()
    expect(await store.increment('b')).toMatchObject({ totalHits: 1 })
    await store.shutdown?.()
  })

  it('takes back no more than there is', async () => {
    const store = storeOf(60_000)
    await store.decrement('a')
    expect(await store.increment('a')).toMatchObject({ totalHits: 1 })
    await store.shutdown?.()
  })

  it('ends a window when it is over', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_001 })
    const store = storeOf(60_000)
    expect(await store.increment('a')).toEqual({ totalHits: 1, resetTime: new Date(1_700_000_060_001) })
    vi.setSystemTime(1_700_000_060_000)
    expect(await store.increment('a')).toMatchObject({ totalHits: 2 })
    vi.setSystemTime(1_700_000_060_001)
    expect(await store.get?.('a')).toBeUndefined()
    expect(await store.increment('a')).toMatchObject({ totalHits: 1 })
    await store.shutdown?.()
  })

  it('stops its timer when it is shut down', async () => {
    const store = storeOf(60_000)
    const clear = vi.spyOn(globalThis, 'clearInterval')
    expect(store.interval).toBeDefined()
    await store.shutdown?.()
    expect(clear).toHaveBeenCalledWith(store.interval)
  })
})
