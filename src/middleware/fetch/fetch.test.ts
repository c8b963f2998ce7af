import { describe, expect, it } from 'vitest'
import { testAdapter } from '../adapter.suite.ts'
import { fetchHandler, serveFetch } from './fetch-app.suite.ts'
import { type FetchOptions, protect, rateLimit } from './index.ts'

testAdapter({
  name: 'sluice/fetch',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as FetchOptions))
    const handler = limiters.reduceRight((inner, limiter) => limiter.protect(inner), fetchHandler(routes))
    return { ...(await serveFetch(handler)), limiters }
  },
  header: (request, name) => (request as Request).headers.get(name) ?? undefined,
})

const get = (headers: Record<string, string> = {}): Request => new Request('http://localhost/a?b', { headers })
const ok = async (): Promise<Response> => new Response('ok')

describe('protect', () => {
  it('charges what a request has cost in the end', async () => {
    const limiter = rateLimit({ limit: 8, window: '1h', algorithm: 'sliding_log', refund: 'failure' })
    const checked = await limiter.check(new Request('http://localhost/'))
    expect((await checked.settle(5))?.tightest?.verdict.remaining).toBe(3)
    expect(await checked.settle(5)).toBeUndefined()
    await expect(checked.settle(-1)).rejects.toThrow('COST_INVALID')
    // A failure gives back what it came to, and leaves nothing to settle.
    checked.end(500)
    expect(await checked.settle(7)).toBeUndefined()
    expect((await limiter.check(new Request('http://localhost/'))).budget?.remaining).toBe(7)
  })

  it('hands over what the runtime hands over, and returns what the handler returns', async () => {
    const seen: unknown[] = []
    const handler = protect(
      (request: Request, context: { params: Promise<{ id: string }> }, more: number) => {
        seen.push(request.url, context, more)
        return undefined
      },
      { limit: 1, window: '1m' },
    )
    const context = { params: Promise.resolve({ id: '7' }) }
    expect(await handler(get(), context, 3)).toBeUndefined()
    expect(seen).toEqual(['http://localhost/a?b', context, 3])
    expect(await handler(get(), context, 3)).toMatchObject({ status: 429 })
  })

  it('releases a place when the handler returns no answer', async () => {
    const handler = protect(() => undefined, { limit: 1, algorithm: 'concurrency' })
    expect([await handler(get()), await handler(get())]).toEqual([undefined, undefined])
  })

  it('leaves an answer that it has nothing to say about as it is', async () => {
    const answer = new Response('ok')
    const handler = protect(() => answer, { limit: 1, window: '1m', headers: false })
    expect(await handler(get())).toBe(answer)
  })

  it('adds the fields to answers whose headers cannot be changed', async () => {
    const handler = protect(() => Response.redirect('http://localhost/b', 307), { limit: 3, window: '1m' })
    const { status, headers } = await handler(get())
    expect([status, headers.get('location'), headers.get('x-ratelimit-remaining')]).toEqual([
      307,
      'http://localhost/b',
      '2',
    ])
  })

  it('releases a place when no one wants the rest of the body', async () => {
    const handler = protect(ok, { limit: 1, algorithm: 'concurrency' })
    const first = await handler(get())
    expect((await handler(get())).status).toBe(429)
    await first.body?.cancel()
    const second = await handler(get())
    expect(second.status).toBe(200)
    expect(await second.text()).toBe('ok')
    expect((await handler(get())).status).toBe(200)
  })

  it('releases a place when a body breaks, and hands the error on', async () => {
    const broken = (): Response =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.error(new Error('broken')),
        }),
      )
    const handler = protect(broken, { limit: 1, algorithm: 'concurrency' })
    await expect((await handler(get())).text()).rejects.toThrow('broken')
    expect((await handler(get())).status).toBe(200)
  })

  it('holds a request of a client that has left for nothing', async () => {
    const handler = protect(ok, { limit: 1, window: '1h', burst: 2, algorithm: 'leaky_bucket' })
    await handler(get())
    const controller = new AbortController()
    const waiting = handler(new Request('http://localhost/', { signal: controller.signal }))
    controller.abort()
    expect((await waiting).status).toBe(499)
    expect((await handler(new Request('http://localhost/', { signal: controller.signal }))).status).toBe(429)
  })

  it('leaves the refusal to a handler, with the fields on it', async () => {
    const handler = protect(ok, {
      limit: 0,
      window: '1m',
      handler: (_request, { refusal }) => new Response('mine', { status: refusal.status }),
    })
    const response = await handler(get())
    expect([response.status, await response.text(), response.headers.get('x-ratelimit-limit')]).toEqual([
      429,
      'mine',
      '0',
    ])
  })

  it('forgets a caller', async () => {
    const handler = protect(ok, { limit: 1, window: '1m', address: () => '203.0.113.7' })
    expect([(await handler(get())).status, (await handler(get())).status]).toEqual([200, 429])
    await handler.reset({ ip: '203.0.113.7' })
    expect((await handler(get())).status).toBe(200)
    await handler.close()
  })
})

