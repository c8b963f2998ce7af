import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { type JwtOptions, jwtVerifier } from './jwt-verifier.ts'

const NOW_MS = 1_700_000_000_000
const NOW_S = NOW_MS / 1000
const SECRET = 'a secret of at least thirty-two bytes'
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = publicKey.export({ type: 'spki', format: 'pem' }) as string
const now = (): number => NOW_MS

const sign = (
  claims: Record<string, unknown>,
  key: KeyObject | Uint8Array,
  alg: string,
  kid?: string,
): Promise<string> => new SignJWT(claims).setProtectedHeader({ alg, ...(kid && { kid }) }).sign(key)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const bySecret = (claims: Record<string, unknown>): Promise<string> => sign(claims, bytes(SECRET), 'HS256')
const byKey = (claims: Record<string, unknown>): Promise<string> => sign(claims, privateKey, 'RS256', 'k1')
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('jwtVerifier', () => {
  it('returns the claims of a token that is good', async () => {
    const claims = { sub: 'u1', exp: NOW_S + 60 }
    expect(await jwtVerifier({ secret: SECRET, now }).verify(await bySecret(claims))).toMatchObject(claims)
    expect(await jwtVerifier({ publicKey: PEM, now }).verify(await byKey(claims))).toMatchObject(claims)
  })

  it.each<[string, JwtOptions, () => Promise<string> | string]>([
    ['with another secret', { secret: `${SECRET}!` }, () => bySecret({ sub: 'u1' })],
    ['that is expired', { secret: SECRET }, () => bySecret({ sub: 'u1', exp: NOW_S - 6 })],
    ['that is not valid yet', { secret: SECRET }, () => bySecret({ sub: 'u1', nbf: NOW_S + 60 })],
    ['of another issuer', { secret: SECRET, issuer: 'https://a' }, () => bySecret({ sub: 'u1', iss: 'https://b' })],
    ['without an issuer', { secret: SECRET, issuer: 'https://a' }, () => bySecret({ sub: 'u1' })],
    ['for someone else', { secret: SECRET, audience: 'api' }, () => bySecret({ sub: 'u1', aud: ['web', 'app'] })],
    ['without a signature', { secret: SECRET }, () => `${part({ alg: 'none' })}.${part({ sub: 'u1' })}.`],
    [
      'without a signature, and a public key',
      { publicKey: PEM },
      () => `${part({ alg: 'none' })}.${part({ sub: 'u1' })}.`,
    ],
    ['signed with the public key as a secret', { publicKey: PEM }, () => sign({ sub: 'u1' }, bytes(PEM), 'HS256')],
    ['of an algorithm that is not accepted', { secret: SECRET, algorithms: ['HS512'] }, () => bySecret({ sub: 'u1' })],
    [
      'whose claims were changed',
      { secret: SECRET },
      async () => (await bySecret({ sub: 'u1' })).replace(/\.[^.]+\./, `.${part({ sub: 'u2' })}.`),
    ],
    ['that is none', { secret: SECRET }, () => 'a.b.c'],
    ['of a megabyte', { secret: SECRET }, () => 'a'.repeat(1_000_000)],
  ])('does not believe a token %s', async (_, options, token) => {
    expect(await jwtVerifier({ ...options, now }).verify(await token())).toBeUndefined()
  })

  it('takes several issuers and audiences', async () => {
    const verifier = jwtVerifier({ secret: SECRET, issuer: ['https://a', 'https://b'], audience: ['api'], now })
    expect(await verifier.verify(await bySecret({ iss: 'https://b', aud: 'api' }))).toBeDefined()
  })

  it('answers synchronously for a token that it has verified, until that expires', async () => {
    let nowMs = NOW_MS
    const verifier = jwtVerifier({ publicKey: PEM, now: () => nowMs, clockToleranceS: 0 })
    const token = await byKey({ sub: 'u1', exp: NOW_S + 60 })
    expect(verifier.verify(token)).toBeInstanceOf(Promise)
    await verifier.verify(token)
    expect(verifier.verify(token)).toMatchObject({ sub: 'u1' })
    nowMs += 59_999
    expect(verifier.verify(token)).toMatchObject({ sub: 'u1' })
    nowMs += 1
    expect(await verifier.verify(token)).toBeUndefined()
  })

  it('verifies again after ten minutes, for a key may be withdrawn', async () => {
    let nowMs = NOW_MS
    const verifier = jwtVerifier({ publicKey: PEM, now: () => nowMs })
    const token = await byKey({ sub: 'u1' })
    await verifier.verify(token)
    nowMs += 600_000
    const again = verifier.verify(token)
    expect(again).toBeInstanceOf(Promise)
    expect(await again).toMatchObject({ sub: 'u1' })
  })

  it('remembers a bounded number of tokens, the newest', async () => {
    const verifier = jwtVerifier({ secret: SECRET, now, mostRemembered: 2 })
    const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => bySecret({ sub })))
    for (const token of tokens) await verifier.verify(token)
    expect(tokens.map((token) => verifier.verify(token) instanceof Promise)).toEqual([true, false, false])
  })

  it.each<[string, JwtOptions, string]>([
    ['nothing to verify with', {}, 'jwt: got 0'],
    ['two things', { secret: SECRET, publicKey: PEM }, 'jwt: got 2'],
    ['a short secret', { secret: 'short' }, 'jwt.secret: 5 bytes, expected at least 32'],
    ['what is no key', { publicKey: 'no key' }, 'jwt.publicKey: not a public key in PEM form'],
    [
      'keys from an address that anybody can forge',
      { jwksUrl: 'http://example.com/keys' },
      'jwt.jwksUrl: got "http://example.com/keys"',
    ],
    ['keys that are none', { jwks: { keys: 'k' } as never }, 'jwt.jwks: not a set of keys'],
    ['keys from no address', { jwksUrl: 'keys' }, 'jwt.jwksUrl: got "keys"'],
    [
      'an algorithm of the other kind',
      { publicKey: PEM, algorithms: ['HS256'] },
      'jwt.algorithms: none of the algorithms fits the key',
    ],
    ['no algorithm', { secret: SECRET, algorithms: ['none'] }, 'jwt.algorithms: none of the algorithms fits the key'],
  ])('refuses %s', (_, options, message) => {
    expect(() => jwtVerifier(options)).toThrow(`JWT_OPTIONS_INVALID: ${message}`)
  })
})

