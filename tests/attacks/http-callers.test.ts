import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../servers/certificates.mjs'
import { ASK, JOB, problemOf, startWhole, type WholeService } from './service.suite.ts'

// Callers who give back what they spent, bring limits of their own, or have no business here at all.

const TOKEN = 'a-token-of-many-characters'
const OTHER = 'another-token-of-many-characters'
const BEARER = { authorization: `Bearer ${TOKEN}` }
const entries = ASK.descriptors[0].entries

const REFUND = { ...ASK, cost: -3 }
const REFUND_OF_ONE = { ...ASK, descriptors: [{ entries, cost: -3 }] }
const LIMIT = { ...ASK, descriptors: [{ entries, limit: { requestsPerUnit: 1000, unit: 'minute' } }] }
const JSON_REFUND = { ...ASK, descriptors: [{ entries, hitsAddend: 3, isNegativeHits: true }] }
const JSON_LIMIT = { ...ASK, descriptors: [{ entries, limit: { requestsPerUnit: 1000, unit: 'MINUTE' } }] }
const PROTO_LIMIT = { ...ASK, descriptors: [{ entries, limit: { requestsPerUnit: 1000, unit: 'UNIT_MINUTE' } }] }
const ENVOY_REFUND = { ...ASK, descriptors: [{ entries, hitsAddend: { value: 3 }, isNegativeHits: true }] }

/** What alice has left, as a look tells that costs nothing. */
async function left(service: WholeService, headers: Record<string, string> = {}): Promise<number> {
  const response = await service.post('/v1/check', { ...ASK, cost: 0 }, headers)
  const { verdicts } = (await response.json()) as { verdicts: { remaining: number }[] }
  return verdicts[0].remaining
}

const overHttp: [string, string, object][] = [
  ['a cost below 0', '/v1/check', REFUND],
  ['a descriptor whose cost is below 0', '/v1/check', REFUND_OF_ONE],
  ['a limit', '/v1/check', LIMIT],
  ['a cost below 0', '/v1/acquire', REFUND],
  ['a limit', '/v1/acquire', LIMIT],
  ['negative hits', '/json', JSON_REFUND],
  ['a limit', '/json', JSON_LIMIT],
]

