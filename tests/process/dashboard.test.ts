import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { copyPglite, makeDataDir, SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { firstTokenOf, run, start, startWith } from '../cli/sluice-process.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** Asks as a page of the dashboard does: with the cookie that it got, and saying where it comes from. */
function browserOf(admin: string) {
  let cookie = ''
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${admin}/admin/v1/${path}`, {
      method,
      headers: {
        'sec-fetch-site': 'same-origin',
        ...(method !== 'GET' && { origin: admin }),
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const set = response.headers.get('set-cookie') ?? ''
    if (set !== '') cookie = set.split(';', 1)[0]
    const text = await response.text()
    return { status: response.status, set, json: text === '' ? {} : JSON.parse(text) }
  }
}

/** The addresses that a page names. */
const assetsOf = (page: string): string[] => [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)

describe('the dashboard of a service', () => {
  it('is complete at the address that is printed', async () => {
    const { welcome } = await start()
    const [, address = ''] = /^dashboard {2}(http:\S+)/m.exec(welcome) ?? []
    const page = await fetch(address, { headers: BROWSER })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const assets = assetsOf(await page.text())
    expect(assets.length).toBeGreaterThan(2)
    for (const path of assets) {
      const asset = await fetch(new URL(path, address), { headers: { 'accept-encoding': 'br' } })
      expect([path, asset.status, (await asset.text()).length > 0]).toEqual([path, 200, true])
    }
    expect(await (await fetch(address)).text()).toContain('/stats: what was counted')
  })

  it('may be viewed without a token on this machine, where there are no tokens', async () => {
    const { admin } = await start()
    const ask = browserOf(admin)
    expect((await ask('GET', 'session')).json).toMatchObject({ role: 'viewer', via: 'loopback' })
    expect((await ask('GET', 'live/history')).status).toBe(200)
    expect((await ask('POST', 'blocks', { customer_id: 'a' })).status).toBe(401)
  })

  it('is logged in to with a token that was set, before there is a database', { timeout: SLOW_MS }, async () => {
    const token = 'a-token-of-many-characters'
    const { admin, welcome } = await startWith({ SLUICE_ADMIN_TOKEN: token, SLUICE_DATA: makeDataDir() })
    expect(welcome).toMatch(/^dashboard .* log in with a token of SLUICE_ADMIN_TOKEN$/m)
    const ask = browserOf(admin)
    expect((await ask('POST', 'session', { token })).status).toBe(200)
    expect((await ask('GET', 'session')).json).toMatchObject({ role: 'admin', via: 'session' })
    expect((await ask('GET', 'live/history')).status).toBe(200)
  })

  it('is logged in to with the first token, which is in a file that only this user reads, and in no line of the log', {
    timeout: SLOW_MS,
  }, async () => {
    const dataDir = makeDataDir()
    await copyPglite(dataDir)
    const started = await startWith({ SLUICE_DATA: dataDir })
    const ask = browserOf(started.admin)
    // The page is there at once, and asks for a token: nobody knows yet whether there is one.
    expect((await fetch(`${started.admin}/`, { headers: BROWSER })).status).toBe(200)
    expect((await ask('GET', 'session')).status).toBe(401)
    const early = await ask('POST', 'session', { token: `sluice_${'x'.repeat(43)}` })
    expect([401, 503]).toContain(early.status)

    const token = await firstTokenOf(started)
    expect(token).toMatch(/^sluice_[\w-]{43}$/)
    expect(statSync(join(dataDir, 'first-token')).mode & 0o777).toBe(0o600)
    const log = await started.printed('the first token, for an admin')
    expect(log).not.toContain(token)
    expect(run(['token', 'first', '--data', dataDir]).stdout).toBe(`${token}\n`)
    const login = await ask('POST', 'session', { token })
    expect([login.status, login.json]).toMatchObject([200, { role: 'admin', via: 'session' }])
    // Browsers keep no Secure cookie that came by http, except from localhost, and not all of them.
    expect(login.set).toMatch(/^sluice_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    expect((await ask('GET', 'session')).json).toMatchObject({ name: 'first start', via: 'session' })
    await until('there are live figures', async () => {
      const { json } = await ask('GET', 'live/history')
      return (json.frames as unknown[]).length > 0
    })
    expect((await ask('POST', 'customers', { id: 'acme' })).status).toBe(201)
    expect((await ask('DELETE', 'session')).status).toBe(204)
    expect((await ask('GET', 'session')).status).toBe(401)
  })

  it('is served by a service with workers', { timeout: SLOW_MS }, async () => {
    const { url } = await sharedRedis()
    const { admin } = await start('--workers', '2', '--redis', url)
    expect((await fetch(`${admin}/login`, { headers: BROWSER })).status).toBe(200)
  })
})
