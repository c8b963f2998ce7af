import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { STALLED_MS } from '../../server/src/admin/dashboard/dashboard.ts'
import { MAX_HELD_BYTES } from '../../server/src/admin/dashboard/dashboard-files.ts'
import { SECURITY_HEADERS } from '../../server/src/admin/security-headers.ts'
import { startWith } from '../cli/sluice-process.suite.ts'

const page = readFileSync(new URL('../../docs/dashboard.md', import.meta.url), 'utf8')
const HOST = 'sluice.example.com'
const TOKEN = 'a-token-of-many-characters'

/** The headers that the proxy of the page sets, for a client that is elsewhere. */
function proxied(): Record<string, string> {
  const values: Readonly<Record<string, string>> = { $host: HOST, $remote_addr: '203.0.113.9' }
  const set = [...page.matchAll(/proxy_set_header (\S+) (\S+);/g)]
  return Object.fromEntries(set.map(([, name, value]) => [name, values[value] ?? value]))
}

describe('docs/dashboard.md', () => {
  it('shows the policy of every answer', () => {
    const [, shown = ''] = /^(default-src .*?)^```$/ms.exec(page) ?? []
    expect(shown.trim().replaceAll('\n', ' ')).toBe(SECURITY_HEADERS['Content-Security-Policy'])
  })

  it('says what the service holds, and for how long it waits', () => {
    expect(page).toContain(`at most ${MAX_HELD_BYTES / 1_048_576} MiB`)
    expect(page).toContain(`takes nothing for ${STALLED_MS / 1000} s is cut off`)
  })

  it('has a proxy behind which one logs in, with a cookie for https alone, and changes something', async () => {
    const { admin } = await startWith({ SLUICE_ADMIN_NAMES: HOST, SLUICE_ADMIN_TOKEN: TOKEN })
    const ask = async (method: string, path: string, headers: Record<string, string> = {}, body = '') => {
      const sent = { ...headers, ...proxied(), connection: 'close', 'content-type': 'application/json' }
      const asked = request(`${admin}${path}`, { method, headers: sent })
      asked.end(body)
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      return { status: response.statusCode, headers: response.headers, body: await text(response) }
    }
    expect((await ask('GET', '/', { accept: 'text/html' })).status).toBe(200)
    expect((await ask('GET', '/admin/v1/session')).status).toBe(401)
    const origin = `https://${HOST}`
    const login = await ask('POST', '/admin/v1/session', { origin }, JSON.stringify({ token: TOKEN }))
    const [set = ''] = login.headers['set-cookie'] ?? []
    expect([login.status, set]).toEqual([200, expect.stringMatching(/; HttpOnly; SameSite=Strict; Secure$/)])
    const cookie = set.split(';', 1)[0]
    expect((await ask('GET', '/admin/v1/session', { cookie })).body).toContain('"via":"session"')
    expect((await ask('DELETE', '/admin/v1/session', { cookie, origin })).status).toBe(204)
    expect((await ask('DELETE', '/admin/v1/session', { cookie, origin: 'https://evil.example' })).status).toBe(403)
  })
})