describe('an untrusted caller', () => {
  it.each(overHttp)('is refused over HTTP, with what to set: %s to %s', async (_, path, body) => {
    const service = await startWhole()
    await service.post('/v1/check', { ...ASK, cost: 3 })
    const response = await service.post(path, body)
    expect(response.status).toBe(403)
    const { code, detail } = (await response.json()) as { code: string; detail: string }
    expect(code).toBe('CALLER_NOT_TRUSTED')
    expect(detail).toMatch(/SLUICE_TOKEN.*--trust-callers/)
    expect(await left(service)).toBe(0)
  })

  it.each([
    ['a cost below 0', REFUND],
    ['a descriptor whose cost is below 0', REFUND_OF_ONE],
    ['a limit', PROTO_LIMIT],
  ])('is refused by sluice.v1.Limiter: %s', async (_, request) => {
    const service = await startWhole()
    await service.call('check', { requests: [{ ...ASK, cost: 3 }] })
    expect(await service.call('acquire', { request })).toMatch(/^7: CALLER_NOT_TRUSTED: .*--trust-callers/)
    expect(await service.call('check', { requests: [request, { ...ASK, cost: 0 }] })).toMatchObject({
      answers: [
        { error: { code: 'CALLER_NOT_TRUSTED' } },
        { decision: { reason: expect.stringContaining('0 of 3 left') } },
      ],
    })
    expect(await left(service)).toBe(0)
  })

  it('checks, looks, takes a place and gives it back', async () => {
    const service = await startWhole()
    expect((await service.post('/v1/check', ASK)).status).toBe(200)
    expect(await left(service)).toBe(2)
    const { lease } = (await (await service.post('/v1/acquire', JOB)).json()) as { lease: string }
    expect((await service.post('/v1/acquire', JOB)).status).toBe(429)
    expect((await service.post('/v1/release', { lease })).status).toBe(204)
    const again = (await service.call('acquire', { request: JOB })) as { lease: string }
    expect(await service.call('release', { lease: again.lease })).toEqual({})
  })

  it('gives back with a lease what that lease took, and no place of another', async () => {
    const service = await startWhole()
    const taken = async (): Promise<string> =>
      ((await (await service.post('/v1/acquire', JOB)).json()) as { lease: string }).lease
    const first = await taken()
    await service.post('/v1/release', { lease: first })
    await taken()
    expect((await service.post('/v1/release', { lease: first })).status).toBe(204)
    expect((await service.post('/v1/acquire', JOB)).status).toBe(429)
    expect(await problemOf(await service.post('/v1/release', { lease: 'a'.repeat(100) }))).toEqual([
      400,
      'LEASE_INVALID',
    ])
  })

  it('takes no place by renewing a lease that was given back, and keeps none of another', async () => {
    const service = await startWhole()
    const taken = async (): Promise<string> =>
      ((await (await service.post('/v1/acquire', JOB)).json()) as { lease: string }).lease
    const leases: string[] = []
    for (let i = 0; i < 20; i++) {
      leases.push(await taken())
      await service.post('/v1/release', { lease: leases[i] })
    }
    const forged = 'a'.repeat(100)
    const { leases: renewed } = (await (await service.post('/v1/renew', { leases: [...leases, forged] })).json()) as {
      leases: { renewed: boolean; error: { code: string } }[]
    }
    expect(renewed.map(({ error }) => error.code)).toEqual([...Array(20).fill('LEASE_EXPIRED'), 'LEASE_INVALID'])
    expect((await service.post('/v1/acquire', JOB)).status).toBe(200)
  })

  it('renews a bounded number of leases together', async () => {
    const service = await startWhole()
    expect(await problemOf(await service.post('/v1/renew', { leases: Array(101).fill('a') }))).toEqual([
      400,
      'RENEW_INVALID',
    ])
    expect(await problemOf(await service.post('/v1/renew', { leases: [] }))).toEqual([400, 'RENEW_INVALID'])
    expect(await service.call('renew', { leases: Array(101).fill('a') })).toBe('3: more than 100 leases')
  })

  it('cannot use a lease of a process that counted in memory and is gone, whatever secret they share', async () => {
    const env = { SLUICE_SECRET: 'the same for both' }
    const [before, after] = [await startWhole([], env), await startWhole([], env)]
    const { lease } = (await (await before.post('/v1/acquire', JOB)).json()) as { lease: string }
    expect((await after.post('/v1/acquire', JOB)).status).toBe(200)
    expect(await problemOf(await after.post('/v1/release', { lease }))).toEqual([400, 'LEASE_INVALID'])
    expect((await after.post('/v1/acquire', JOB)).status).toBe(429)
  })

  it('is unknown to Envoy’s own door, which takes limits and negative hits as ever', async () => {
    const service = await startWhole()
    await service.post('/v1/check', { ...ASK, cost: 3 })
    expect(await service.call('envoy', JSON_LIMIT)).toMatchObject({ overallCode: 'OK' })
    await service.call('envoy', ENVOY_REFUND)
    expect(await left(service)).toBe(3)
  })
})

describe('--trust-callers', () => {
  it.each([
    ['as a flag', ['--trust-callers'], {}],
    ['as a variable', [], { SLUICE_TRUST_CALLERS: 'true' }],
  ])('lets everybody give back and bring limits: %s', async (_, args, env) => {
    const service = await startWhole(args, env as Record<string, string>)
    await service.post('/v1/check', { ...ASK, cost: 3 })
    for (const [, path, body] of overHttp) expect((await service.post(path, body)).status).toBe(200)
    expect(await service.call('check', { requests: [REFUND, PROTO_LIMIT] })).toMatchObject({
      answers: [{ decision: { allowed: true } }, { decision: { allowed: true } }],
    })
    expect(await left(service)).toBe(3)
  })
})

