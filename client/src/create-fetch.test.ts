import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { acceptsRatio } from './accepts.ts'
import { createFetch } from './create-fetch.ts'
import { RateLimitError } from './errors.ts'
import type { PacedFetchOptions, PacedInit } from './options.ts'
import type { Learnt, Share } from './tabs.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const URL_ = 'https://api.example/things'

type Answer = readonly [status: number, fields?: Record<string, string>]
const OK: Answer = [200]

interface Sent {
  readonly url: string
  readonly atMs: number
  readonly init: RequestInit
}

/** Makes a paced fetch whose server gives these answers one after the other, the last of them for ever. */
function served(answers: readonly Answer[], options: PacedFetchOptions = {}) {
  const sent: Sent[] = []
  const startedMs = performance.now()
  const fetch = createFetch({
    ...options,
    fetch: async (input, init = {}) => {
      const [status, fields = {}] = answers[Math.min(sent.length, answers.length - 1)]
      if (input instanceof Request) await input.text()
      sent.push({
        url: input instanceof Request ? input.url : String(input),
        atMs: performance.now() - startedMs,
        init,
      })
      return new Response('body', { status, headers: fields })
    },
  })
  return { fetch, sent, times: () => sent.map(({ atMs }) => Math.round(atMs)) }
}

/** Runs the clock until a call ends, and says how. */
async function outcome(call: Promise<Response>): Promise<Response | RateLimitError> {
  const ended = call.catch((error: unknown) => error as RateLimitError)
  await vi.advanceTimersByTimeAsync(600_000)
  return await ended
}

