import { Hono } from 'hono'
import { WSContext as WebSocketContext, type WSContext, type WSEvents } from 'hono/ws'
import { parseList } from 'structured-headers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { type Client, Routes } from '../../middleware/adapter-app.suite.ts'
import { honoApp, onNode, onWeb } from '../../middleware/hono/hono-app.suite.ts'
import {
  type ConfigProps,
  type HonoConfigProps,
  MemoryStore,
  type RateLimitInfo,
  rateLimiter,
  type Store,
  webSocketLimiter,
} from './index.ts'

const START = 1_700_000_000_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

const serve = (...options: ConfigProps[]): Client['get'] => onWeb(honoApp(options.map((each) => rateLimiter(each)))).get
const statuses = async (get: Client['get'], ...paths: string[]): Promise<number[]> => {
  const found: number[] = []
  for (const path of paths) found.push((await get(path)).status)
  return found
}

/** A store whose hits can be seen. */
class VisibleStore implements Store {
  readonly calls: string[] = []
  hits = 0

  async increment(key: string) {
    this.calls.push(`+${key}`)
    return { totalHits: ++this.hits }
  }

  async decrement(key: string) {
    this.calls.push(`-${key}`)
    this.hits--
  }

  async resetKey(key: string) {
    this.calls.push(`0${key}`)
  }
}

