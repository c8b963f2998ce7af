import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RateLimitError } from '../errors.ts'
import { CheckRequestError, createCheckClient } from './check-client.ts'

const REQUEST = { domain: 'api', descriptors: [{ entries: [{ key: 'jobs', value: 'alice' }] }] }
const TTL_MS = 60_000
const THIRD_MS = 20_000
const taken = (lease: string) => ({ allowed: true, verdicts: [], lease, leaseTtlMs: TTL_MS })
const REFUSED = { allowed: false, verdicts: [], reason: 'jobs: 1 of 1 in use', retryAfterMs: 5_000 }
const RENEWED = { leases: [{ renewed: true }] }
const EXPIRED = { leases: [{ renewed: false, error: { code: 'LEASE_EXPIRED' } }] }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Answers = Record<string, (() => [status: number, body?: unknown] | Promise<never>)[]>

/**
 * Makes a client whose service answers each path in this order, the last one again and again, and what it was asked.
 */
function holding(answers: Answers, failed?: (error: unknown) => void) {
  const asked: string[] = []
  const client = createCheckClient({
    url: 'http://sluice.example',
    ...(failed && { failed }),
    fetch: async (input, init) => {
      const { pathname } = new URL(String(input))
      const { lease, leases } = JSON.parse(String(init?.body))
      asked.push([pathname, lease ?? leases?.[0]].filter(Boolean).join(' '))
      const [next, ...others] = answers[pathname]
      if (others.length > 0) answers[pathname] = others
      const [status, body] = await next()
      return new Response(body === undefined ? null : JSON.stringify(body), { status })
    },
  })
  return { client, asked }
}

/** someWork is work that ends when it is told to. */
function someWork() {
  let end = (_: string): void => {}
  let fail = (_: Error): void => {}
  const result = new Promise<string>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  let signal: AbortSignal | undefined
  const work = (holder: { signal: AbortSignal }): Promise<string> => {
    signal = holder.signal
    return result
  }
  return { work, end, fail, aborted: () => signal?.reason }
}

const RELEASED = [() => [204] as [number]]