describe('a token', () => {
  const start = (): Promise<WholeService> => startWhole([], { SLUICE_TOKEN: TOKEN })
  const wrong: [string, Record<string, string>][] = [
    ['none', {}],
    ['another', { authorization: `Bearer ${OTHER}` }],
    ['the beginning of it', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['more than it', { authorization: `Bearer ${TOKEN}a` }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
    ['no scheme', { authorization: TOKEN }],
    ['a scheme alone', { authorization: 'Bearer' }],
  ]

  it.each(wrong)('is asked for at every path over HTTP: %s', async (_, headers) => {
    const service = await start()
    for (const path of ['/v1/check', '/v1/acquire', '/v1/renew', '/v1/release', '/json']) {
      const response = await service.post(path, ASK, headers)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="sluice"')
      expect(await problemOf(response)).toEqual([401, 'TOKEN_REQUIRED'])
    }
    expect(await left(service, BEARER)).toBe(3)
  })

  it.each(wrong)('is asked for at every call over gRPC: %s', async (_, headers) => {
    const service = await start()
    expect(await service.call('envoy', ASK, headers)).toMatch(/^16: TOKEN_REQUIRED: /)
    expect(await service.call('check', { requests: [ASK] }, headers)).toMatch(/^16: TOKEN_REQUIRED: /)
    expect(await service.call('acquire', { request: JOB }, headers)).toMatch(/^16: TOKEN_REQUIRED: /)
    expect(await service.call('release', { lease: 'a' }, headers)).toMatch(/^16: TOKEN_REQUIRED: /)
    expect(await left(service, BEARER)).toBe(3)
  })

  it('makes a caller trusted, over HTTP and gRPC', async () => {
    const service = await start()
    await service.post('/v1/check', { ...ASK, cost: 3 }, BEARER)
    for (const [, path, body] of overHttp) expect((await service.post(path, body, BEARER)).status).toBe(200)
    expect(await service.call('envoy', ASK, BEARER)).toMatchObject({ overallCode: 'OK' })
    expect(await service.call('check', { requests: [REFUND] }, BEARER)).toMatchObject({
      answers: [{ decision: { allowed: true } }],
    })
    expect(await left(service, { authorization: `bearer ${TOKEN}` })).toBe(3)
  })

  it('is asked for even where all callers are trusted', async () => {
    const service = await startWhole(['--trust-callers'], { SLUICE_HTTP_TOKEN: TOKEN })
    expect((await service.post('/v1/check', ASK)).status).toBe(401)
    expect((await service.post('/v1/check', ASK, BEARER)).status).toBe(200)
  })

  it('may be one of several, so that it can be changed without a failed call', async () => {
    const service = await startWhole([], { SLUICE_TOKEN: `${OTHER}, ${TOKEN}` })
    for (const token of [TOKEN, OTHER]) {
      expect((await service.post('/v1/check', ASK, { authorization: `Bearer ${token}` })).status).toBe(200)
    }
    expect((await service.post('/v1/check', ASK, { authorization: `Bearer ${OTHER}, ${TOKEN}` })).status).toBe(401)
  })

  it('is not asked of health checks', async () => {
    const service = await start()
    expect(await (await fetch(`${service.http}/healthcheck`, { headers: { connection: 'close' } })).text()).toBe('OK')
    expect(await service.call('health', {})).toEqual({ status: 'SERVING' })
  })

  it('is not asked of a gRPC client with a certificate that was verified, who is trusted', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-callers-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const { ca, cert, key } = await makeCertificates(dir)
    const at = (name: string): string => join(dir, name)
    const files = [`--grpc-tls-cert=${at('server.crt')}`, `--grpc-tls-key=${at('server.key')}`]
    const tls = ['--grpc-tls', ...files]
    const mutual = credentials.createSsl(Buffer.from(ca), Buffer.from(key), Buffer.from(cert))
    const service = await startWhole([...tls, `--grpc-client-ca=${at('ca.crt')}`], { SLUICE_TOKEN: TOKEN }, mutual)
    expect(await service.call('envoy', ASK)).toMatchObject({ overallCode: 'OK' })
    expect(await service.call('check', { requests: [REFUND] })).toMatchObject({
      answers: [{ decision: { allowed: true } }],
    })
    // Without an authority to verify it, a certificate says nothing.
    const unasked = credentials.createSsl(readFileSync(at('ca.crt')), Buffer.from(key), Buffer.from(cert))
    const other = await startWhole(tls, { SLUICE_TOKEN: TOKEN }, unasked)
    expect(await other.call('envoy', ASK)).toMatch(/^16: TOKEN_REQUIRED: /)
  })
})
