import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { type Caller, CallerFinder, type IdentityOptions } from './caller.ts'
import { type SimpleRequest, simpleReader } from './gate.suite.ts'

const ANONYMOUS: Caller = { ip: '203.0.113.7', apiKey: undefined, user: undefined, tenant: undefined, tier: undefined }
const SECRET = 'a secret of at least thirty-two bytes'

const find = async (options: IdentityOptions<SimpleRequest>, headers: Record<string, string> = {}): Promise<Caller> =>
  new CallerFinder(options, simpleReader).find({ ip: '203.0.113.7', headers })
const bearer = async (claims: Record<string, unknown>, secret = SECRET): Promise<{ authorization: string }> => {
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret))
  return { authorization: `Bearer ${token}` }
}

describe('CallerFinder', () => {
  it('knows the address, synchronously', () => {
    expect(new CallerFinder({}, simpleReader).find({ ip: '::ffff:203.0.113.7' })).toEqual(ANONYMOUS)
    expect(new CallerFinder({}, simpleReader).find({ ip: '2001:db8::7' })).toEqual({
      ...ANONYMOUS,
      ip: '2001:db8::/64',
    })
  })

  it('believes no key and no token by default', async () => {
    expect(await find({}, { 'x-api-key': 'k1', ...(await bearer({ sub: 'u1' })) })).toEqual(ANONYMOUS)
  })

  it('reads API keys', async () => {
    expect(await find({ apiKey: true }, { 'x-api-key': 'k1' })).toEqual({ ...ANONYMOUS, apiKey: 'k1' })
    expect(await find({ apiKey: true }, { authorization: 'Bearer k1' })).toEqual({ ...ANONYMOUS, apiKey: 'k1' })
  })

  it('takes claims of a verified token', async () => {
    const options = { jwt: { secret: SECRET }, claims: { user: 'uid', tenant: 'org', tier: 'plan' } }
    const headers = await bearer({ uid: 42, org: 'acme', plan: 'pro', sub: 'other' })
    expect(await find(options, headers)).toEqual({ ...ANONYMOUS, user: '42', tenant: 'acme', tier: 'pro' })
    expect(await find({ jwt: { secret: SECRET } }, await bearer({ sub: 'u1' }))).toEqual({ ...ANONYMOUS, user: 'u1' })
  })

  it('takes nothing of a token that is not good, nor what is no text', async () => {
    const jwt = { secret: SECRET }
    expect(await find({ jwt }, await bearer({ sub: 'u1' }, `${SECRET}!`))).toEqual(ANONYMOUS)
    expect(await find({ jwt }, await bearer({ sub: { toString: 1 } }))).toEqual(ANONYMOUS)
    expect(await find({ jwt }, await bearer({ sub: '' }))).toEqual(ANONYMOUS)
    expect(await find({ jwt }, { authorization: 'Bearer nonsense' })).toEqual(ANONYMOUS)
    const { publicKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
    expect(await find({ jwt: { publicKey: pem } }, await bearer({ sub: 'u1' }, pem))).toEqual(ANONYMOUS)
  })

  it('does not take a token for an API key where tokens are verified', async () => {
    const options = { jwt: { secret: SECRET }, apiKey: true }
    expect(await find(options, await bearer({ sub: 'u1' }, `${SECRET}!`))).toEqual(ANONYMOUS)
    expect(await find(options, { 'x-api-key': 'k1', ...(await bearer({ sub: 'u1' })) })).toEqual({
      ...ANONYMOUS,
      apiKey: 'k1',
      user: 'u1',
    })
  })

  it('believes the app before the token, and asks it immediately where it can', async () => {
    const jwt = { secret: SECRET }
    const user = (): string => 'session'
    expect(await find({ jwt, user }, await bearer({ sub: 'u1' }))).toEqual({ ...ANONYMOUS, user: 'session' })
    expect(await find({ jwt, user: async () => undefined }, await bearer({ sub: 'u1' }))).toEqual({
      ...ANONYMOUS,
      user: 'u1',
    })
    expect(new CallerFinder({ user, tenant: () => 'acme' }, simpleReader).find({ ip: '203.0.113.7' })).toEqual({
      ...ANONYMOUS,
      user: 'session',
      tenant: 'acme',
    })
  })

  it('finds the client behind proxies that are trusted', async () => {
    const headers = { 'x-forwarded-for': '1.1.1.1, 198.51.100.9' }
    expect((await find({ trustedProxies: ['203.0.113.0/24'] }, headers)).ip).toBe('198.51.100.9')
    expect((await find({ trustedProxies: ['10.0.0.0/8'] }, headers)).ip).toBe('203.0.113.7')
    const forwarded = { ...headers, forwarded: 'for="[2001:db8::9]:4711"' }
    expect((await find({ trustedProxies: 1, forwardedHeader: 'forwarded' }, forwarded)).ip).toBe('2001:db8::/64')
  })
})