describe('sluice/hono with the options of hono-rate-limiter', () => {
  it('counts five hits a minute, from the first one on, in the fields of draft 6', async () => {
    const get = serve({})
    const { headers } = await get()
    expect(headers).toMatchObject({
      'ratelimit-policy': '5;w=60',
      'ratelimit-limit': '5',
      'ratelimit-remaining': '4',
      'ratelimit-reset': '60',
    })
    vi.setSystemTime(START + 30_000)
    expect(await statuses(get, '/', '/', '/', '/', '/')).toEqual([200, 200, 200, 200, 429])
    const refused = await get()
    expect([refused.body, refused.headers['retry-after'], refused.headers['cache-control']]).toEqual([
      'Too many requests, please try again later.',
      '30',
      'no-store',
    ])
    vi.setSystemTime(START + 60_000)
    expect(await statuses(get, '/')).toEqual([200])
  })

  it('speaks every draft, the current form, or nothing', async () => {
    const fields = async (standardHeaders: NonNullable<HonoConfigProps['standardHeaders']>) => {
      const { headers } = await serve({ limit: 3, standardHeaders })()
      return [headers.ratelimit, headers['ratelimit-policy'], headers['ratelimit-limit']]
    }
    expect(await fields('draft-7')).toEqual(['limit=3, remaining=2, reset=60', '3;w=60', undefined])
    expect(await fields('draft-8')).toEqual(['"3-in-1m"; r=2; t=60', '"3-in-1m"; q=3; w=60', undefined])
    expect(await fields('current')).toEqual(['"3-in-1m";r=2;t=60', '"3-in-1m";q=3;w=60', undefined])
    expect(await fields(true)).toEqual([undefined, '3;w=60', '3'])
    expect(await fields(false)).toEqual([undefined, undefined, undefined])
    const silent = await serve({ limit: 0, standardHeaders: false })()
    expect([silent.status, silent.headers['retry-after']]).toEqual([429, undefined])
  })

  it('lists all policies in the current form, the tightest first, by their names', async () => {
    const get = serve(
      { limit: 5, standardHeaders: 'current', identifier: 'narrow' },
      { limit: 50, standardHeaders: 'current', identifier: 'wide' },
    )
    expect(parseList((await get()).headers.ratelimit).map(([name]) => name)).toEqual(['narrow', 'wide'])
  })

  it('keeps the fields on a Response of the app’s own making', async () => {
    const app = new Hono().use(rateLimiter({ limit: 3 })).get('/', () => Response.redirect('http://localhost/b', 302))
    const { headers } = await onWeb(app).get()
    expect([headers['ratelimit-remaining'], headers.location]).toEqual(['2', 'http://localhost/b'])
  })

  it('answers with a message, an object, what a function says, or problem+json', async () => {
    const body = async (message: ConfigProps['message'], accept = '*/*') => {
      const get = serve({ limit: 0, ...(message !== undefined && { message }) })
      const got = await get('/', { accept })
      return [got.headers['content-type'], got.body]
    }
    expect(await body('calm')).toEqual(['text/plain; charset=UTF-8', 'calm'])
    expect(await body({ calm: true })).toEqual(['application/json', '{"calm":true}'])
    expect(await body(async (c) => c.req.path)).toEqual(['text/plain; charset=UTF-8', '/'])
    const [type, text] = await body(undefined, 'application/problem+json')
    expect([type, JSON.parse(text).status]).toEqual(['application/problem+json', 429])
    expect(await body('calm', 'application/problem+json')).toEqual(['text/plain; charset=UTF-8', 'calm'])
  })

  it('asks functions for the limit, the key and what to skip', async () => {
    const get = serve({
      limit: async (c) => Number(c.req.query('limit')),
      keyGenerator: (c) => c.req.query('key') ?? '',
      skip: (c) => c.req.query('skip') === '1',
    })
    expect(await statuses(get, '/?key=a&limit=1', '/?key=a&limit=1', '/?key=a&limit=3')).toEqual([200, 429, 200])
    expect(await statuses(get, '/?key=b&limit=1', '/?key=a&limit=0&skip=1')).toEqual([200, 200])
  })

  it('does not lift the limit for those without a key', async () => {
    const get = serve({ limit: 1, keyGenerator: () => undefined as unknown as string })
    expect(await statuses(get, '/', '/')).toEqual([200, 429])
  })

  it('shows the context the hit and the store', async () => {
    let info: RateLimitInfo | undefined
    let left: unknown
    const app = new Hono<{ Variables: Record<string, unknown> }>()
      .use(
        rateLimiter({
          limit: 2,
          requestPropertyName: 'hit',
          requestStorePropertyName: 'hits',
          keyGenerator: () => 'k',
        }),
      )
      .get('/', async (c) => {
        const { getKey, resetKey } = c.get('hits') as { getKey: Store['get']; resetKey: Store['resetKey'] }
        info = c.get('hit') as RateLimitInfo
        left = await getKey?.('k')
        await resetKey('k')
        return c.text('ok')
      })
    const { get } = onWeb(app as unknown as Hono)
    expect(await statuses(get, '/', '/', '/')).toEqual([200, 200, 200])
    expect(info).toEqual({ limit: 2, used: 1, remaining: 1, resetTime: new Date(START + 60_000) })
    expect(left).toEqual({ totalHits: 1, resetTime: new Date(START + 60_000) })
  })

  it('takes back hits that ended as configured: refused ones are failures', async () => {
    const failed = new VisibleStore()
    const get = serve({ limit: 1, store: failed, keyGenerator: () => 'k', skipFailedRequests: true })
    expect(await statuses(get, '/error', '/throw', '/', '/', '/')).toEqual([400, 500, 200, 429, 429])
    expect(failed.calls.join(' ')).toBe('+k -k +k -k +k +k -k +k -k')
    const succeeded = new VisibleStore()
    const other = serve({ limit: 1, store: succeeded, keyGenerator: () => 'k', skipSuccessfulRequests: true })
    expect(await statuses(other, '/', '/', '/error', '/')).toEqual([200, 200, 400, 429])
    expect(succeeded.calls.join(' ')).toBe('+k -k +k -k +k +k')
  })

  it('takes nothing back from the next window', async () => {
    const store = new MemoryStore()
    const app = new Hono()
      .use(rateLimiter({ limit: 5, store, keyGenerator: () => 'k', skipFailedRequests: true }))
      .get('/', async (c) => {
        vi.setSystemTime(START + 60_000)
        await store.increment('k')
        return c.text('late', 500)
      })
    await onWeb(app).get()
    expect(await store.get('k')).toMatchObject({ totalHits: 1 })
    store.shutdown()
  })

  it('takes nothing back from the hits of clients that left: handlers work on for them', async () => {
    vi.useRealTimers()
    const routes = new Routes()
    const store = new VisibleStore()
    const running = await onNode(honoApp([rateLimiter({ store, skipFailedRequests: true })], routes))
    try {
      const client = running.visit('/hang')
      await until('the hit is counted', () => routes.hanging === 1)
      await client.leave()
      await running.get()
      expect(store.calls).toEqual(['+127.0.0.1', '+127.0.0.1'])
    } finally {
      await running.close()
    }
  })

  it('takes a hit back once, also where its client leaves in the middle of an answer that failed', async () => {
    vi.useRealTimers()
    const routes = new Routes()
    const store = new VisibleStore()
    const options = { store, skipFailedRequests: true, requestWasSuccessful: () => false }
    const running = await onNode(honoApp([rateLimiter(options)], routes))
    try {
      const client = running.visit('/stream')
      await until('the answer has begun', () => routes.streaming === 1)
      await client.leave()
      expect(store.calls).toEqual(['+127.0.0.1', '-127.0.0.1'])
    } finally {
      await running.close()
    }
  })

  it('takes a hit back whose refusal fails', async () => {
    const store = new VisibleStore()
    const handler = (): never => {
      throw new Error('mine')
    }
    const get = serve({ limit: 0, store, keyGenerator: () => 'k', skipFailedRequests: true, handler })
    expect(await statuses(get, '/')).toEqual([500])
    expect(store.calls).toEqual(['+k', '-k'])
  })

  it('leaves errors of the app’s functions and of its store to the app, or passes them over', async () => {
    const store = { ...new VisibleStore(), increment: () => Promise.reject(new Error('away')) } as unknown as Store
    expect(await statuses(serve({ store }), '/')).toEqual([500])
    expect(await statuses(serve({ store, passOnStoreError: true }), '/')).toEqual([200])
    const handler = (): never => {
      throw new Error('mine')
    }
    expect(await statuses(serve({ limit: 0, handler }), '/')).toEqual([500])
    expect(await statuses(serve({ skip: () => Promise.reject(new Error('mine')) }), '/')).toEqual([500])
  })

  it('refuses what is no store', () => {
    expect(() => rateLimiter({ store: {} as Store })).toThrow('HIT_STORE_INVALID: store: got an object')
  })

  it('asks a binding of Cloudflare', async () => {
    const keys: string[] = []
    const binding = {
      limit: async ({ key }: { key: string }) => ({ success: keys.push(key) < 2 }),
    }
    const get = serve({ binding: () => binding, keyGenerator: () => 'k', skip: (c) => c.req.path === '/error' })
    expect(await statuses(get, '/', '/', '/error')).toEqual([200, 429, 400])
    expect(keys).toEqual(['k', 'k'])
  })
})

