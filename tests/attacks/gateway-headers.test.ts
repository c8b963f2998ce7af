import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchangeBytes, startApp, startGateway } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'

const H = 'Host: a.example\r\n'

/** Fields by which proxies tell applications who asks, for what and by which way: none is a client's to send. */
const BELIEVED = [
  ...['True-Client-IP', 'CF-Connecting-IP', 'CF-Connecting-IPv6', 'CF-Pseudo-IPv4', 'X-Client-IP', 'Client-IP'],
  ...['X-Cluster-Client-IP', 'Fastly-Client-IP', 'Fly-Client-IP', 'X-Real-IP', 'X-Remote-IP', 'X-Remote-Addr'],
  ...['X-Originating-IP', 'X-Azure-ClientIP', 'X-AppEngine-User-IP', 'X-Envoy-External-Address', 'X-ProxyUser-IP'],
  ...['X-Forwarded', 'Forwarded-For', 'X-Original-Forwarded-For', 'Proxy-Client-IP', 'WL-Proxy-Client-IP'],
  ...['X-Original-URL', 'X-Original-URI', 'X-Original-Host', 'X-Original-Method', 'X-Rewrite-URL', 'X-Host'],
  ...['X-Forwarded-Prefix', 'X-Forwarded-Scheme', 'X-Forwarded-Server', 'X-Forwarded-Port', 'X-Forwarded-By'],
  ...['X-Forwarded-Uri', 'X-Forwarded-Path', 'X-Forwarded-Method', 'X-Forwarded-Ssl', 'X-Forwarded-Client-Cert'],
  ...['X-Forwarded-User', 'X-Forwarded-Email', 'X-Forwarded-Groups', 'X-Remote-User', 'Remote-User'],
  ...['X-Auth-Request-Email', 'X-WebAuth-User', 'X-Goog-Authenticated-User-Email', 'X-MS-Client-Principal'],
  ...['X-SSL-Client-Verify', 'SSL-Client-Cert', 'X-Client-Cert', 'X-Scheme', 'X-Url-Scheme', 'Front-End-Https'],
  ...['X-Host-Override', 'X-HTTP-Host-Override', 'X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method'],
  ...['X-Middleware-Subrequest', 'Proxy'],
]

/** Fields of clients that look alike, and pass. */
const PASSING = ['X-Forward', 'X-Clients', 'CF-Turnstile-Response', 'X-Origin', 'Remote', 'X_Custom', 'X-Hosts']

/** Starts an app that keeps the fields it gets. */
async function scene(setup: Parameters<typeof startGateway>[1] = {}) {
  const seen: Record<string, string>[] = []
  const app = await startApp((request, response) => {
    const { rawHeaders: raw } = request
    seen.push(
      Object.fromEntries(raw.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] ?? '']] : []))),
    )
    response.end('ok')
  })
  return { seen, ...(await startGateway(app, setup)) }
}

const lines = (names: readonly string[]): string => names.map((name) => `${name}: evil\r\n`).join('')
const get = (fields: string): string => `GET / HTTP/1.1\r\n${H}Connection: close\r\n${fields}\r\n`

async function overHttp2(url: string, headers: Record<string, string>): Promise<number> {
  const session = connect(url)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return new Promise((resolve, reject) => {
    const stream = session.request(headers)
    stream.on('response', (fields) => resolve(Number(fields[':status'])))
    stream.on('error', reject)
    stream.resume()
  })
}

describe('fields that applications believe', () => {
  it.each(BELIEVED)('do not come from clients: %s', async (name) => {
    const { port, url, seen } = await scene()
    const spellings = [name, name.toUpperCase(), name.toLowerCase()]
    for (const each of spellings) await exchangeBytes(port, get(lines([each])))
    expect(await overHttp2(url, { ':path': '/', [name.toLowerCase()]: 'evil' })).toBe(200)
    expect(seen).toHaveLength(4)
    for (const fields of seen)
      expect([name, Object.values(fields)]).not.toEqual([name, expect.arrayContaining(['evil'])])
  })

  it('nor under names that CGI, or a server like it, reads as theirs', async () => {
    const { port, seen } = await scene()
    const odd = BELIEVED.flatMap((name) => ['_', '.', '!', '~'].map((sign) => name.replaceAll('-', sign)))
    await exchangeBytes(port, get(lines(odd.filter((name) => !BELIEVED.includes(name)))))
    expect(Object.keys(seen[0] ?? {}).filter((name) => seen[0]?.[name] === 'evil')).toEqual([])
  })

  it('come from trusted proxies', async () => {
    const { port, seen } = await scene({ trust: { trustedProxies: ['loopback'] } })
    const passing = BELIEVED.filter((name) => name !== 'Proxy')
    await exchangeBytes(port, get(lines(passing)))
    for (const name of passing) expect([name, seen[0]?.[name.toLowerCase()]]).toEqual([name, 'evil'])
  })

  it('come from clients where a setting names them, and no others', async () => {
    const { port, seen } = await scene({ passHeaders: ['X-HTTP-Method-Override', 'x-client-ip'] })
    await exchangeBytes(port, get(lines([...BELIEVED, 'X_Client_IP', 'X-Forwarded-For'])))
    const passed = Object.keys(seen[0] ?? {}).filter((name) => seen[0]?.[name] === 'evil')
    expect(passed.sort()).toEqual(['x-client-ip', 'x-http-method-override'])
    expect(seen[0]?.['x-forwarded-for']).toBe('127.0.0.1')
  })

  it('are no others: fields that look alike pass', async () => {
    const { port, seen } = await scene()
    await exchangeBytes(port, get(lines(PASSING)))
    for (const name of PASSING) expect([name, seen[0]?.[name.toLowerCase()]]).toEqual([name, 'evil'])
  })

  it('do not come as trailers either', async () => {
    const trailers: string[] = []
    const app = await startApp((request, response) => {
      request.resume().on('end', () => {
        trailers.push(...request.rawTrailers)
        response.end('ok')
      })
    })
    const { port } = await startGateway(app)
    const chunked = `POST / HTTP/1.1\r\n${H}Connection: close\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n\r\n0\r\n`
    expect(await exchangeBytes(port, `${chunked}X-Client-IP: evil\r\nX-Mine: 1\r\n\r\n`)).toContain('200 OK')
    expect(trailers).toEqual(['X-Mine', '1'])
  })

  it.each(['content-length', 'transfer-encoding', 'host', 'x-forwarded-for'])(
    'nor %s as a trailer of HTTP/2',
    async (name) => {
      const seen: string[] = []
      const app = await startApp((request, response) => {
        request.resume().on('end', () => {
          seen.push(...request.rawTrailers)
          response.end('ok')
        })
      })
      const { url } = await startGateway(app)
      const session = connect(url)
      session.on('error', () => {})
      onTestFinished(() => session.destroy())
      const status = await new Promise((resolve) => {
        const stream = session.request({ ':method': 'POST', ':path': '/' }, { waitForTrailers: true })
        stream.on('error', () => resolve('reset'))
        stream.on('close', () => resolve('reset'))
        stream.on('wantTrailers', () => {
          try {
            stream.sendTrailers({ [name]: '5' })
          } catch {
            resolve('not sent')
          }
        })
        stream.on('response', (fields) => resolve(fields[':status']))
        stream.end('body')
      })
      expect(status).not.toBe(200)
      expect(seen).toEqual([])
    },
  )
})