describe('a call that is refused', () => {
  it.each<[string, Answer, number]>([
    ['as Retry-After says in seconds', [429, { 'Retry-After': '7' }], 7_000],
    ['as Retry-After says in fractions', [429, { 'Retry-After': '2.5' }], 2_500],
    ['as retry-after-ms says', [429, { 'Retry-After-Ms': '40' }], 40],
    [
      'until the reset of what is used up',
      [429, { RateLimit: '"a";r=0;t=3', 'RateLimit-Policy': '"a";q=9;w=9' }],
      3_000,
    ],
    ['after a 503 with Retry-After', [503, { 'Retry-After': '4' }], 4_000],
    ['after a 403 as GitHub has it', [403, { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '9' }], 9_000],
  ])('is tried again %s', async (_, answer, waitMs) => {
    const { fetch, times } = served([answer, OK])
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 200 })
    expect(times()).toEqual([0, waitMs])
    expect(fetch.counts()).toEqual({ calls: 1, sent: 2, refused: 1, retried: 1, gaveUp: 0, waiting: 0 })
  })

  it('is tried again after what triples, where the server does not say when', async () => {
    const { fetch, times } = served([[429], [429], [429], [429], OK])
    await outcome(fetch(URL_))
    expect(times()).toEqual([0, 1_000, 4_000, 13_000, 40_000])
  })

  it('is tried again a little later at random, so that clients do not return together', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { fetch, times } = served([[429], [429], OK])
    await outcome(fetch(URL_))
    expect(times()).toEqual([0, 1_100, 4_400])
  })

  it('is not taken for refused with a 503 that says nothing, or a 403 with budget left', async () => {
    const { fetch } = served([[503], [403, { 'X-RateLimit-Remaining': '5', 'X-RateLimit-Limit': '9' }]])
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 503 })
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 403 })
  })

  it('is given up immediately when the server wants it later than the deadline', async () => {
    const { fetch } = served([[429, { 'Retry-After': '120' }]], { throwOnGiveUp: true })
    const ended = fetch(URL_, { rateLimit: { deadlineMs: 10_000 } }).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(0)
    const error = (await ended) as RateLimitError
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ reason: 'deadline', retryAfterMs: 120_000, message: 'api.example answered 429' })
    expect(await error.response?.text()).toBe('body')
  })

  it("is given up with the server's refusal, unread", async () => {
    const { fetch } = served([[403, { 'Retry-After': '120', 'X-GitHub-Request-Id': '7' }]])
    const response = await fetch(URL_, { rateLimit: { deadlineMs: 10_000 } })
    expect([response.status, response.headers.get('x-github-request-id')]).toEqual([403, '7'])
    expect(await response.text()).toBe('body')
    expect(fetch.counts()).toMatchObject({ gaveUp: 1, sent: 1 })
  })

  it('is given up with a 429 of the client where it would wait beyond its deadline, and is not sent', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After': '119.2' }]])
    await fetch(URL_, { rateLimit: { deadlineMs: 10_000 } })
    const response = await fetch(URL_, { rateLimit: { deadlineMs: 10_000 } })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '120'])
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      status: 429,
      title: 'not sent',
      detail: 'no turn by the deadline',
      reason: 'deadline',
      retryAfterMs: 119_200,
    })
    expect(sent).toHaveLength(1)
    expect(fetch.counts().gaveUp).toBe(2)
  })

  it('is given up after as many retries as it may have', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After': '1' }]], { retries: 2, throwOnGiveUp: true })
    expect(await outcome(fetch(URL_))).toMatchObject({ reason: 'refused', retryAfterMs: 1_000 })
    expect(sent).toHaveLength(3)
    expect(fetch.counts().gaveUp).toBe(1)
  })

  it('is not tried again where the server says that this makes no sense', async () => {
    const { fetch, sent } = served([[429, { 'Stripe-Should-Retry': 'false' }]], { throwOnGiveUp: true })
    expect(await outcome(fetch(URL_))).toMatchObject({ reason: 'refused' })
    expect(sent).toHaveLength(1)
  })

  it.each<[string, PacedInit, number]>([
    ['POST', { method: 'POST' }, 1],
    ['post', { method: 'post' }, 1],
    ['PATCH', { method: 'PATCH' }, 1],
    ['POST with an Idempotency-Key', { method: 'POST', headers: { 'Idempotency-Key': '1' } }, 2],
    ['PUT', { method: 'PUT', body: 'text' }, 2],
    ['PUT of a stream', { method: 'PUT', body: new ReadableStream() }, 1],
    ['DELETE', { method: 'delete' }, 2],
  ])('is sent as often as does no harm: %s', async (_, init, times) => {
    const { fetch, sent } = served([[429, { 'Retry-After': '1' }], OK])
    await outcome(fetch(URL_, init))
    expect(sent).toHaveLength(times)
  })

  it('is sent twice as a Request without a body, and once with one', async () => {
    const bare = served([[429, { 'Retry-After': '1' }], OK])
    await outcome(bare.fetch(new Request(URL_)))
    expect(bare.sent).toHaveLength(2)
    const full = served([[429, { 'Retry-After': '1' }], OK])
    await outcome(full.fetch(new Request(URL_, { method: 'PUT', body: 'text' })))
    expect(full.sent).toHaveLength(1)
  })

  it('is sent twice with a method that was named', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After': '1' }], OK], { retryMethods: ['POST'] })
    await outcome(fetch(URL_, { method: 'POST' }))
    expect(sent).toHaveLength(2)
  })

  it('is tried again for at most a fifth of the calls', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After-Ms': '1' }]])
    for (let i = 0; i < 500; i++) await outcome(fetch(URL_))
    // After a hundred that were saved up.
    expect(sent.length).toBeLessThanOrEqual(500 + 100 + 100)
  })

  it('holds back all other calls to the same server, and none to another', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After': '5' }], OK])
    const calls = [fetch(URL_)]
    await vi.advanceTimersByTimeAsync(1)
    calls.push(fetch(`${URL_}/2`), fetch('https://other.example/'))
    await vi.advanceTimersByTimeAsync(10)
    expect(sent.map(({ url }) => url)).toEqual([URL_, 'https://other.example/'])
    await vi.advanceTimersByTimeAsync(600_000)
    await Promise.all(calls)
  })
})

