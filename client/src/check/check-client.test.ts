import { describe, expect, it, vi } from 'vitest'
import { type CheckClientOptions, CheckRequestError, createCheckClient, orThrow } from './check-client.ts'

const ASKED = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
const REQUEST = { ...ASKED, cost: 2 }
const ALLOWED = { allowed: true, rule: 'per-user', verdicts: [] }

/** Makes a client whose service gives these answers, and what it was asked. */
function answering(
  answers: readonly (readonly [status: number, body?: unknown])[],
  options: Partial<CheckClientOptions> = {},
) {
  const asked: { url: string; headers: Record<string, string>; body: unknown }[] = []
  const client = createCheckClient({
    url: 'http://sluice.example:8080',
    ...options,
    fetch: async (input, init) => {
      const [status, body] = answers[Math.min(asked.length, answers.length - 1)]
      asked.push({
        url: String(input),
        headers: init?.headers as Record<string, string>,
        body: JSON.parse(String(init?.body)),
      })
      return new Response(body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body), {
        status,
      })
    },
  })
  return { client, asked }
}

describe('check', () => {
  it('asks the service as it is, and returns its decision', async () => {
    const { client, asked } = answering([[200, ALLOWED]], { token: 'a-token' })
    expect(await client.check(REQUEST)).toEqual(ALLOWED)
    const headers = { 'content-type': 'application/json', authorization: 'Bearer a-token' }
    expect(asked).toEqual([{ url: 'http://sluice.example:8080/v1/check', headers, body: REQUEST }])
  })

  it('returns a refusal as a value, whatever its status', async () => {
    const refused = { allowed: false, retryAfterMs: 5, verdicts: [], reason: 'why' }
    const { client } = answering([
      [429, refused],
      [403, refused],
    ])
    expect(await client.check(REQUEST)).toEqual(refused)
    expect(await client.check(REQUEST)).toEqual(refused)
    expect(() => orThrow({ ...refused })).toThrow('why')
  })

  it('throws for a request that the service does not take', async () => {
    const { client } = answering([[400, { code: 'REQUEST_INVALID', detail: 'REQUEST_INVALID: body: wrong' }]])
    const error = await client.check(REQUEST).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(CheckRequestError)
    expect(error).toMatchObject({ status: 400, code: 'REQUEST_INVALID', message: 'REQUEST_INVALID: body: wrong' })
  })

  it.each([
    ['open', true],
    ['closed', false],
    [undefined, true],
  ] as const)('that fails is decided by the policy: %s', async (onFailure, allowed) => {
    const failed = vi.fn()
    const { client } = answering(
      [
        [500, { detail: 'broken' }],
        [502, '<html>'],
        [200, 'null'],
        [200, { allowed: 'yes' }],
      ],
      { failed, ...(onFailure && { onFailure }) },
    )
    for (let i = 0; i < 4; i++) expect(await client.check(REQUEST)).toMatchObject({ allowed, verdicts: [] })
    expect(failed).toHaveBeenCalledTimes(4)
  })

  it('has a deadline', async () => {
    const fetch = (_: unknown, init?: RequestInit): Promise<Response> =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    const client = createCheckClient({ url: 'http://sluice.example', deadlineMs: 1, onFailure: 'closed', fetch })
    expect(await client.check(REQUEST)).toMatchObject({ allowed: false, failure: { name: 'TimeoutError' } })
    expect(() => createCheckClient({ url: 'http://a', deadlineMs: Number.NaN })).toThrow(
      'deadlineMs must be a number of 0 or more, not NaN',
    )
  })
})

describe('acquire', () => {
  it('gives back its places', async () => {
    const { client, asked } = answering([[200, { ...ALLOWED, lease: 'abc' }], [204]])
    const permit = await client.acquire(REQUEST)
    await permit.release()
    expect(asked.map(({ url, body }) => [new URL(url).pathname, body])).toEqual([
      ['/v1/acquire', REQUEST],
      ['/v1/release', { lease: 'abc' }],
    ])
  })

  it('renews its places, and says what became of them', async () => {
    const said = (code: string) => [200, { leases: [{ renewed: false, error: { code, message: '…' } }] }] as const
    const { client, asked } = answering([
      [200, { ...ALLOWED, lease: 'abc', leaseTtlMs: 60_000 }],
      [200, { leases: [{ renewed: true, leaseTtlMs: 60_000 }] }],
      said('LEASE_NOT_RENEWED'),
      [503, { detail: 'later' }],
      [404, { detail: 'an older service' }],
      said('LEASE_EXPIRED'),
    ])
    const permit = await client.acquire(REQUEST)
    expect(permit.leaseTtlMs).toBe(60_000)
    const became: string[] = []
    for (let i = 0; i < 5; i++) became.push(await permit.renew())
    expect(became).toEqual(['renewed', 'failed', 'failed', 'failed', 'lost'])
    expect(asked[1]).toMatchObject({ url: 'http://sluice.example:8080/v1/renew', body: { leases: ['abc'] } })
  })

  it('asks no one to renew what was not taken', async () => {
    const { client, asked } = answering([[200, ALLOWED]])
    expect(await (await client.acquire(REQUEST)).renew()).toBe('lost')
    expect(asked).toHaveLength(1)
  })

  it('asks no one to release what was not taken', async () => {
    const { client, asked } = answering([[200, ALLOWED]])
    await (await client.acquire(REQUEST)).release()
    expect(asked).toHaveLength(1)
  })
})

describe('reserve', () => {
  it('settles once what it came to', async () => {
    const { client, asked } = answering([
      [200, { ...ALLOWED, reservation: 'abc' }],
      [200, { settled: true }],
      [200, { settled: false }],
    ])
    const reservation = await client.reserve(REQUEST)
    expect(await reservation.settle(7)).toBe(true)
    expect(await reservation.settle(7)).toBe(false)
    expect(asked.map(({ url, body }) => [new URL(url).pathname, body])).toEqual([
      ['/v1/check', { ...ASKED, reserve: 2 }],
      ['/v1/check', { settle: 'abc', cost: 7 }],
      ['/v1/check', { settle: 'abc', cost: 7 }],
    ])
  })

  it('reports a settlement that failed, and throws nothing', async () => {
    const failed = vi.fn()
    const { client } = answering(
      [
        [200, { ...ALLOWED, reservation: 'abc' }],
        [500, {}],
      ],
      { failed },
    )
    expect(await (await client.reserve(REQUEST)).settle(7)).toBe(false)
    expect(failed).toHaveBeenCalledTimes(1)
  })
})