const GOOD = [
  ...['a', 'a.example', 'A.EXAMPLE', 'a.example.', 'my_service', 'a_b.example:8080', '127.0.0.1', '127.0.0.1:80'],
  ...['xn--bcher-kva.example', 'a-b--c.example', '-a.example', '0', 'a:1', 'a:65535', '[::1]', '[::1]:8080'],
  ...['[2001:db8::17]', '[::ffff:127.0.0.1]', 'a'.repeat(250)],
]
const BAD = [
  ...['a,b', 'a.example, b.example', 'a;b', 'a b', 'a\tb', 'a%00b', 'a%2eb', '%61', 'a%', "a'b", 'a"b', 'a!b', 'a$b'],
  ...['a&b', 'a(b)', 'a*b', '*', '*.example', 'a+b', 'a=b', 'a~b', 'a^b', 'a|b', 'a`b', 'a{b}', 'a<b>', 'a\\b', 'a/b'],
  ...['a?b', 'a#b', 'me@a', 'me:x@a', '@a', 'a@', 'http://a', '.', '..', '.a', 'a..b', 'a..', ':', ':80', 'a:', 'a::'],
  ...['a:0', 'a:00', 'a:080', 'a:65536', 'a:99999', 'a:123456', 'a:-1', 'a:+1', 'a:8e1', 'a:80:80', 'a:x', 'a: 80'],
  ...['[', ']', '[]', '[::1', '::1', '::1]', '[::1]]', '[[::1]]', '[:::::]', '[::1]x', '[::1]:', '[::1]:99999', '[1]'],
  ...['[127.0.0.1]', '[::1%eth0]', '[::1%25eth0]', '[v1.a]', '[g::1]', '[1:2:3:4:5:6:7:8:9]', '[a.example]'],
  ...['a\u00e4', '\u00ff', 'a'.repeat(256)],
]

describe('the host of a request', () => {
  it.each(GOOD)('may be %s', async (host) => {
    const { port, url, seen } = await scene()
    expect(await exchangeBytes(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toContain(
      '200 OK',
    )
    expect(await exchangeBytes(port, `GET http://${host}/ HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n`)).toContain(
      '200 OK',
    )
    expect(await overHttp2(url, { ':authority': host, ':path': '/' })).toBe(200)
    expect(seen.map((fields) => [fields.host, fields['x-forwarded-host']])).toEqual([1, 2, 3].map(() => [host, host]))
  })

  it.each(BAD)('is not %j', async (host) => {
    const { port, url, seen } = await scene()
    const answer = await exchangeBytes(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*GATEWAY_REQUEST_INVALID/)
    // What ends an authority makes another one of it, which may be right.
    if (!/[/?#]/.test(host)) {
      const absolute = await exchangeBytes(port, `GET http://${host}/ HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n`)
      expect(absolute).toMatch(/^HTTP\/1\.1 400 /)
    }
    const viaHttp2 = await overHttp2(url, { ':authority': host, ':path': '/' }).catch(() => 400)
    expect(viaHttp2).toBe(400)
    const field = await overHttp2(url, { ':authority': '', host, ':path': '/' }).catch(() => 400)
    expect(field).toBe(400)
    expect(seen).toEqual([])
  })

  it('is not empty, and not missing on HTTP/2', async () => {
    const { port, url, seen } = await scene()
    expect(await exchangeBytes(port, 'GET / HTTP/1.1\r\nHost: \r\n\r\n')).toContain('400 Bad Request')
    expect(await overHttp2(url, { ':authority': '', ':path': '/' }).catch(() => 400)).toBe(400)
    expect(seen).toEqual([])
  })
})
