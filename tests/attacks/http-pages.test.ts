import { describe, expect, it } from 'vitest'
import { ASK, problemOf, startWhole, type WholeService } from './service.suite.ts'

// Web pages that have the browser of somebody inside ask for them: forms, scripts of another site.

const PATHS = ['/v1/check', '/v1/acquire', '/v1/renew', '/v1/release', '/json']
const SPEND = { ...ASK, cost: 3 }

async function left(service: WholeService): Promise<number> {
  const response = await service.post('/v1/check', { ...ASK, cost: 0 })
  return ((await response.json()) as { verdicts: { remaining: number }[] }).verdicts[0].remaining
}

/** Posts a body of bytes, which has no content type unless one is given. */
function send(service: WholeService, path: string, headers: Record<string, string>): Promise<Response> {
  const body = new TextEncoder().encode(JSON.stringify(path === '/json' ? { ...ASK, hitsAddend: 3 } : SPEND))
  return fetch(service.http + path, { method: 'POST', body, headers: { connection: 'close', ...headers } })
}

describe('a body that is not JSON by its content type', () => {
  it.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'text/plain',
    'text/plain;charset=UTF-8',
    'application/jsonp',
    'application/json, text/plain',
    'text/plain; a=application/json',
    'json',
  ])('is answered 415, and nothing is charged: %s', async (type) => {
    const service = await startWhole()
    for (const path of PATHS) {
      const response = await send(service, path, { 'content-type': type })
      expect(response.headers.get('accept-post')).toBe('application/json')
      expect(await problemOf(response)).toEqual([415, 'CONTENT_TYPE_INVALID'])
    }
    expect(await left(service)).toBe(3)
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])(
    'is no description of %s',
    async (type) => {
      const service = await startWhole()
      expect((await send(service, '/v1/check', { 'content-type': type })).status).toBe(200)
    },
  )

  it('is one without a content type, but for /json, whose clients may leave it out', async () => {
    const service = await startWhole()
    expect(await problemOf(await send(service, '/v1/check', {}))).toEqual([415, 'CONTENT_TYPE_INVALID'])
    expect((await send(service, '/json', {})).status).toBe(200)
  })
})

describe('a request of a web page', () => {
  const json = { 'content-type': 'application/json' }

  it.each<[string, Record<string, string>]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['no origin at all', { origin: 'null' }],
    ['an origin that is none', { origin: 'http://' }],
  ])('of %s is answered 403, and nothing is charged', async (_, headers) => {
    const service = await startWhole()
    for (const path of PATHS) {
      expect(await problemOf(await send(service, path, { ...json, ...headers }))).toEqual([403, 'CROSS_SITE_REQUEST'])
      if (path === '/json') expect((await send(service, path, headers)).status).toBe(403)
    }
    expect(await left(service)).toBe(3)
  })

  it('of its own origin is answered, and so is one that was typed', async () => {
    const service = await startWhole()
    const own = { origin: service.http, 'sec-fetch-site': 'same-origin' }
    expect((await send(service, '/v1/check', { ...json, ...own })).status).toBe(200)
    expect((await send(service, '/v1/check', { ...json, 'sec-fetch-site': 'none' })).status).toBe(429)
  })

  it('that sends a preflight request gets no permission', async () => {
    const service = await startWhole()
    const asks = { origin: 'https://evil.example', 'access-control-request-method': 'POST', connection: 'close' }
    const response = await fetch(`${service.http}/v1/check`, { method: 'OPTIONS', headers: asks })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([405, null])
  })
})