describe('check', () => {
  it('returns the fields, what remains and who it is, and no response, for a request that may continue', async () => {
    const limiter = rateLimit({ limit: 2, window: '1m', identity: { apiKey: true } })
    const checked = await limiter.check(get({ 'x-api-key': 'k' }))
    expect([checked.allowed, checked.response, checked.delayMs]).toEqual([true, undefined, 0])
    expect(checked.headers.get('ratelimit-policy')).toBe('"2-in-1m";q=2;w=60')
    expect(checked.budget?.remaining).toBe(1)
    expect(checked.caller?.apiKey).toBe('k')
  })

  it('returns the response, with all fields, for one that is refused', async () => {
    const limiter = rateLimit({ limit: 0, window: '1m' })
    const { allowed, response, headers } = await limiter.check(get())
    expect([allowed, response?.status]).toEqual([false, 429])
    for (const [name, value] of headers) expect(response?.headers.get(name)).toBe(value)
    expect(await response?.json()).toMatchObject({ error: { message: 'Requests are blocked for GET /a.' } })
  })

  it('ends a request by its answer, or by a word', async () => {
    const limiter = rateLimit({ limit: 1, window: '1m', refund: 'failure' })
    const first = await limiter.check(get())
    expect((await limiter.check(get())).allowed).toBe(false)
    await first.answer(new Response('no', { status: 500 })).text()
    const second = await limiter.check(get())
    expect(second.allowed).toBe(true)
    second.end(500)
    second.end(200)
    const third = await limiter.check(get())
    expect(third.allowed).toBe(true)
    third.end(200)
    expect((await limiter.check(get())).allowed).toBe(false)
  })

  it('gives back once, however often a request is said to have ended', async () => {
    const limiter = rateLimit({ limit: 2, window: '1m', refund: 'failure' })
    const controller = new AbortController()
    const checked = await limiter.check(new Request('http://localhost/', { signal: controller.signal }))
    await limiter.check(get())
    await checked.answer(new Response('no', { status: 500 })).text()
    checked.end(500)
    controller.abort()
    expect([(await limiter.check(get())).allowed, (await limiter.check(get())).allowed]).toEqual([true, false])
  })

  it('keeps the place of a client that left until its request is said to have ended', async () => {
    const limiter = rateLimit({ limit: 1, algorithm: 'concurrency' })
    const controller = new AbortController()
    for (const signal of [AbortSignal.abort(), controller.signal]) {
      const checked = await limiter.check(new Request('http://localhost/', { signal }))
      expect(checked.allowed).toBe(true)
      controller.abort()
      expect((await limiter.check(get())).allowed).toBe(false)
      checked.end()
    }
    expect((await limiter.check(get())).allowed).toBe(true)
  })

  it('ends a request with its answer when the client has left before, or leaves while no one reads it', async () => {
    const limiter = rateLimit({ limit: 1, algorithm: 'concurrency' })
    const gone = await limiter.check(new Request('http://localhost/', { signal: AbortSignal.abort() }))
    gone.answer(new Response('late'))
    const controller = new AbortController()
    const going = await limiter.check(new Request('http://localhost/', { signal: controller.signal }))
    going.answer(new Response('unread'))
    expect((await limiter.check(get())).allowed).toBe(false)
    controller.abort()
    expect((await limiter.check(get())).allowed).toBe(true)
  })

  it.each([
    ['Deno', { remoteAddr: { hostname: '203.0.113.7' } }, 'ip:203.0.113.7'],
    ['Bun', { requestIP: () => ({ address: '2001:db8::1' }) }, 'ip:2001:db8::/64'],
    ['a runtime that provides nothing', { env: {} }, 'ip:unknown'],
  ])('knows the address on %s', async (_runtime, extra, scope) => {
    const limiter = rateLimit({ limit: 0, window: '1m' })
    const { response } = await limiter.check(get(), extra)
    expect(await response?.json()).toMatchObject({ error: { scope } })
  })

  it('uses the configured address', async () => {
    const address = (_request: Request, extra: unknown): string => (extra as { clientAddress: string }).clientAddress
    const limiter = rateLimit({ limit: 0, window: '1m', address })
    const { response } = await limiter.check(get(), { clientAddress: '203.0.113.9' })
    expect(await response?.json()).toMatchObject({ error: { scope: 'ip:203.0.113.9' } })
  })

  it('counts proxies from the right where the runtime does not provide the address of the nearest', async () => {
    const limiter = rateLimit({ limit: 1, window: '1m', identity: { trustedProxies: 1 } })
    const from = async (chain: string): Promise<boolean> =>
      (await limiter.check(get({ 'x-forwarded-for': chain }))).allowed
    expect([await from('198.51.100.1, 203.0.113.7'), await from('198.51.100.2, 203.0.113.7')]).toEqual([true, false])
    expect(await from('203.0.113.8')).toBe(true)
  })

  it('does not trust a field in place of a proxy with an unknown address', async () => {
    const limiter = rateLimit({ limit: 1, window: '1m', identity: { trustedProxies: ['loopback'] } })
    const from = async (chain: string): Promise<boolean> =>
      (await limiter.check(get({ 'x-forwarded-for': chain }))).allowed
    expect([await from('203.0.113.7'), await from('203.0.113.8')]).toEqual([true, false])
  })

  it('refuses options that it does not know', () => {
    expect(() => rateLimit({ limit: 1, windowMs: 1 } as FetchOptions)).toThrow('OPTION_UNKNOWN: windowMs')
  })
})
