import { describe, expect, it } from 'vitest'
import {
  exchangeBytes,
  type Setup,
  startGateway,
  startRaw,
  talkTo,
} from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { until } from '../servers/until.mjs'

/** What reached the upstream, as bytes. The upstream answers every head it sees, as a lenient server would. */
async function scene(setup: Setup = {}) {
  const seen: string[] = []
  const app = await startRaw((socket) => {
    socket.on('data', (data: Buffer) => {
      seen.push(data.toString('latin1'))
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const { port } = await startGateway(app, setup)
  return { seen, port }
}

const H = 'Host: a.example\r\n'
const post = (fields: string, body = ''): string => `POST / HTTP/1.1\r\n${H}${fields}\r\n${body}`
const get = (target: string, fields = H): string => `GET ${target} HTTP/1.1\r\n${fields}\r\n`

const INVALID = 400
const CASES: [what: string, bytes: string, status: number][] = [
  ['both a length and chunks', post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), INVALID],
  [
    'chunks and a length, the other way round',
    post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'),
    INVALID,
  ],
  ['an empty Transfer-Encoding', post('Transfer-Encoding:\r\n'), INVALID],
  ['an empty Transfer-Encoding before a length', post('Transfer-Encoding:\r\nContent-Length: 4\r\n', 'abcd'), INVALID],
  ['another coding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
  ['an empty coding before chunked', post('Transfer-Encoding: , chunked\r\n', '0\r\n\r\n'), INVALID],
  ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 501],
  [
    'two Transfer-Encoding fields',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
    INVALID,
  ],
  ['a coding that looks like chunked', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
  ['a tab within chunked', post('Transfer-Encoding: chunked\u000b\r\n', '0\r\n\r\n'), INVALID],
  ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'), INVALID],
  ['chunks in HTTP/1.0', `POST / HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, INVALID],
  ['two lengths that differ', post('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcde'), INVALID],
  ['two lengths that agree', post('Content-Length: 4\r\nContent-Length: 4\r\n', 'abcd'), INVALID],
  ['a list of lengths', post('Content-Length: 4, 4\r\n', 'abcd'), INVALID],
  ['a length with a leading zero', post('Content-Length: 01\r\n', 'a'), INVALID],
  ['a length with a sign', post('Content-Length: +1\r\n', 'a'), INVALID],
  ['a negative length', post('Content-Length: -1\r\n'), INVALID],
  ['a length in hexadecimal', post('Content-Length: 0x1\r\n', 'a'), INVALID],
  ['an empty length', post('Content-Length:\r\n'), INVALID],
  ['a length beyond all numbers', post('Content-Length: 99999999999999999999\r\n'), INVALID],
  [
    'a length that Connection would remove',
    post('Connection: content-length\r\nContent-Length: 4\r\n', 'abcd'),
    INVALID,
  ],
  ['a host that Connection would remove', get('/', `${H}Connection: close, Host\r\n`), INVALID],
  ['a folded line', get('/', `${H}X: a\r\n b\r\n`), INVALID],
  ['a folded line at the start', get('/', ` X: a\r\n${H}`), INVALID],
  ['lines that end with LF', 'GET / HTTP/1.1\nHost: a.example\n\n', INVALID],
  ['one line that ends with LF', `GET / HTTP/1.1\r\nX: y\n${H}\r\n`, INVALID],
  ['a bare CR in a value', get('/', `${H}X: a\rb\r\n`), INVALID],
  ['a NUL in a value', get('/', `${H}X: a\u0000b\r\n`), INVALID],
  ['a NUL in a name', get('/', `${H}X\u0000: a\r\n`), INVALID],
  ['a line without a colon', get('/', `${H}nonsense\r\n`), INVALID],
  ['an empty name', get('/', `${H}: a\r\n`), INVALID],
  ['a name with a space', get('/', `${H}X Y: a\r\n`), INVALID],
  ['no host', get('/', ''), INVALID],
  ['two hosts', get('/', `${H}Host: b.example\r\n`), INVALID],
  ['two hosts that agree', get('/', `${H}${H}`), INVALID],
  ['an empty host', get('/', 'Host:\r\n'), INVALID],
  ['a host with a path', get('/', 'Host: a.example/x\r\n'), INVALID],
  ['a host with a user', get('/', 'Host: me@a.example\r\n'), INVALID],
  ['a host with a space', get('/', 'Host: a b\r\n'), INVALID],
  ['a host with no number for a port', get('/', 'Host: a.example:x\r\n'), INVALID],
  ['another scheme', get('ftp://a.example/'), INVALID],
  ['a user in an absolute target', get('http://me@a.example/'), INVALID],
  ['a target that begins with two slashes', get('//evil.example/x'), INVALID],
  ['an absolute target whose path begins with two slashes', get('http://a.example//evil'), INVALID],
  ['a backslash in a target', get('/a\\b'), INVALID],
  ['a fragment in a target', get('/a#b'), INVALID],
  ['a control character in a target', get('/a\u0001b'), INVALID],
  ['a byte that is not ASCII in a target', get('/\u00e4'), INVALID],
  ['a space in a target', get('/a b'), INVALID],
  ['a star for GET', get('*'), INVALID],
  ['an empty target', get(''), INVALID],
  ['CONNECT', `CONNECT a.example:443 HTTP/1.1\r\n${H}\r\n`, 405],
  ['a method in lower case', `get / HTTP/1.1\r\n${H}\r\n`, INVALID],
  ['a method with another character', `GE<T / HTTP/1.1\r\n${H}\r\n`, INVALID],
  ['a request of HTTP/0.9', 'GET /\r\n\r\n', INVALID],
  ['a line that says HTTP/0.9', `GET / HTTP/0.9\r\n${H}\r\n`, 505],
  ['a line that says HTTP/2.0', `GET / HTTP/2.0\r\n${H}\r\n`, 505],
  ['a line that says HTTP/1.2', `GET / HTTP/1.2\r\n${H}\r\n`, 505],
  ['a line that says http/1.1', `GET / http/1.1\r\n${H}\r\n`, INVALID],
  ['a tab in the request line', `GET\t/ HTTP/1.1\r\n${H}\r\n`, INVALID],
  ['two spaces in the request line', `GET  / HTTP/1.1\r\n${H}\r\n`, INVALID],
  ['an expectation that is none', post('Expect: y 100-continue\r\nContent-Length: 1\r\n', 'a'), 417],
  ['a chunk size that is no number', post('Transfer-Encoding: chunked\r\n', 'x\r\n'), INVALID],
  ['a chunk size with a sign', post('Transfer-Encoding: chunked\r\n', '+1\r\na\r\n0\r\n\r\n'), INVALID],
  ['a chunk size with 0x', post('Transfer-Encoding: chunked\r\n', '0x1\r\na\r\n0\r\n\r\n'), INVALID],
  ['a chunk size with a space', post('Transfer-Encoding: chunked\r\n', '1 \r\na\r\n0\r\n\r\n'), INVALID],
  ['an empty chunk size', post('Transfer-Encoding: chunked\r\n', '\r\na\r\n0\r\n\r\n'), INVALID],
  ['a chunk size beyond all numbers', post('Transfer-Encoding: chunked\r\n', 'fffffffffffffffff\r\n'), INVALID],
  ['a chunk that is longer than it says', post('Transfer-Encoding: chunked\r\n', '1\r\nab\r\n0\r\n\r\n'), INVALID],
  ['a chunk size that ends with LF', post('Transfer-Encoding: chunked\r\n', '1\na\r\n0\r\n\r\n'), INVALID],
  ['a chunk that ends with LF', post('Transfer-Encoding: chunked\r\n', '1\r\na\n0\r\n\r\n'), INVALID],
  ['a chunk extension with a LF', post('Transfer-Encoding: chunked\r\n', '1;a\nb\r\na\r\n0\r\n\r\n'), INVALID],
  [
    'chunk extensions of 5 KB',
    post('Transfer-Encoding: chunked\r\n', `1;${'a'.repeat(5_000)}\r\na\r\n0\r\n\r\n`),
    INVALID,
  ],
  ['a length among the trailers', post('Transfer-Encoding: chunked\r\n', '0\r\nContent-Length: 4\r\n\r\n'), INVALID],
  [
    'a coding among the trailers',
    post('Transfer-Encoding: chunked\r\n', '0\r\nTransfer-Encoding: chunked\r\n\r\n'),
    INVALID,
  ],
  ['a host among the trailers', post('Transfer-Encoding: chunked\r\n', '0\r\nHost: b\r\n\r\n'), INVALID],
  ['a trailer that ends with LF', post('Transfer-Encoding: chunked\r\n', '0\r\nX: y\n\r\n'), INVALID],
  ['a head of 70 KB', get('/', `${H}X: ${'a'.repeat(70_000)}\r\n`), 431],
  ['2,100 fields', get('/', `${H}${'a: b\r\n'.repeat(2_100)}`), 431],
]

describe('what could be read in two ways', () => {
  it.each(CASES)('refuses %s, and ends the connection', async (_, bytes, status) => {
    const { port, seen } = await scene()
    // A second request behind the first is what a smuggler wants to have answered.
    const answer = await exchangeBytes(port, `${bytes}GET /smuggled HTTP/1.1\r\n${H}\r\n`)
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code))
    expect(statuses).toEqual([status])
    expect(seen.join('')).not.toContain('/smuggled')
    expect(answer).toContain('GATEWAY_')
  })

  it('is named: every case above differs from a request that passes', async () => {
    const { port } = await scene()
    expect(await exchangeBytes(port, get('/', `${H}Connection: close\r\n`))).toContain('200 OK')
  })

  it('is not TRACE, which no route takes unless it says so', async () => {
    const { port, seen } = await scene()
    const answer = await exchangeBytes(port, `TRACE / HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
    expect(answer).toContain('405 Method Not Allowed')
    expect(answer).toContain('allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    expect(seen).toEqual([])
  })
})

describe('what has one meaning, and is written again', () => {
  it.each<[what: string, bytes: string, sent: string[], notSent: string[]]>([
    [
      'an absolute target counts, and not Host',
      get('http://b.example/x?y'),
      ['GET /x?y HTTP/1.1\r\nhost: b.example\r\n'],
      ['a.example'],
    ],
    ['an absolute target without a path', get('http://b.example'), ['GET / HTTP/1.1\r\nhost: b.example\r\n'], []],
    [
      'a body of GET keeps its length',
      `GET / HTTP/1.1\r\n${H}Content-Length: 2\r\n\r\nab`,
      ['content-length: 2\r\n\r\nab'],
      [],
    ],
    [
      'Upgrade: h2c is not passed on',
      get('/', `${H}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n`),
      [],
      ['pgrade', 'ettings'],
    ],
    [
      'chunk extensions are not passed on',
      post('Transfer-Encoding: chunked\r\n', '2;evil=1\r\nab\r\n0\r\n\r\n'),
      ['2\r\nab\r\n0\r\n\r\n'],
      ['evil'],
    ],
    [
      'CHUNKED in capitals is chunked',
      post('Transfer-Encoding: CHUNKED\r\n', '2\r\nab\r\n0\r\n\r\n'),
      ['transfer-encoding: chunked\r\n'],
      ['CHUNKED'],
    ],
    [
      'names that CGI reads as ours go',
      get('/', `${H}X_Forwarded_For: 6.6.6.6\r\nContent_Length: 7\r\nmy_key: 1\r\n`),
      ['my_key: 1'],
      ['6.6.6.6', 'Content_Length'],
    ],
    [
      'fields that Connection names go',
      get('/', `${H}Connection: X-Secret, keep-alive\r\nX-Secret: 1\r\nKeep-Alive: 5\r\n`),
      [],
      ['ecret', 'eep-'],
    ],
    [
      'ours stay, whatever Connection says',
      get('/', `${H}Connection: X-Forwarded-For, Via, X-Request-Id, Forwarded\r\n`),
      ['x-forwarded-for: 127.0.0.1', 'via: 1.1 sluice', 'forwarded: for=127.0.0.1', 'x-request-id'],
      [],
    ],
    ['one empty line before a request is skipped', `\r\n${get('/')}`, ['GET / HTTP/1.1\r\n'], []],
    ['Proxy-Connection and TE go', get('/', `${H}Proxy-Connection: keep-alive\r\nTE: gzip\r\n`), [], ['roxy-', 'gzip']],
  ])('%s', async (_, bytes, sent, notSent) => {
    const { port, seen } = await scene()
    const talk = talkTo(port, bytes)
    await until('the answer is there', () => talk.text().includes('\r\n\r\nok'))
    const told = seen.join('')
    for (const text of sent) expect(told).toContain(text)
    for (const text of notSent) expect(told).not.toContain(text)
  })

  it('passes 1,100 fields, where the bound allows them, and the length behind them', async () => {
    const { port, seen } = await scene({ bounds: { maxHeaders: 2_000 } })
    const many = Array.from({ length: 1_100 }, (_, i) => `x-${i}: ${i}\r\n`).join('')
    const talk = talkTo(port, post(`${many}Content-Length: 3\r\n`, 'abc'))
    await until('the answer is there', () => talk.text().includes('\r\n\r\nok'))
    expect(seen.join('')).toContain('x-1099: 1099\r\n')
    expect(seen.join('')).toMatch(/content-length: 3\r\n\r\nabc$/)
  })
})
