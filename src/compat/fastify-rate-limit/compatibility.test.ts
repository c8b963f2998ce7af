import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import rateLimit, { normalizeIP, type RateLimitPluginOptions, type RateLimitState } from './index.ts'

let app: FastifyInstance

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 }))
afterEach(async () => {
  vi.useRealTimers()
  await app.close()
})

async function serve(options: RateLimitPluginOptions = {}): Promise<FastifyInstance> {
  app = fastify({ exposeHeadRoutes: false })
  await app.register(rateLimit, options)
  app.get('/', async () => 'hello')
  return app
}

const wait = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

const statuses = async (count: number, url = '/'): Promise<number[]> => {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await app.inject(url)).statusCode)
  return seen
}

describe("sluice/fastify with @fastify/rate-limit's options", () => {
  it('counts in a window from the first hit on, and says so in three fields', async () => {
    await serve({ max: 2, timeWindow: 1_000 })
    const first = await app.inject('/')
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '1',
    })
    expect(first.headers.ratelimit).toBeUndefined()
    wait(900)
    await app.inject('/')
    const refused = await app.inject('/')
    expect(refused.headers).toMatchObject({ 'x-ratelimit-remaining': '0', 'retry-after': '1' })
    expect(refused.json()).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Rate limit exceeded, retry in 1 second',
    })
    wait(100)
    expect(await statuses(1)).toEqual([200])
  })

  it('has a thousand in a minute where nothing is said', async () => {
    await serve()
    const { headers } = await app.inject('/')
    expect([headers['x-ratelimit-limit'], headers['x-ratelimit-reset']]).toEqual(['1000', '60'])
  })

  it.each([
    ['1 minute', '60', '1 minute'],
    ['90s', '90', '2 minutes'],
    ['1.5 hours', '5400', '2 hours'],
    ['2 days', '172800', '2 days'],
    ['1y', '31557600', '1 year'],
    ['500', '1', '1 second'],
  ])('reads a time window of %s', async (timeWindow, reset, after) => {
    await serve({ max: 0, timeWindow })
    const { headers, body } = await app.inject('/')
    expect(headers['x-ratelimit-reset']).toBe(reset)
    expect(JSON.parse(body).message).toBe(`Rate limit exceeded, retry in ${after}`)
  })

  it('refuses a time window that no one can read', async () => {
    app = fastify()
    await expect(app.register(rateLimit, { timeWindow: 'soon' })).rejects.toThrow(
      'DURATION_INVALID: timeWindow: got "soon"',
    )
  })

  const warnings = (): string[] => {
    const lines: string[] = []
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation((line) => void lines.push(String(line)))
    onTestFinished(() => spy.mockRestore())
    return lines
  }

  it.each([
    ['max', Number.NaN, 'max: got NaN', '1000'],
    ['max', -1, 'max: got -1', '1000'],
    ['max', Number.POSITIVE_INFINITY, 'max: got Infinity', '1000'],
    ['timeWindow', Number.NaN, 'timeWindow: got NaN', '60000'],
    ['timeWindow', -5, 'timeWindow: got -5', '60000'],
    ['ipv6Subnet', -1, 'ipv6Subnet: got -1', '64'],
    ['ipv6Subnet', 129, 'ipv6Subnet: got 129', '64'],
    ['ipv6Subnet', Number.NaN, 'ipv6Subnet: got NaN', '64'],
  ])('uses the default for %s: %d, and warns once', async (name, value, start, fallback) => {
    const lines = warnings()
    await serve({ [name]: value })
    const { headers } = await app.inject('/')
    expect([headers['x-ratelimit-limit'], headers['x-ratelimit-reset']]).toEqual(['1000', '60'])
    expect(lines).toEqual([expect.stringContaining(start)])
    expect(lines[0]).toContain(`The default, ${fallback}, is used instead, as in @fastify/rate-limit.`)
  })

  it("uses the default, not the plugin's number, where a route's is NaN", async () => {
    const lines = warnings()
    await serve({ max: 7, timeWindow: 5_000 })
    const config = { rateLimit: { max: Number.NaN, timeWindow: Number.NaN } }
    app.get('/own', { config }, async () => 'hello')
    const { headers } = await app.inject('/own')
    expect([headers['x-ratelimit-limit'], headers['x-ratelimit-reset']]).toEqual(['1000', '60'])
    expect(lines).toHaveLength(2)
  })

  it.each([-1, 129])('counts by blocks of 64 bits with ipv6Subnet: %d', async (ipv6Subnet) => {
    warnings()
    await serve({ max: 1, ipv6Subnet })
    const from = async (remoteAddress: string) => (await app.inject({ url: '/', remoteAddress })).statusCode
    const seen = [await from('2001:db8:0:1::1'), await from('2001:db8:0:1::2'), await from('2001:db8:0:2::1')]
    expect(seen).toEqual([200, 429, 200])
  })

  it('has one key for all of IPv6 with ipv6Subnet: 0', async () => {
    await serve({ max: 1, ipv6Subnet: 0 })
    const from = async (remoteAddress: string) => (await app.inject({ url: '/', remoteAddress })).statusCode
    expect([await from('2001:db8::1'), await from('fd00::1'), await from('203.0.113.7')]).toEqual([200, 429, 200])
  })

  it('rejects a text where a number is expected: the default would be a limit that no one chose', async () => {
    app = fastify()
    await expect(app.register(rateLimit, { max: '5' as never })).rejects.toThrow('GATE_OPTIONS_INVALID: max: got "5"')
  })

  it('takes functions for the limit, the window, the key and the allow list, with promises or without', async () => {
    await serve({
      max: async (_, key) => (key === 'pro' ? 2 : 1),
      timeWindow: (_, key) => (key === 'pro' ? 2_000 : 1_000),
      keyGenerator: (request) => String(request.headers.plan),
      allowList: async (_, key) => key === 'friend',
    })
    const as = async (plan: string): Promise<number> => (await app.inject({ url: '/', headers: { plan } })).statusCode
    expect([await as('pro'), await as('pro'), await as('pro')]).toEqual([200, 200, 429])
    expect([await as('free'), await as('free')]).toEqual([200, 429])
    expect([await as('friend'), await as('friend'), await as('friend')]).toEqual([200, 200, 200])
    wait(1_000)
    expect([await as('pro'), await as('free')]).toEqual([429, 200])
  })

  it('shares one count when the window of a key changes', async () => {
    let timeWindow = 1_000
    await serve({ max: 2, timeWindow: () => timeWindow })
    await statuses(2)
    timeWindow = 5_000
    expect(await statuses(1)).toEqual([429])
  })

  it('bans callers that continue', async () => {
    const banned: string[] = []
    await serve({ max: 1, ban: 1, onBanReach: (_, key) => void banned.push(key) })
    expect(await statuses(4)).toEqual([200, 429, 403, 403])
    expect(banned).toEqual(['127.0.0.1', '127.0.0.1'])
  })

  it('restarts the window with continueExceeding', async () => {
    await serve({ max: 1, timeWindow: 1_000, continueExceeding: true })
    await statuses(1)
    for (let i = 0; i < 3; i++) {
      wait(900)
      expect(await statuses(1)).toEqual([429])
    }
    wait(1_000)
    expect(await statuses(1)).toEqual([200])
  })

  it('doubles the wait with exponentialBackoff', async () => {
    await serve({ max: 1, timeWindow: 1_000, exponentialBackoff: true })
    await statuses(1)
    const waits: unknown[] = []
    for (let i = 0; i < 4; i++) waits.push((await app.inject('/')).headers['retry-after'])
    expect(waits).toEqual(['1', '2', '4', '8'])
  })

  it('keeps a refused key, whatever else comes', async () => {
    await serve({ max: 1, cache: 16, keyGenerator: (request) => String(request.headers.key) })
    const as = async (key: string): Promise<number> => (await app.inject({ url: '/', headers: { key } })).statusCode
    expect([await as('attacker'), await as('attacker')]).toEqual([200, 429])
    for (let i = 0; i < 200; i++) await as(`other ${i}`)
    expect(await as('attacker')).toBe(429)
  })

  it('gives routes their own options, and counts them separately', async () => {
    await serve({ max: 1, global: false })
    app.get('/own', { config: { rateLimit: { max: 2 } } }, async () => 'own')
    app.get('/other', { config: { rateLimit: {} } }, async () => 'other')
    expect(await statuses(2)).toEqual([200, 200])
    expect(await statuses(3, '/own')).toEqual([200, 200, 429])
    expect(await statuses(2, '/other')).toEqual([200, 429])
  })

  it('refuses options of a route that are none', async () => {
    await serve()
    expect(() => app.get('/bad', { config: { rateLimit: true as never } }, async () => '')).toThrow(
      'Unknown value for route rate-limit configuration',
    )
  })

  it('counts a request once, however many hooks it meets', async () => {
    await serve({ max: 2 })
    app.get('/twice', { preHandler: [app.rateLimit(), app.rateLimit()] }, async () => 'twice')
    expect((await app.inject('/twice')).headers['x-ratelimit-remaining']).toBe('1')
  })

  it('has a hook that can be called by hand', async () => {
    await serve({ global: false })
    const hook = app.rateLimit({ max: 1 })
    app.get('/hand', async function (request, reply) {
      await hook.call(this, request, reply)
      return 'hand'
    })
    expect(await statuses(2, '/hand')).toEqual([200, 429])
  })

  it('checks without refusing, and looks without counting', async () => {
    await serve({ global: false })
    const check = app.createRateLimit({ max: 1, timeWindow: 1_000, ban: 0 })
    app.get('/check', (request) => check(request, { increment: request.headers.look === undefined }))
    const state = async (headers = {}): Promise<RateLimitState> => (await app.inject({ url: '/check', headers })).json()
    const key = '127.0.0.1'
    const rest = { isAllowed: false, key, max: 1, timeWindow: 1_000 }
    expect(await state({ look: '' })).toEqual({
      ...rest,
      remaining: 1,
      ttl: 0,
      ttlInSeconds: 0,
      isExceeded: false,
      isBanned: false,
    })
    await state()
    expect(await state()).toMatchObject({ remaining: 0, isExceeded: true, isBanned: true })
  })

  it('sends the fields of a draft, and leaves out what is not wanted', async () => {
    await serve({
      max: 1,
      enableDraftSpec: true,
      addHeadersOnExceeding: { 'ratelimit-reset': false },
      addHeaders: { 'retry-after': false },
    })
    const { headers } = await app.inject('/')
    expect([headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual(['1', '0'])
    expect([headers['ratelimit-reset'], headers['x-ratelimit-limit']]).toEqual([undefined, undefined])
    expect((await app.inject('/')).headers['retry-after']).toBeUndefined()
  })

  it('reports every hit, within the limit and beyond', async () => {
    const received: string[] = []
    await serve({
      max: 1,
      onExceeding: (_: FastifyRequest, key) => void received.push(`within ${key}`),
      onExceeded: (_, key) => void received.push(`beyond ${key}`),
    })
    await statuses(2)
    expect(received).toEqual(['within 127.0.0.1', 'beyond 127.0.0.1'])
  })

  it('answers with what errorResponseBuilder makes, and never lets a refused request pass for want of it', async () => {
    await serve({ max: 0, errorResponseBuilder: (_, { max, after, ban }) => ({ statusCode: 418, max, after, ban }) })
    expect((await app.inject('/')).json()).toEqual({ statusCode: 418, max: 0, after: '1 minute', ban: false })
    await app.close()
    await serve({ max: 0, errorResponseBuilder: () => undefined as never })
    expect(await statuses(1)).toEqual([500])
  })

  it('counts in a store of the app', async () => {
    const stores: string[] = []
    class Store {
      readonly #name: string
      #current = 0
      constructor(options: object) {
        this.#name = String((options as { routeInfo?: { url?: string } }).routeInfo?.url ?? 'plugin')
        stores.push(this.#name)
      }
      incr(_: string, callback: (error: Error | null, result?: { current: number; ttl: number }) => void, ttl: number) {
        if (this.#name === '/broken') callback(new Error('broken'))
        else callback(null, { current: ++this.#current, ttl })
      }
      child(options: object) {
        return new Store(options)
      }
    }
    await serve({ max: 1, store: Store })
    app.get('/broken', { config: { rateLimit: {} } }, async () => 'never')
    app.get('/skipped', { config: { rateLimit: { skipOnError: true } } }, async () => 'skipped')
    expect(await statuses(2)).toEqual([200, 429])
    expect(await statuses(1, '/broken')).toEqual([500])
    expect(stores).toEqual(['plugin', '/broken', '/skipped'])
  })

  it.each([
    ['203.0.113.7', 64, '203.0.113.7'],
    ['::ffff:102:304', 64, '1.2.3.4'],
    ['2001:DB8:1:2:3::4', 64, '2001:db8:1:2::'],
    ['2001:db8:1:2:3::4', 48, '2001:db8:1::'],
    ['2001:db8:1:2:3::4', 128, '2001:db8:1:2:3::4'],
    ['Nobody', 64, 'nobody'],
  ])('normalizes %s by /%i to %s', async (ip, bits, key) => {
    app = fastify()
    expect(normalizeIP(ip, bits)).toBe(key)
  })
})