describe('a call that ends early', () => {
  it('is ended by its signal while it waits, and is not sent', async () => {
    const { fetch, sent } = served([[429, { 'Retry-After': '5' }], OK])
    const controller = new AbortController()
    const ended = fetch(URL_, { signal: controller.signal }).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(1_000)
    controller.abort()
    expect(await ended).toMatchObject({ name: 'AbortError' })
    expect(sent).toHaveLength(1)
    expect(fetch.counts().waiting).toBe(0)
  })

  it('is not sent with a signal that has ended', async () => {
    const { fetch, sent } = served([OK])
    await expect(fetch(URL_, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(sent).toHaveLength(0)
  })

  it('is ended at its deadline when no answer comes, and keeps no other back', async () => {
    const sent: AbortSignal[] = []
    const fetch = createFetch({
      fetch: (_, init) =>
        new Promise((_resolve, reject) => {
          sent.push(init?.signal as AbortSignal)
          init?.signal?.addEventListener('abort', () => reject(new DOMException('other', 'AbortError')))
        }),
    })
    const calls = Array.from({ length: 5 }, (_, i) =>
      fetch(URL_, { rateLimit: { deadlineMs: i < 4 ? 900 : 800 } }).catch((e: unknown) => e),
    )
    await vi.advanceTimersByTimeAsync(900)
    for (const call of calls) expect(await call).toMatchObject({ name: 'RateLimitError', reason: 'timeout' })
    expect(sent).toHaveLength(4)
    expect(fetch.counts()).toMatchObject({ waiting: 0, gaveUp: 5 })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('passes on what fetch throws', async () => {
    const fetch = createFetch({ fetch: () => Promise.reject(new TypeError('fetch failed')) })
    await expect(fetch(URL_)).rejects.toThrow(new TypeError('fetch failed'))
  })

  it('by an error of the network takes nothing of what others may send', async () => {
    let sent = 0
    const fetch = createFetch({
      fetch: async () => {
        if (sent++ < 20) throw new TypeError('fetch failed')
        return new Response('body')
      },
    })
    /** How a call ends at once. */
    const ended = async (): Promise<unknown> => {
      const call = fetch(URL_).then(
        ({ status }) => status,
        ({ message }: Error) => message,
      )
      await vi.advanceTimersByTimeAsync(0)
      return Promise.race([call, 'it waits'])
    }
    for (let i = 0; i < 20; i++) expect(await ended()).toBe('fetch failed')
    expect(await ended()).toBe(200)
  })

  it('by an error of the network lets those go that waited for it', async () => {
    const fails: (() => void)[] = []
    const fetch = createFetch({
      fetch: () => new Promise((_, reject) => fails.push(() => reject(new TypeError('fetch failed')))),
    })
    const calls = Array.from({ length: 5 }, () => fetch(URL_).catch((error: unknown) => error))
    await vi.advanceTimersByTimeAsync(0)
    expect(fails).toHaveLength(4)
    fails[0]()
    await vi.advanceTimersByTimeAsync(0)
    expect(fails).toHaveLength(5)
    for (const fail of fails) fail()
    await Promise.all(calls)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('an answer that is not read', () => {
  it('is cancelled before the call is sent again, and left alone where it is the last', async () => {
    const cancelled: number[] = []
    let sent = 0
    const fetch = createFetch({
      retries: 2,
      fetch: async () => {
        const number = sent++
        const body = new ReadableStream({ cancel: () => void cancelled.push(number) })
        return new Response(body, { status: 429, headers: { 'Retry-After': '1' } })
      },
    })
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 429 })
    expect([sent, cancelled]).toEqual([3, [0, 1]])
  })
})

describe('what calls are distinguished by', () => {
  const EMPTY: Answer = [200, { RateLimit: '"a";r=0;t=5', 'RateLimit-Policy': '"a";q=9;w=9' }]

  it.each<[string, PacedInit, PacedInit, number]>([
    ['nothing', {}, {}, 1],
    ['Authorization', { headers: { Authorization: 'Bearer a' } }, { headers: { Authorization: 'Bearer b' } }, 2],
    ['X-API-Key', { headers: { 'X-API-Key': 'a' } }, { headers: { 'X-API-Key': 'b' } }, 2],
    ['their own word', { rateLimit: { partition: 'a' } }, { rateLimit: { partition: 'b' } }, 2],
  ])('%s', async (_, first, second, atOnce) => {
    const { fetch, sent } = served([EMPTY])
    await fetch(URL_, first)
    void fetch(URL_, second)
    await vi.advanceTimersByTimeAsync(10)
    expect(sent).toHaveLength(atOnce)
    await vi.advanceTimersByTimeAsync(60_000)
  })

  it('a function', async () => {
    const { fetch, sent } = served([EMPTY], { partition: ({ pathname }) => pathname })
    await fetch(URL_)
    await fetch(`${URL_}/other`)
    expect(sent).toHaveLength(2)
  })

  it('a thousand servers, and forgets the ones at which no call waits', async () => {
    const { fetch, sent } = served([EMPTY, OK], { partition: ({ pathname }) => pathname })
    await fetch(URL_)
    const waiting = fetch(URL_)
    for (let i = 0; i < 1_001; i++) await fetch(`${URL_}/${i}`)
    expect([fetch.counts().waiting, sent.length]).toEqual([1, 1_002])
    expect(await outcome(waiting)).toMatchObject({ status: 200 })
    expect(sent).toHaveLength(1_003)
  })
})

describe('what a call costs', () => {
  it('is taken of the budget that counts it', async () => {
    const left: Answer = [
      200,
      { 'x-ratelimit-remaining-tokens': '500', 'x-ratelimit-limit-tokens': '600', 'x-ratelimit-reset-tokens': '6s' },
    ]
    const { fetch, times } = served([left])
    await fetch(URL_)
    void fetch(URL_, { rateLimit: { cost: { tokens: 501 } } })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(times()).toEqual([0, 6_000])
  })

  it.each([Number.NaN, -1])('is refused when it is %s', async (cost) => {
    const { fetch } = served([OK])
    const message = `requests must be a number of 0 or more, not ${cost}`
    await expect(fetch(URL_, { rateLimit: { cost } })).rejects.toThrow(new TypeError(message))
  })
})

describe('options', () => {
  it.each<[string, object, string]>([
    ['NaN', { deadlineMs: Number.NaN }, 'deadlineMs must be a number of 0 or more, not NaN'],
    ['below 0', { maxWaiting: -1 }, 'maxWaiting must be a number of 0 or more, not -1'],
    ['text for a number', { retries: '5' }, 'retries must be a number of 0 or more, not "5"'],
    ['null', { retryShare: null }, 'retryShare must be a number of 0 or more, not null'],
    ['text for a function', { partition: 'url' }, 'partition must be a function, not "url"'],
    ['text for a boolean', { throwOnGiveUp: 'no' }, 'throwOnGiveUp must be a boolean, not "no"'],
    ['unknown', { deadline: 5 }, 'unknown option deadline; known are fetch, deadlineMs, retries, retryShare, '],
    ['of every object', { constructor: 5 }, 'unknown option constructor; known are fetch'],
  ])('are refused when they are %s', (_, options, message) => {
    expect(() => createFetch(options)).toThrow(TypeError)
    expect(() => createFetch(options)).toThrow(message)
  })

  it.each<[string, object, string]>([
    ['unknown', { deadline: 5 }, 'unknown option deadline; known are cost, priority, deadlineMs, partition'],
    ['text', { priority: 'high' }, 'priority must be a number, not "high"'],
    ['NaN', { priority: Number.NaN }, 'priority must be a number, not NaN'],
    ['text in a cost', { cost: { tokens: '5' } }, 'tokens must be a number of 0 or more, not "5"'],
    ['a cost of null', { cost: null }, 'requests must be a number of 0 or more, not null'],
  ])('of a call are refused when they are %s', async (_, rateLimit, message) => {
    const { fetch, sent } = served([OK])
    await expect(fetch(URL_, { rateLimit } as PacedInit)).rejects.toThrow(new TypeError(message))
    expect(sent).toEqual([])
  })

  it('that are undefined are left out', async () => {
    const { fetch } = served([OK], { deadlineMs: undefined, retries: undefined } as object)
    expect(await outcome(fetch(URL_, { rateLimit: { priority: -1, cost: undefined } as object }))).toMatchObject({
      status: 200,
    })
  })

  it('may name no deadline', async () => {
    const { fetch, times } = served([[429, { 'Retry-After': '500' }], OK], { deadlineMs: Number.POSITIVE_INFINITY })
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 200 })
    expect(times()).toEqual([0, 500_000])
  })
})

describe('throttle', () => {
  it('drops calls to a server that refuses most and announces no limits', async () => {
    const { fetch, sent } = served([[429]], { throttle: acceptsRatio, retries: 0, throwOnGiveUp: true })
    const reasons = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const ended = fetch(URL_).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(30_000)
      const error = await ended
      if (error instanceof RateLimitError) reasons.add(error.reason)
    }
    expect(reasons).toEqual(new Set(['refused', 'throttled']))
    expect(sent.length).toBeLessThan(5)
  })

  it('drops nothing by default', async () => {
    const { fetch, sent } = served([[429]], { retries: 0 })
    for (let i = 0; i < 20; i++) await outcome(fetch(URL_))
    expect(sent).toHaveLength(20)
  })
})

describe('share', () => {
  /** Makes two ends: what one tells, the other hears. */
  function linked(): readonly [Share, Share] {
    const ends: ((learnt: Learnt) => void)[] = []
    const end = (at: number): Share => ({
      publish: (learnt) => ends[1 - at](structuredClone(learnt)),
      hear: (received) => {
        ends[at] = received
      },
      close: () => {},
    })
    return [end(0), end(1)]
  }

  it('shares what one learned: what remains, and refusals', async () => {
    const [here, there] = linked()
    const first = served([[429, { 'Retry-After': '5' }], OK], { share: here })
    const second = served([OK], { share: there })
    void first.fetch(URL_)
    await vi.advanceTimersByTimeAsync(1)
    void second.fetch(URL_)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(second.times()).toEqual([5_000])
  })
})

describe('hooks', () => {
  it('hear of waits and refusals', async () => {
    const on = { waited: vi.fn(), refused: vi.fn() }
    const { fetch } = served([[429, { 'Retry-After': '2' }], OK], { on })
    await outcome(fetch(URL_))
    expect(on.refused.mock.calls).toEqual([[{ url: URL_, status: 429, retryInMs: 2_000 }]])
    expect(on.waited.mock.calls).toEqual([[{ url: URL_, waitedMs: 2_000 }]])
  })

  it('change nothing when they throw', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const fail = () => {
      throw new Error('a bug of the hook')
    }
    const { fetch } = served([[429, { 'Retry-After': '2' }], OK], { on: { waited: fail, refused: fail } })
    expect(await outcome(fetch(URL_))).toMatchObject({ status: 200 })
    expect(logged).toHaveBeenCalledTimes(2)
  })
})

describe('a server that lies', () => {
  it.each<[string, Record<string, string>]>([
    ['below 0', { 'RateLimit-Limit': '-5', 'RateLimit-Remaining': '-1', 'RateLimit-Reset': '-100' }],
    [
      'beyond all numbers',
      { 'RateLimit-Limit': '9'.repeat(400), 'RateLimit-Remaining': '1e999', 'RateLimit-Reset': 'Infinity' },
    ],
    ['no limit at all', { 'X-RateLimit-Limit': '0', 'X-RateLimit-Reset': '0' }],
    ['more left than there is', { RateLimit: '"a";r=1000000;t=1', 'RateLimit-Policy': '"a";q=1;w=1' }],
    ['a window of nothing', { RateLimit: '"a";r=5;t=0', 'RateLimit-Policy': '"a";q=1;w=0' }],
    ['two things together', { RateLimit: '"a";r=5;t=1, "a";r=0;t=0', 'X-RateLimit-Remaining': '99' }],
    ['not a word', {}],
  ])('%s has every call end', async (_, fields) => {
    const { fetch } = served([[200, fields]])
    const ends = Promise.all(Array.from({ length: 50 }, () => fetch(URL_)))
    await vi.advanceTimersByTimeAsync(60_000)
    expect((await ends).map(({ status }) => status)).toEqual(Array(50).fill(200))
  })

  it('that nothing is left for ever has a call say so immediately, and is asked again after an hour', async () => {
    const { fetch, sent } = served([[200, { RateLimit: '"a";r=0;t=999999999', 'RateLimit-Policy': '"a";q=1;w=1' }], OK])
    await fetch(URL_)
    expect(await (await fetch(URL_)).json()).toMatchObject({ reason: 'deadline', retryAfterMs: 3_600_000 })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await fetch(URL_)).toMatchObject({ status: 200 })
    expect(sent).toHaveLength(2)
  })
})
