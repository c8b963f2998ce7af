import { describe, expect, it } from 'vitest'
import { problemOf, startWhole } from './service.suite.ts'

const TOKENS = { SLUICE_ADMIN_TOKEN: 'a-token-of-an-admin, viewer:a-token-of-a-viewer' }
const ADMIN = { authorization: 'Bearer a-token-of-an-admin' }
const VIEWER = { authorization: 'Bearer a-token-of-a-viewer' }
/** What a proxy on this machine adds: its client is elsewhere. */
const ELSEWHERE = { via: '1.1 proxy' }

describe('the admin port of a service', () => {
  it.each(['0.0.0.0', '::'])('is not opened on %s without a token', async (host) => {
    await expect(startWhole([`--admin-host=${host}`])).rejects.toThrow(`ADMIN_BIND_UNSAFE: --admin-host: got "${host}"`)
  })

  it('is opened with one, and asks for it', async () => {
    const { admin } = await startWhole(['--admin-host=127.0.0.1'], TOKENS)
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(admin + path, { headers: { connection: 'close', ...ELSEWHERE, ...headers } })
    for (const path of ['/stats', '/rlconfig', '/admin/v1/rules']) {
      expect(await problemOf(await get(path))).toEqual([401, 'ADMIN_TOKEN_REQUIRED'])
      expect((await get(path, VIEWER)).status).toBe(200)
    }
    expect((await get('/')).status).toBe(200)
  })

  it('says that there is no database where one is needed, and takes no change', async () => {
    const { admin } = await startWhole([], TOKENS)
    const customers = await fetch(`${admin}/admin/v1/customers`, { headers: { connection: 'close', ...ADMIN } })
    expect(await problemOf(customers)).toEqual([503, 'QUOTAS_UNAVAILABLE'])
    const change = await fetch(`${admin}/admin/v1/rules/switches`, {
      method: 'PUT',
      headers: { connection: 'close', 'content-type': 'application/json', ...VIEWER },
      body: JSON.stringify({ rule: null, mode: 'off' }),
    })
    expect(await problemOf(change)).toEqual([403, 'ROLE_INSUFFICIENT'])
  })

  it('lets programs of this machine read without a token, as long as there is none', async () => {
    const { admin } = await startWhole()
    const get = (path: string) => fetch(admin + path, { headers: { connection: 'close' } })
    for (const path of ['/', '/stats', '/rlconfig', '/admin/v1/rules', '/admin/v1/openapi.json']) {
      expect((await get(path)).status).toBe(200)
    }
  })

  it('does not accept the token of callers as an admin token', async () => {
    const { admin } = await startWhole([], { SLUICE_TOKEN: 'a-token-of-callers' })
    const headers = { connection: 'close', authorization: 'Bearer a-token-of-callers' }
    expect((await fetch(`${admin}/admin/v1/rules`, { headers })).status).toBe(401)
  })
})

describe('GET /v1/usage of a service', () => {
  it('is off unless it is switched on', async () => {
    const headers = { connection: 'close', 'x-api-key': 'abc123' }
    const { http } = await startWhole()
    expect((await fetch(`${http}/v1/usage`, { headers })).status).toBe(404)
    const { http: on } = await startWhole([], { SLUICE_CUSTOMER_USAGE: 'true' })
    expect(await problemOf(await fetch(`${on}/v1/usage`, { headers }))).toEqual([503, 'QUOTAS_UNAVAILABLE'])
  })
})
