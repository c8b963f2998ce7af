import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'
import { type BuiltDashboard, builtDashboard, CODE, PAGE } from './built-dashboard.suite.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const NO_PLACE = { folder: () => pathToFileURL('/nowhere/at/all/') }

interface Got {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

type Headers = Readonly<Record<string, string>>

/** start serves a dashboard. What it returns asks without changing a path or an answer, as fetch would. */
async function start(dashboard: Pick<BuiltDashboard, 'folder'>, options: Parameters<typeof startAdmin>[0] = {}) {
  const { url } = await startAdmin({
    setTokens: [{ role: 'viewer', token: 'a-token-of-a-viewer' }],
    ...options,
    dashboard,
  })
  return async (path: string, headers: Headers = { accept: BROWSER }, method = 'GET'): Promise<Got> => {
    const asked = request(url, { path, headers: { connection: 'close', ...headers }, method })
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
  }
}

describe('pages', () => {
  it.each(['/', '/login', '/customers', '/customers/a.b%2Fc', '/rules?at=5', '/explain/'])(
    'are one page at %s, for a browser',
    async (path) => {
      const get = await start(await builtDashboard())
      const { status, headers, body } = await get(path)
      expect([status, body.toString()]).toEqual([200, PAGE])
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        vary: 'Accept, Accept-Encoding',
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("script-src 'self'"),
      })
    },
  )

  it('are not for programs: they get the list of paths, and 404', async () => {
    const get = await start(await builtDashboard())
    const list = await get('/', { accept: '*/*' })
    expect([list.status, list.headers['content-type'], list.headers.vary]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'Accept',
    ])
    expect(list.body.toString()).toContain('/stats: what was counted')
    expect((await get('/', {})).body.toString()).toBe(list.body.toString())
    expect((await get('/customers', { accept: '*/*' })).status).toBe(404)
  })

  it('take nothing from what was there before', async () => {
    const get = await start(await builtDashboard())
    expect((await get('/stats', { authorization: 'Bearer a-token-of-a-viewer' })).body.toString()).toBe('a.hits: 1\n')
    expect((await get('/livez')).body.toString()).toBe('ok\n')
    expect((await get('/admin/v1/nothing')).status).toBe(404)
    expect((await get('/admin')).status).toBe(404)
    expect((await get('/customers', { accept: BROWSER }, 'POST')).status).toBe(404)
    expect((await get('/', { accept: BROWSER }, 'POST')).status).toBe(405)
  })

  it('need no token, behind a proxy either; what they show does', async () => {
    const get = await start(await builtDashboard())
    const headers = { accept: BROWSER, via: 'proxy' }
    expect((await get('/', headers)).status).toBe(200)
    expect((await get('/assets/index-1.js', headers)).status).toBe(200)
    expect((await get('/stats', headers)).status).toBe(401)
    expect((await get('/admin/v1/customers', headers)).status).toBe(401)
  })

  it('are not read by another name', async () => {
    const get = await start(await builtDashboard())
    for (const path of ['/', '/login', '/assets/index-1.js']) {
      expect((await get(path, { accept: BROWSER, host: 'evil.example' })).status).toBe(421)
    }
  })

  it('that a browser has are not sent again, until they change', async () => {
    const built = await builtDashboard()
    const get = await start(built)
    const { headers } = await get('/')
    const again = { accept: BROWSER, 'if-none-match': headers.etag ?? '' }
    const same = await get('/login', again)
    expect([same.status, same.body.length, same.headers.etag, same.headers['cache-control']]).toEqual([
      304,
      0,
      headers.etag,
      'no-cache',
    ])
    expect((await get('/', { ...again, 'if-none-match': `"x", W/${headers.etag}` })).status).toBe(304)
    expect((await get('/', { ...again, 'if-none-match': '"x"' })).status).toBe(200)
    // Compressed, it is another representation.
    expect((await get('/', { ...again, 'accept-encoding': 'gzip' })).status).toBe(200)
  })
})

