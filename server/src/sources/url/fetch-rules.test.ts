import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { fetchRules, MAX_BYTES, type RulesRequest } from './fetch-rules.ts'
import { type RulesServer, startRulesServer, status, text } from './rules-server.suite.ts'

const RULES = 'domain: a\ndescriptors: []\n'

const asked = (server: RulesServer, more: Partial<RulesRequest> = {}) =>
  fetchRules({ url: server.url, timeoutMs: 60_000, ...more })

/** Why an address could not be read. */
const faultOf = (server: RulesServer, more: Partial<RulesRequest> = {}): Promise<string> =>
  asked(server, more).then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error: Error) => `${error.name}: ${error.message}`,
  )

describe('fetchRules', () => {
  it('returns the text at an address, and what names its version', async () => {
    const server = await startRulesServer(text(RULES, '"v1"'))
    expect(await asked(server)).toEqual({ text: RULES, etag: '"v1"', lastModified: undefined })
  })

  it('returns nothing where the server says that what is known is what there is', async () => {
    const server = await startRulesServer(text(RULES, '"v1"'))
    expect(await asked(server, { known: { etag: '"v1"', lastModified: undefined } })).toBeUndefined()
  })

  it('asks by time where the server does not name versions', async () => {
    const at = 'Mon, 16 Nov 2026 10:00:00 GMT'
    const server = await startRulesServer(({ headers }, response) => {
      const isKnown = headers['if-modified-since'] === at
      response.writeHead(isKnown ? 304 : 200, { 'last-modified': at, ...(!isKnown && { 'content-length': 0 }) }).end()
    })
    const answer = await asked(server)
    expect(answer).toMatchObject({ lastModified: at })
    expect(await asked(server, { known: answer })).toBeUndefined()
  })

  it('reads gzip', async () => {
    const server = await startRulesServer(({ headers }, response) => {
      expect(headers['accept-encoding']).toBe('gzip')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(RULES))
    })
    expect((await asked(server))?.text).toBe(RULES)
  })

  it('follows up to three redirects', async () => {
    const server = await startRulesServer(({ url = '' }, response) => {
      const left = Number(url.slice(1))
      if (left === 0) text(RULES)({ headers: {} } as never, response)
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    expect((await asked(server, { url: new URL('/3', server.url) }))?.text).toBe(RULES)
    expect(await faultOf(server, { url: new URL('/4', server.url) })).toBe('SourceFault: more than 3 redirects')
  })

  it('is not led out of TLS, where anybody on the way could answer', async () => {
    const dir = makeTemporaryDir('certificates')
    const { ca } = await makeCertificates(dir)
    const [cert, key] = ['server.crt', 'server.key'].map((file) => readFileSync(join(dir, file)))
    const plain = await startRulesServer(text(RULES))
    const server = await startRulesServer(status(302, { location: plain.url.href }), { cert, key })
    const secureContext = createSecureContext({ ca })
    expect(await faultOf(server, { secureContext })).toBe(`SourceFault: a redirect from https to ${plain.url.href}`)
    expect(plain.requests).toEqual([])
    server.answer(text(RULES))
    expect((await asked(server, { secureContext }))?.text).toBe(RULES)
  })

  it('shows a token and a password to the address that was named, and not to where it leads', async () => {
    const other = await startRulesServer(text(RULES))
    const server = await startRulesServer(status(307, { location: other.url.href }))
    expect((await asked(server, { token: 'secret-token' }))?.text).toBe(RULES)
    expect(server.requests[0].headers.authorization).toBe('Bearer secret-token')
    expect(other.requests[0].headers.authorization).toBeUndefined()
    const url = new URL(server.url)
    url.username = 'me'
    url.password = 'p%40ss'
    expect((await asked(server, { url }))?.text).toBe(RULES)
    expect(server.requests[1].headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
    expect(other.requests[1].headers.authorization).toBeUndefined()
  })

  it.each([
    ['an error', status(503), 'answered 503'],
    ['nothing there', status(404), 'answered 404'],
    ['304 to an unconditional request', status(304), 'answered 304'],
    ['a redirect to an invalid address', status(302, { location: 'http://[' }), 'a redirect to an invalid address'],
    ['a redirect to a file', status(302, { location: 'file:///etc/passwd' }), 'a redirect to an invalid address'],
    ['a redirect without a target that leads back', status(302), 'more than 3 redirects'],
    [
      'an encoding that was not requested',
      status(200, { 'content-encoding': 'br', 'content-length': '0' }),
      'an encoding that was not requested',
    ],
  ])('does not take %s for rules', async (_, listener, reason) => {
    const server = await startRulesServer(listener)
    expect(await faultOf(server)).toBe(`SourceFault: ${reason}`)
  })

  it('says how long a busy server wants to be left alone', async () => {
    const server = await startRulesServer(status(429, { 'retry-after': '90' }))
    await expect(asked(server)).rejects.toMatchObject({ retryAfterMs: 90_000 })
    server.answer(status(503, { 'retry-after': '999999' }))
    await expect(asked(server)).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
    server.answer(status(503, { 'retry-after': 'Mon, 16 Nov 2026 10:00:00 GMT' }))
    await expect(asked(server)).rejects.toMatchObject({ retryAfterMs: 0 })
  })

  it('takes no body that may be half of one', async () => {
    const server = await startRulesServer((_, response) => {
      response.writeHead(200, { 'content-length': 1_000 })
      response.write(RULES, () => response.socket?.destroy())
    })
    expect(await faultOf(server)).toMatch(/^SourceFault: (ECONNRESET|the answer was cut off)$/)
    server.answer((_, response) => {
      response.socket?.end(`HTTP/1.0 200 OK\r\n\r\n${RULES}`)
    })
    expect(await faultOf(server)).toBe('SourceFault: an answer without a length')
    server.answer((_, response) => {
      const half = gzipSync(RULES).subarray(0, 20)
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': half.length }).end(half)
    })
    expect(await faultOf(server)).toBe('SourceFault: Z_BUF_ERROR')
  })

  it('takes no text that is not UTF-8', async () => {
    const server = await startRulesServer((_, response) => {
      response.writeHead(200, { 'content-length': 2 }).end(Buffer.of(0xc3, 0x28))
    })
    expect(await faultOf(server)).toBe('SourceFault: an answer that is not UTF-8')
  })

  it('reads no more than a rule file may have, packed or not', async () => {
    const long = Buffer.alloc(MAX_BYTES + 1, '#')
    const server = await startRulesServer((_, response) => {
      response.writeHead(200, { 'content-length': long.length }).end(long)
    })
    const reason = `SourceFault: an answer of more than ${MAX_BYTES} bytes`
    expect(await faultOf(server)).toBe(reason)
    const packed = gzipSync(long)
    server.answer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed)
    })
    expect(await faultOf(server)).toBe(reason)
    server.answer((_, response) => {
      response.writeHead(200, { 'content-length': MAX_BYTES }).end(long.subarray(1))
    })
    expect((await asked(server))?.text).toHaveLength(MAX_BYTES)
  })

  it('waits no longer than its timeout, for a head or for a body', async () => {
    const server = await startRulesServer(() => {})
    expect(await faultOf(server, { timeoutMs: 100 })).toBe('SourceFault: no complete answer within 100 ms')
    server.answer((_, response) => {
      response.writeHead(200)
      const dripping = setInterval(() => response.write('#'), 10)
      response.on('close', () => clearInterval(dripping))
    })
    expect(await faultOf(server, { timeoutMs: 100 })).toBe('SourceFault: no complete answer within 100 ms')
  })

  it('says who does not answer by a code, without what was sent', async () => {
    const server = await startRulesServer(text(RULES))
    const url = new URL('http://user:hidden@127.0.0.1:1/r?sig=hidden')
    expect(await faultOf(server, { url })).toBe('SourceFault: ECONNREFUSED')
  })
})