describe('keys from an address', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.close()
    server?.closeAllConnections()
  })

  const serve = async (listener: RequestListener): Promise<string> => {
    server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  }

  it('are fetched once, and again for a key that is not known, but not at every such token', async () => {
    let fetches = 0
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256' }
    const jwksUrl = await serve((_, response) => {
      fetches++
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }))
    })
    const verifier = jwtVerifier({ jwksUrl, now })
    expect(await verifier.verify(await byKey({ sub: 'u1' }))).toMatchObject({ sub: 'u1' })
    expect(await verifier.verify(await byKey({ sub: 'u2' }))).toMatchObject({ sub: 'u2' })
    expect(fetches).toBe(1)
    for (let i = 0; i < 20; i++) {
      const forged = await sign({ sub: 'u3', jti: String(i) }, privateKey, 'RS256', `unknown-${i}`)
      expect(await verifier.verify(forged)).toBeUndefined()
    }
    expect(fetches).toBeLessThanOrEqual(2)
  })

  it.each<[string, RequestListener]>([
    ['there are none', (_, response) => void response.writeHead(500).end()],
    ['they are no JSON', (_, response) => void response.end('keys')],
    ['they are more than 256 KiB', (_, response) => void response.end(`{"keys":[${' '.repeat(300_000)}]}`)],
  ])('verify nothing while %s', async (_, listener) => {
    const verifier = jwtVerifier({ jwksUrl: await serve(listener), now })
    expect(await verifier.verify(await byKey({ sub: 'u1' }))).toBeUndefined()
  })

  it('are not asked for again and again while there are none', async () => {
    let fetches = 0
    const jwksUrl = await serve((_, response) => {
      fetches++
      response.writeHead(503).end()
    })
    const verifier = jwtVerifier({ jwksUrl, now })
    for (let i = 0; i < 20; i++) expect(await verifier.verify(await byKey({ jti: String(i) }))).toBeUndefined()
    expect(fetches).toBe(1)
  })

  it('given beforehand never verify what a shared secret signed', async () => {
    const oct = { kty: 'oct', k: Buffer.from(SECRET).toString('base64url'), alg: 'HS256' }
    expect(await jwtVerifier({ jwks: { keys: [oct] }, now }).verify(await bySecret({ sub: 'u1' }))).toBeUndefined()
  })
})
