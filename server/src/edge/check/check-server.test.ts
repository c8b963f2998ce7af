import { type EventEmitter, once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { combine, UNLIMITED } from 'sluice/internal/core/combine'
import type { CheckRequest } from 'sluice/internal/core/request'
import type { Held } from 'sluice/internal/engine/decider'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../../../../src/core/verdicts.suite.ts'
import { Health } from '../health/health.ts'
import type { Checker } from '../limiter-port.ts'
import { checkServer } from './check-server.ts'

const RULE =
  'A check must be {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number, "priority": critical, write, read or test}.'
const descriptors = [{ entries: [{ key: 'user', value: 'alice' }] }]
const CHECK = JSON.stringify({ domain: 'api', descriptors })

const TOO_LARGE =
  '{"type":"about:blank","title":"Content Too Large","status":413,"detail":"BODY_TOO_LARGE: body: more than 65536 ' +
  'bytes. A request body must be at most 65536 bytes.","code":"BODY_TOO_LARGE"}\n'

const servers: Server[] = []

afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }),
  )
})

async function start(check: Checker['check'] = () => UNLIMITED, health?: Health): Promise<string> {
  const acquire = async (request: CheckRequest): Promise<Held> => ({
    decision: await check(request),
    permits: undefined,
  })
  const reserving = {
    reserve: async (request: CheckRequest) => ({ decision: await check(request), charged: [], holds: [] }),
    settleReserved: async () => false,
  }
  const server = checkServer(
    { check, acquire, renew: () => [], release: () => {}, ...reserving },
    { ...(health && { health }) },
  )
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const post = (url: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
  fetch(`${url}/v1/check`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })

/** Sends raw bytes and returns everything that comes back until the server ends the connection. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(bytes)
  return text(socket)
}

/** Waits until a stream has ended, in whatever way. */
const closed = (stream: EventEmitter): Promise<void> => new Promise((resolve) => stream.once('close', () => resolve()))

/** Returns the fields of a response, without those that every answer has. */
function fieldsOf(response: Response): Record<string, string> {
  const { date: _date, connection: _, 'keep-alive': __, ...fields } = Object.fromEntries(response.headers)
  return fields
}

describe('POST /v1/check', () => {
  it('hands the request on as it was sent, and answers 200 when it passes', async () => {
    const check = vi.fn(() => combine([verdictBy('per-user', allowed(4, 60_000))]))
    const response = await post(await start(check), JSON.stringify({ domain: 'api', descriptors, cost: 3 }))
    expect(check.mock.calls).toEqual([[{ domain: 'api', descriptors, cost: 3 }, undefined]])
    expect(response.status).toBe(200)
    const { 'x-ratelimit-reset': reset, 'content-length': length, ...fields } = fieldsOf(response)
    expect(Number(reset)).toBeGreaterThan(1_700_000_000)
    expect(fields).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      ratelimit: '"per-user";r=4;t=60',
      'ratelimit-policy': '"per-user";q=10;w=60',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '4',
    })
    const body = await response.text()
    expect(Number(length)).toBe(Buffer.byteLength(body))
    expect(body).toBe(
      '{"allowed":true,"rule":"per-user","verdicts":[{"rule":"per-user","descriptor":0,"kind":"allowed","limit":10,' +
        '"remaining":4,"resetAfterMs":60000,"delayMs":0}]}\n',
    )
  })

  it('answers 429 with Retry-After and the reason when it is refused', async () => {
    const response = await post(await start(() => combine([verdictBy('per-user', refused(12_001))])), CHECK)
    expect(response.status).toBe(429)
    expect(fieldsOf(response)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      ratelimit: '"per-user";r=0;t=13',
      'retry-after': '13',
    })
    expect(await response.json()).toMatchObject({
      allowed: false,
      retryAfterMs: 12_001,
      rule: 'per-user',
      reason: 'rule "per-user" has 0 of 10 left; admitted again in 12001 ms',
    })
  })

  const BLOCKED = {
    ...ruleNamed('blocked'),
    response: {
      status: 403,
      body: '<b>no</b>',
      headers: [
        ['content-type', 'text/html'],
        ['x-support', 'help@example.com'],
      ] as const,
    },
  }

  it.each(['/v1/check', '/v1/acquire'])('%s answers a refusal as the rule says', async (path) => {
    const url = await start(() => combine([verdictBy(BLOCKED, refused(12_001))]))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', body: CHECK, headers })
    expect(response.status).toBe(403)
    expect(fieldsOf(response)).toMatchObject({
      'content-type': 'application/json',
      'x-support': 'help@example.com',
      'retry-after': '13',
    })
    expect(await response.json()).toMatchObject({
      allowed: false,
      rule: 'blocked',
      response: {
        status: 403,
        headers: { 'content-type': 'text/html', 'x-support': 'help@example.com' },
        body: '<b>no</b>',
      },
    })
  })

  it('says nothing of the response of a rule that admits', async () => {
    const response = await post(await start(() => combine([verdictBy(BLOCKED, allowed(1))])), CHECK)
    expect([response.status, response.headers.get('x-support')]).toEqual([200, null])
    expect(await response.text()).not.toContain('response')
  })

  it.each([
    ['403 where the rule says so', BLOCKED, 403],
    ['429 where it does not', ruleNamed('per-user'), 429],
  ])('/json answers a refusal %s', async (_, rule, status) => {
    const url = await start(() => combine([verdictBy(rule, refused(12_001))]))
    const response = await fetch(`${url}/json`, {
      method: 'POST',
      body: CHECK,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ overallCode: 'OVER_LIMIT' })
  })

  it('spreads Retry-After as the rule says', async () => {
    const rule = { ...ruleNamed('per-user'), retryAfterJitterMs: 60_000 }
    const url = await start(() => combine([verdictBy(rule, refused(12_000))]))
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const response = await post(url, CHECK).finally(() => random.mockRestore())
    expect(response.headers.get('retry-after')).toBe('42')
  })

  it('answers 429 without Retry-After where waiting never helps', async () => {
    const response = await post(await start(() => combine([verdictBy('per-user', impossible())])), CHECK)
    expect(response.status).toBe(429)
    expect(response.headers.has('retry-after')).toBe(false)
  })

  it('answers 200 without rate limit fields when no rule applies', async () => {
    const response = await post(await start(), CHECK)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('{"allowed":true,"verdicts":[]}\n')
    expect(fieldsOf(response)).toEqual({
      'cache-control': 'no-store',
      'content-length': '31',
      'content-type': 'application/json',
    })
  })

  it('waits for an engine that promises an answer', async () => {
    const response = await post(await start(async () => combine([verdictBy('a', allowed(1))])), CHECK)
    expect(await response.json()).toMatchObject({ allowed: true, rule: 'a' })
  })

  it('takes parameters of the content type, and a query', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const response = await fetch(`${await start()}/v1/check?debug=1`, { method: 'POST', body: CHECK, headers })
    expect(response.status).toBe(200)
  })

  it.each<[string, string | Uint8Array<ArrayBuffer>, string]>([
    ['malformed JSON', '{"domain":', 'REQUEST_INVALID: body: not JSON'],
    ['no body', '', 'REQUEST_INVALID: body: not JSON'],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'REQUEST_INVALID: body: not UTF-8'],
    ['an unknown field', CHECK.replace('{', '{"user":"alice",'), 'REQUEST_INVALID: body: Unrecognized key: "user"'],
    [
      'a line break in a value',
      CHECK.replace('alice', 'a\\r\\nSet-Cookie: b'),
      'REQUEST_INVALID: body.descriptors[0].entries[0].value: control characters and halves of characters are not allowed',
    ],
  ])('answers 400 to %s, as a problem', async (_, sent, reason) => {
    const check = vi.fn(() => UNLIMITED)
    const response = await post(await start(check), sent)
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: `${reason}. ${RULE}`,
      code: 'REQUEST_INVALID',
    })
    expect(check).not.toHaveBeenCalled()
  })

  it.each([
    ['just above 64 KiB', 65_537],
    ['of half a megabyte', 524_288],
    ['of a mebibyte', 1_048_576],
  ])('reads a body %s to its end, and answers 413', async (_, size) => {
    const response = await post(await start(), 'x'.repeat(size))
    expect(response.status).toBe(413)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.text()).toBe(TOO_LARGE)
  })

  it('answers 413 to a larger body without waiting for its end, and closes the connection', async () => {
    const socket = connect(Number(new URL(await start()).port), '127.0.0.1')
    socket.write(
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n',
    )
    socket.write('x'.repeat(1_048_577))
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\nConnection: close\r\n/)
    expect(answer.endsWith(`\r\n\r\n${TOO_LARGE}`)).toBe(true)
  })

  it('reads no more than that of a client that only writes, and continues', async () => {
    const url = await start()
    const connected = once(servers[0], 'connection')
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n',
    )
    socket.write('x'.repeat(8_000_000))
    const [accepted] = await connected
    await closed(accepted)
    expect(accepted.bytesRead).toBeLessThan(2_000_000)
    expect((await post(url, CHECK)).status).toBe(200)
  })

  it('takes a body of exactly 64 KiB', async () => {
    expect((await post(await start(), CHECK.padEnd(65_536))).status).toBe(200)
  })

  it('counts bytes, not characters, and takes them in whatever pieces they come', async () => {
    const pieces = ['{"domain":"api","descr', 'iptors":[{"entries":[{"key":"user","value":"al', 'ice"}]}]}']
    const chunked = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
    const head =
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(await exchange(await start(), `${head}${chunked}0\r\n\r\n`)).toContain('HTTP/1.1 200 OK\r\n')
    expect((await post(await start(), '"'.padEnd(32_800, 'é'))).status).toBe(413)
  })

  it('answers 500 when the engine fails, without the reason', async () => {
    for (const check of [
      () => {
        throw new Error('secret')
      },
      () => Promise.reject(new Error('secret')),
    ]) {
      const response = await post(await start(check), CHECK)
      expect(response.status).toBe(500)
      expect(await response.text()).toBe(
        '{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"the decision failed"}\n',
      )
    }
  })

  it('sends no field that a rule made up, whatever its name', async () => {
    const name = 'a\r\nSet-Cookie: session=1\r\n\r\n<html>"\\'
    const url = await start(() => combine([verdictBy(name, refused(500))]))
    const response = await post(url, CHECK)
    expect(response.status).toBe(429)
    expect(response.headers.has('set-cookie')).toBe(false)
    expect(response.headers.get('ratelimit')).toBe('"a%0D%0ASet-Cookie: session=1%0D%0A%0D%0A<html>%22%5C";r=0;t=1')
    expect(await response.json()).toMatchObject({ rule: name })
  })
})

