import type { RequestHandler, Response } from 'express'
import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { type RunningApp, runApp } from '../../middleware/express/express-app.suite.ts'
import { type HitOptions, rateLimit, SluiceStore } from './index.ts'

let running: RunningApp | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe('sluice/compat/express-rate-limit, beyond what express-rate-limit does', () => {
  const serveHits = async (...options: HitOptions[]): Promise<RunningApp['get']> => {
    running = await runApp(...options.map((each) => rateLimit(each)))
    return running.get
  }

  it('sends the current and the legacy fields where no option says anything about fields', async () => {
    const get = await serveHits({ windowMs: 900_000, limit: 100 })
    const { headers } = await get()
    expect(headers).toMatchObject({
      'ratelimit-policy': '"100-in-15min";q=100;w=900',
      ratelimit: '"100-in-15min";r=99;t=900',
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '99',
    })
  })

  it('sends the current fields alone when configured so, under the name that is wanted, which cannot break out', async () => {
    const get = await serveHits({ standardHeaders: 'current', legacyHeaders: false, identifier: 'a"\r\nSet-Cookie: b' })
    const { headers } = await get()
    expect(headers.ratelimit).toBe('"a%22%0D%0ASet-Cookie: b";r=4;t=60')
    expect(headers['set-cookie']).toBeUndefined()
    expect(headers['x-ratelimit-limit']).toBeUndefined()
  })

  it('lists the policies of several limiters, the tightest first', async () => {
    const get = await serveHits({ windowMs: 86_400_000, limit: 1_000 }, { limit: 5 })
    const { headers } = await get()
    expect(parseList(headers.ratelimit).map(([name]) => name)).toEqual(['5-in-1min', '1000-in-1day'])
    expect(headers['x-ratelimit-limit']).toBe('5')
  })

  it('speaks problem+json to callers who ask for it, unless the app has its own words', async () => {
    const accept = { accept: 'application/problem+json' }
    const get = await serveHits({ limit: 0, validate: false })
    const { status, headers, body } = await get('/', accept)
    expect([status, headers['content-type']]).toEqual([429, 'application/problem+json'])
    expect(JSON.parse(body)).toMatchObject({
      status: 429,
      detail: 'Rate limit exceeded for GET /. Retry after 60 seconds.',
      'violated-policies': ['0-in-1min'],
    })
    await running?.close()
    const other = await serveHits({ limit: 0, validate: false, message: 'mine' })
    expect((await other('/', accept)).body).toBe('mine')
  })

  /** A store that answers when the test says so. */
  const slowStore = (resetTime: Date | undefined) => {
    const calls: string[] = []
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const increment = async () => {
      calls.push('+')
      await answered
      return { totalHits: 1, resetTime }
    }
    return { calls, answer, store: { increment, decrement: () => void calls.push('-'), resetKey: () => {} } }
  }

  it('takes nothing back from the next window', async () => {
    const { calls, answer, store } = slowStore(new Date(Date.now() - 1))
    answer()
    const get = await serveHits({ store, skipFailedRequests: true })
    expect([(await get('/error')).status, calls]).toEqual([400, ['+']])
  })

  it('takes back the hit of a client that left while the store was asked', async () => {
    const { calls, answer, store } = slowStore(undefined)
    let hasLeft = false
    const look: RequestHandler = (_request, response, next) => {
      response.once('close', () => {
        hasLeft = true
      })
      next()
    }
    running = await runApp(look, rateLimit({ store, skipFailedRequests: true }))
    const client = running.visit('/hang')
    await until('the store is asked', () => calls.length === 1)
    client.leave()
    await until('the client has left', () => hasLeft)
    answer()
    await until('the hit is taken back', () => calls.length === 2)
    expect(calls).toEqual(['+', '-'])
  })

  it.each([
    ['a number', 1],
    ['a function', () => 1],
  ])('forgets no one who is being refused for a flood of new keys, where the limit is %s', async (_, limit) => {
    const store = new SluiceStore({ maxKeys: 1_000 })
    const get = await serveHits({ limit, store, keyGenerator: () => 'attacker' })
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    for (let i = 0; i < 10_000; i++) await store.increment(`new ${i}`)
    expect((await get()).status).toBe(429)
  })

  it('keeps the hit of a client that leaves, where only successful requests are free', async () => {
    const limiter = rateLimit({ limit: 2, keyGenerator: () => 'k', skipSuccessfulRequests: true })
    running = await runApp(limiter)
    const responses: Response[] = []
    running.app.get('/late', (_, response) => void responses.push(response))
    for (const count of [1, 2]) {
      const client = running.visit('/late')
      await until('the request is counted', () => responses.length === count)
      client?.leave()
      await until('the client has left', () => responses[count - 1].closed)
    }
    expect((await running.get('/error')).status).toBe(429)
  })

  it('keeps the hit of a client that leaves, and refunds an answer that breaks, if configured', async () => {
    const limiter = rateLimit({
      limit: 5,
      keyGenerator: () => 'k',
      skipFailedRequests: true,
      skipAbortedRequests: false,
    })
    running = await runApp(limiter)
    const { get } = running
    const hits = (): number | undefined => (limiter.getKey('k') as { totalHits: number } | undefined)?.totalHits
    const responses: Response[] = []
    running.app.get('/late', (_, response) => void responses.push(response))
    const client = running.visit('/late')
    await until('the request is counted', () => responses.length === 1)
    client?.leave()
    await until('the client has left', () => responses[0].closed)
    responses[0].on('error', () => {})
    responses[0].emit('error', new Error('written to no one'))
    responses[0].status(500).end()
    await get('/crash').catch(() => {})
    await until('the hit of the answer is taken back', () => hits() === 1)
    await get('/error')
    expect(hits()).toBe(1)
  })
})