describe('assets', () => {
  it.each([
    ['/assets/index-1.js', 'text/javascript; charset=utf-8'],
    ['/assets/index-1.css', 'text/css; charset=utf-8'],
    ['/assets/icon-1.svg', 'image/svg+xml'],
  ])('such as %s have their type, and are kept for ever', async (path, type) => {
    const get = await start(await builtDashboard())
    const { status, headers } = await get(path, {})
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
    })
    expect((await get(path, { 'if-none-match': headers.etag ?? '' })).status).toBe(304)
  })

  it.each([
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip;q=1, br;q=0.1', 'gzip', gunzipSync],
    ['', undefined, (bytes: Buffer) => bytes],
  ])('are sent as a client likes them (%s)', async (accepted, coding, unpack) => {
    const get = await start(await builtDashboard())
    const { headers, body } = await get('/assets/index-1.js', { 'accept-encoding': accepted })
    expect([headers['content-encoding'], headers['content-length']]).toEqual([coding, String(body.length)])
    expect(unpack(body).toString()).toBe(CODE)
  })

  it('are sent as they are where compressing was not worth it', async () => {
    const get = await start(await builtDashboard())
    const { headers, body } = await get('/assets/icon-1.svg', { 'accept-encoding': 'gzip, br' })
    expect([headers['content-encoding'], body.toString()]).toEqual([undefined, '<svg/>'])
  })

  it('answer HEAD as GET, without a body', async () => {
    const get = await start(await builtDashboard())
    const asked = { 'accept-encoding': 'br' }
    const { date: _, ...headers } = (await get('/assets/index-1.js', asked)).headers
    const head = await get('/assets/index-1.js', asked, 'HEAD')
    expect([head.status, head.body.length]).toEqual([200, 0])
    expect(head.headers).toMatchObject(headers)
  })

  it('take nothing', async () => {
    const get = await start(await builtDashboard())
    const { status, headers } = await get('/assets/index-1.js', {}, 'PUT')
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it('that are not known are answered 404, to browsers too', async () => {
    const get = await start(await builtDashboard())
    for (const path of ['/assets/index-2.js', '/assets/', '/assets/index-1.js/', '/assets/index-1.js.br']) {
      const { status, headers } = await get(path)
      expect([path, status, headers['content-type']]).toEqual([path, 404, 'application/problem+json'])
    }
  })
})

describe('files next to the page', () => {
  it('are asked for again every time, because their names stay', async () => {
    const get = await start(await builtDashboard({ 'index.html': PAGE, 'theme.js': CODE }))
    const { status, headers, body } = await get('/theme.js', {})
    expect([status, body.toString(), headers['cache-control'], headers['content-type']]).toEqual([
      200,
      CODE,
      'no-cache',
      'text/javascript; charset=utf-8',
    ])
    expect((await get('/theme.js', { 'if-none-match': headers.etag ?? '' })).status).toBe(304)
    for (const path of ['/theme.js.gz', '/index.html', '/manifest.json', '/licenses.txt', '/favicon.ico']) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
    expect((await get('/theme.js', {}, 'POST')).status).toBe(404)
  })

  it('are not there where nothing was built', async () => {
    expect((await (await start(NO_PLACE))('/theme.js')).status).toBe(404)
  })
})

describe('a dashboard that was not built', () => {
  it('says so to browsers, and how to build it; all else works', async () => {
    const get = await start(NO_PLACE)
    for (const path of ['/', '/login', '/assets/index-1.js']) {
      const { status, headers, body } = await get(path)
      expect([status, headers['content-type'], headers['cache-control']]).toEqual([
        503,
        'text/plain; charset=utf-8',
        'no-store',
      ])
      expect(body.toString()).toMatch(/^The dashboard is not there: .*\n.*`npm run build`/)
    }
    expect((await get('/', { accept: '*/*' })).status).toBe(200)
    expect((await get('/stats', { authorization: 'Bearer a-token-of-a-viewer' })).status).toBe(200)
  })

  it('is there as soon as it is built', async () => {
    const built = await builtDashboard()
    rmSync(join(built.path, 'manifest.json'))
    const get = await start(built)
    expect((await get('/')).status).toBe(503)
    await built.build({ 'index.html': 'new' })
    expect((await get('/')).body.toString()).toBe('new')
  })

  it('is too large to be held', async () => {
    const get = await start(await builtDashboard({ 'index.html': 'x', 'assets/a.png': Buffer.alloc(4_194_305) }))
    const { status, body } = await get('/')
    expect([status, body.toString()]).toEqual([503, expect.stringContaining('more than 4194304')])
  })
})

describe('a dashboard that is rebuilt while the service runs', () => {
  it('is served once a file is not what it was', async () => {
    const built = await builtDashboard()
    const get = await start(built)
    expect((await get('/')).status).toBe(200)
    await built.build({ 'index.html': 'new', 'assets/index-2.js': 'new' })
    // What was read stays; what was not is missed, and then the new list is read.
    expect((await get('/')).body.toString()).toBe(PAGE)
    expect((await get('/assets/index-1.js')).status).toBe(503)
    expect((await get('/')).body.toString()).toBe('new')
    expect((await get('/assets/index-2.js')).status).toBe(200)
    expect((await get('/assets/index-1.js')).status).toBe(404)
  })
})