describe('webSocketLimiter', () => {
  const socket = (): { ws: WSContext; closed: unknown[] } => {
    const closed: unknown[] = []
    const ws = new WebSocketContext({
      send: () => {},
      close: (...why) => void closed.push(why),
      readyState: 1,
    })
    return { ws, closed }
  }
  /** Returns the events of a connection to an app whose messages are limited. */
  const open = async (config: Parameters<typeof webSocketLimiter>[0], events: WSEvents): Promise<WSEvents> => {
    let opened: WSEvents | undefined
    const app = new Hono().get('/', async (c) => {
      opened = await webSocketLimiter(config)(() => events)(c)
      return c.text('')
    })
    await onWeb(app).get()
    return opened as WSEvents
  }
  const message = (data: string): MessageEvent => new MessageEvent('message', { data })

  it('closes a connection that has said too much', async () => {
    const heard: unknown[] = []
    const { onMessage, onOpen } = await open({ limit: 2 }, { onMessage: ({ data }) => void heard.push(data) })
    const { ws, closed } = socket()
    expect(onOpen).toBeUndefined()
    for (const word of ['a', 'b', 'c']) await onMessage?.(message(word), ws)
    expect(heard).toEqual(['a', 'b'])
    expect(closed).toEqual([[1008, 'Too many requests, please try again later.']])
  })

  it('skips messages, takes hits back, and asks a handler', async () => {
    const store = new VisibleStore()
    const over: unknown[] = []
    const events: WSEvents = {
      onMessage: ({ data }) => {
        if (data === 'bad') throw new Error('bad')
      },
    }
    const config = {
      store,
      limit: () => 1,
      keyGenerator: () => 'k',
      skip: (event: unknown) => (event as MessageEvent).data === 'ping',
      skipFailedRequests: true,
      handler: (event: unknown) => void over.push((event as MessageEvent).data),
    }
    const { onMessage } = await open(config, events)
    const { ws } = socket()
    await onMessage?.(message('ping'), ws)
    await expect(Promise.resolve(onMessage?.(message('bad'), ws))).rejects.toThrow('bad')
    await onMessage?.(message('good'), ws)
    await onMessage?.(message('more'), ws)
    expect(store.calls.join(' ')).toBe('+k -k +k +k')
    expect(over).toEqual(['more'])
  })
})