describe('hold', () => {
  it('renews while the work runs, gives back when it ends, and returns what it returned', async () => {
    const { client, asked } = holding({
      '/v1/acquire': [() => [200, taken('a')]],
      '/v1/renew': [() => [200, RENEWED]],
      '/v1/release': RELEASED,
    })
    const { work, end } = someWork()
    const result = client.hold(REQUEST, work)
    await vi.advanceTimersByTimeAsync(THIRD_MS - 1)
    expect(asked).toEqual(['/v1/acquire'])
    await vi.advanceTimersByTimeAsync(1 + 2 * THIRD_MS)
    expect(asked.slice(1)).toEqual(['/v1/renew a', '/v1/renew a', '/v1/renew a'])
    end('done')
    expect(await result).toBe('done')
    expect(asked.slice(4)).toEqual(['/v1/release a'])
    await vi.advanceTimersByTimeAsync(10 * TTL_MS)
    expect(asked).toHaveLength(5)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('throws a refusal, and does not begin', async () => {
    const { client, asked } = holding({ '/v1/acquire': [() => [429, REFUSED]] })
    const work = vi.fn()
    const error = await client.hold(REQUEST, work).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ reason: 'refused', message: 'jobs: 1 of 1 in use', retryAfterMs: 5_000 })
    expect(work).not.toHaveBeenCalled()
    expect(asked).toEqual(['/v1/acquire'])
  })

  it('gives back when the work throws, synchronously or later', async () => {
    const answers = () => ({ '/v1/acquire': [() => [200, taken('a')]], '/v1/release': RELEASED }) as Answers
    const first = holding(answers())
    const thrown = new Error('broken')
    await expect(
      first.client.hold(REQUEST, () => {
        throw thrown
      }),
    ).rejects.toBe(thrown)
    expect(first.asked).toEqual(['/v1/acquire', '/v1/release a'])
    const second = holding(answers())
    const { work, fail } = someWork()
    const result = second.client.hold(REQUEST, work)
    fail(thrown)
    await expect(result).rejects.toBe(thrown)
    expect(second.asked).toEqual(['/v1/acquire', '/v1/release a'])
  })

  it('takes lost places again, renews and gives back those', async () => {
    const { client, asked } = holding({
      '/v1/acquire': [() => [200, taken('a')], () => [200, taken('b')]],
      '/v1/renew': [() => [200, EXPIRED], () => [200, RENEWED]],
      '/v1/release': RELEASED,
    })
    const { work, end, aborted } = someWork()
    const result = client.hold(REQUEST, work)
    await vi.advanceTimersByTimeAsync(2 * THIRD_MS)
    end('done')
    await result
    expect(asked).toEqual(['/v1/acquire', '/v1/renew a', '/v1/acquire', '/v1/renew b', '/v1/release b'])
    expect(aborted()).toBeUndefined()
  })

  it('notifies the work when its permits are lost, and none are left', async () => {
    const { client, asked } = holding({
      '/v1/acquire': [() => [200, taken('a')], () => [429, REFUSED]],
      '/v1/renew': [() => [200, EXPIRED]],
      '/v1/release': RELEASED,
    })
    const { work, end, aborted } = someWork()
    const result = client.hold(REQUEST, work)
    await vi.advanceTimersByTimeAsync(5 * TTL_MS)
    expect(aborted()).toMatchObject({ name: 'RateLimitError', message: 'jobs: 1 of 1 in use' })
    expect(asked).toEqual(['/v1/acquire', '/v1/renew a', '/v1/acquire'])
    end('done')
    expect(await result).toBe('done')
  })

  it('continues when a renewal fails in any way, and tries the next', async () => {
    const failed = vi.fn()
    const { client, asked } = holding(
      {
        '/v1/acquire': [() => [200, taken('a')]],
        '/v1/renew': [
          () => [503, {}],
          () => Promise.reject(new Error('no network')),
          () => [403, { code: 'FORBIDDEN', detail: 'no' }],
          () => [200, RENEWED],
        ],
        '/v1/release': [() => [403, { code: 'FORBIDDEN', detail: 'no' }]],
      },
      failed,
    )
    const { work, end, aborted } = someWork()
    const result = client.hold(REQUEST, work)
    await vi.advanceTimersByTimeAsync(4 * THIRD_MS)
    expect(asked).toEqual(['/v1/acquire', ...Array(4).fill('/v1/renew a')])
    end('done')
    expect(await result).toBe('done')
    expect(aborted()).toBeUndefined()
    expect(failed.mock.calls.map(([error]) => error instanceof CheckRequestError)).toEqual([false, false, true, true])
  })

  it('gives back what a renewal in flight takes again after the work has ended', async () => {
    let answer = (): void => {}
    const later = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { client, asked } = holding({
      '/v1/acquire': [() => [200, taken('a')], () => later.then(() => [200, taken('b')]) as Promise<never>],
      '/v1/renew': [() => [200, EXPIRED]],
      '/v1/release': RELEASED,
    })
    const { work, end } = someWork()
    const result = client.hold(REQUEST, work)
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    end('done')
    await vi.advanceTimersByTimeAsync(0)
    expect(asked).toEqual(['/v1/acquire', '/v1/renew a', '/v1/acquire'])
    answer()
    expect(await result).toBe('done')
    expect(asked.slice(3)).toEqual(['/v1/release b'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('has nothing to renew where no rule has places, and none while the service is unavailable', async () => {
    const { client, asked } = holding({ '/v1/acquire': [() => [200, { allowed: true, verdicts: [] }]] })
    expect(await client.hold(REQUEST, () => vi.getTimerCount())).toBe(0)
    expect(asked).toEqual(['/v1/acquire'])
    const away = holding({ '/v1/acquire': [() => [503, {}]] })
    expect(await away.client.hold(REQUEST, ({ permit }) => permit.failure instanceof Error)).toBe(true)
  })
})

describe('acquire', () => {
  const answers = (): Answers => ({
    '/v1/acquire': [() => [200, taken('a')], () => [200, taken('b')], () => [429, REFUSED]],
    '/v1/renew': [() => [200, RENEWED], () => [200, EXPIRED]],
    '/v1/release': RELEASED,
  })

  it('renews until the permit is released, and releases what it holds by then', async () => {
    const { client, asked } = holding(answers())
    const permit = await client.acquire(REQUEST)
    await vi.advanceTimersByTimeAsync(2 * THIRD_MS)
    expect(asked).toEqual(['/v1/acquire', '/v1/renew a', '/v1/renew a', '/v1/acquire'])
    expect(permit.signal.aborted).toBe(false)
    await permit.release()
    expect(asked.slice(4)).toEqual(['/v1/release b'])
    await vi.advanceTimersByTimeAsync(10 * TTL_MS)
    expect(asked).toHaveLength(5)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('aborts the signal when what was lost cannot be acquired again, and renews no more', async () => {
    const { client, asked } = holding(answers())
    const permit = await client.acquire(REQUEST)
    await vi.advanceTimersByTimeAsync(3 * THIRD_MS)
    expect(permit.signal.reason).toMatchObject({ name: 'RateLimitError', retryAfterMs: 5_000 })
    const before = asked.length
    await vi.advanceTimersByTimeAsync(10 * TTL_MS)
    expect(asked).toHaveLength(before)
  })

  it('renews nothing for a refusal', async () => {
    const { client } = holding({ '/v1/acquire': [() => [429, REFUSED]] })
    expect((await client.acquire(REQUEST)).allowed).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })
})