describe('everything else', () => {
  it.each(['GET', 'HEAD'])('answers %s /healthcheck', async (method) => {
    const response = await fetch(`${await start()}/healthcheck`, { method })
    expect(response.status).toBe(200)
    expect(fieldsOf(response)).toEqual({ 'content-length': '2', 'content-type': 'text/plain' })
    expect(await response.text()).toBe(method === 'GET' ? 'OK' : '')
  })

  it('is alive whenever it answers, and ready while requests are wanted', async () => {
    const health = new Health()
    const url = await start(undefined, health)
    const probe = async (path: string) => {
      const response = await fetch(url + path)
      return [response.status, await response.text(), response.headers.get('cache-control')]
    }
    expect(await probe('/livez')).toEqual([200, 'ok\n', 'no-store'])
    expect(await probe('/readyz')).toEqual([200, 'ok\n', 'no-store'])
    health.set(false, 'Redis is not reached')
    expect(await probe('/readyz')).toEqual([503, 'not ready: Redis is not reached\n', 'no-store'])
    health.set(false, 'draining')
    expect(await probe('/readyz')).toEqual([503, 'not ready: draining\n', 'no-store'])
    expect(await probe('/livez')).toEqual([200, 'ok\n', 'no-store'])
    health.set(true)
    expect(await probe('/readyz')).toEqual([200, 'ok\n', 'no-store'])
  })

  it.each(['/', '/v1/checks', '/V1/check', '/v1/check/', '/__proto__', '/constructor', '/%2e%2e/etc/passwd'])(
    'answers 404 to %s',
    async (path) => {
      const response = await fetch((await start()) + path)
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(await response.text()).toBe(
        '{"type":"about:blank","title":"Not Found","status":404,"detail":"no such path; try /v1/check, /v1/acquire, /v1/renew, /v1/release, /json, /healthcheck, /livez, /readyz"}\n',
      )
    },
  )

  it.each([
    ['GET', '/v1/check', 'POST', '/v1/check takes POST'],
    ['PUT', '/v1/check', 'POST', '/v1/check takes POST'],
    ['DELETE', '/healthcheck', 'GET, HEAD', '/healthcheck takes GET or HEAD'],
    ['OPTIONS', '/healthcheck', 'GET, HEAD', '/healthcheck takes GET or HEAD'],
  ])('answers 405 to %s %s', async (method, path, allow, detail) => {
    const response = await fetch((await start()) + path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(await response.json()).toEqual({ type: 'about:blank', title: 'Method Not Allowed', status: 405, detail })
  })

  it.each([
    ['is not HTTP', 'hello\r\n\r\n'],
    ['breaks a field off', 'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX: \0\r\n\r\n'],
    [
      'has two lengths',
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'smuggles a second length',
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('answers 400 to what %s, and continues', async (_, bytes) => {
    const url = await start()
    expect(await exchange(url, bytes)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect((await post(url, CHECK)).status).toBe(200)
  })

  it('continues when a client leaves in the middle of its body', async () => {
    const url = await start()
    const server = servers[0]
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const arrived = once(server, 'request')
    socket.write(
      'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"domain"',
    )
    const [request] = await arrived
    const left = closed(request)
    socket.resetAndDestroy()
    await left
    expect((await post(url, CHECK)).status).toBe(200)
  })

  it('continues when a client leaves before its answer', async () => {
    let answer: () => void = () => {}
    const url = await start(
      () =>
        new Promise((resolve) => {
          answer = () => resolve(combine([verdictBy('a', refused(500))]))
          servers[0].emit('asked')
        }),
    )
    const asked = once(servers[0], 'asked')
    const connected = once(servers[0], 'connection')
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${CHECK.length}\r\n\r\n${CHECK}`,
    )
    const [accepted] = await connected
    await asked
    const left = closed(accepted)
    socket.resetAndDestroy()
    await left
    answer()
    expect((await fetch(`${url}/healthcheck`)).status).toBe(200)
  })

  it('is not kept busy by a client that sends slowly', async () => {
    const url = await start()
    const server = servers[0]
    expect([server.headersTimeout, server.requestTimeout]).toEqual([5_000, 10_000])
    const slow = connect(Number(new URL(url).port), '127.0.0.1')
    slow.write('POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{')
    await once(server, 'request')
    expect((await post(url, CHECK)).status).toBe(200)
    slow.destroy()
  })
})
