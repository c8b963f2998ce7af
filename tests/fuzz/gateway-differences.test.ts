import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { exchangeBytes, startApp, startGateway } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { startNginxProxy } from '../servers/nginx.mjs'

// The same bytes to the gateway, to a server of Node.js and to nginx, each before the same app: docs/gateway.md has the
// differences and their reasons.

const H = 'Host: a.example\r\n'
const post = (fields: string, body = ''): string => `POST /case HTTP/1.1\r\n${H}${fields}\r\n${body}`
const get = (fields: string, target = '/case'): string => `GET ${target} HTTP/1.1\r\n${fields}\r\n`
const chunked = (chunks: string): string => post('Transfer-Encoding: chunked\r\n', chunks)

const CASES: readonly (readonly [what: string, bytes: string])[] = [
  ['a length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  ['an empty `Transfer-Encoding`', post('Transfer-Encoding:\r\n')],
  ['an empty `Transfer-Encoding`, and a length', post('Transfer-Encoding:\r\nContent-Length: 4\r\n', 'abcd')],
  ['`Transfer-Encoding: gzip, chunked`', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
  ['`Transfer-Encoding: , chunked`', post('Transfer-Encoding: , chunked\r\n', '0\r\n\r\n')],
  ['`Transfer-Encoding: identity`', post('Transfer-Encoding: identity\r\n')],
  ['chunks in HTTP/1.0', `POST /case HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths that agree', post('Content-Length: 4\r\nContent-Length: 4\r\n', 'abcd')],
  ['two lengths that differ', post('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcd')],
  ['`Content-Length: 04`', post('Content-Length: 04\r\n', 'abcd')],
  ['`Content-Length: +4`', post('Content-Length: +4\r\n', 'abcd')],
  ['`Connection: content-length`', post('Connection: content-length\r\nContent-Length: 4\r\n', 'abcd')],
  ['a space before a colon', get(`${H}X : a\r\n`)],
  ['a folded line', get(`${H}X: a\r\n b\r\n`)],
  ['lines that end with LF', 'GET /case HTTP/1.1\nHost: a.example\n\n'],
  ['a bare CR in a value', get(`${H}X: a\rb\r\n`)],
  ['a NUL in a value', get(`${H}X: a\u0000b\r\n`)],
  ['a control character in a value', get(`${H}X: a\u0001b\r\n`)],
  ['a line without a colon', get(`${H}nonsense\r\n`)],
  ['no host', get('')],
  ['two hosts', get(`${H}Host: b\r\n`)],
  ['an empty host', get('Host:\r\n')],
  ['`Host: a,b`', get('Host: a,b\r\n')],
  ['`Host: a%00b`', get('Host: a%00b\r\n')],
  ['`Host: a:99999`', get('Host: a:99999\r\n')],
  ['`Host: me@a`', get('Host: me@a\r\n')],
  ['a target of another scheme', get(H, 'ftp://a.example/case')],
  ['a user in a target', get(H, 'http://me@a.example/case')],
  ['a target that begins with `//`', get(H, '//a.example/case')],
  ['a backslash in a target', get(H, '/case\\b')],
  ['`#` in a target', get(H, '/case#b')],
  ['a byte above ASCII in a target', get(H, '/case\u00e4')],
  ['`*` for GET', get(H, '*')],
  ['a method in lower case', `get /case HTTP/1.1\r\n${H}\r\n`],
  ['`HTTP/1.2`', `GET /case HTTP/1.2\r\n${H}\r\n`],
  ['`HTTP/2.0`', `GET /case HTTP/2.0\r\n${H}\r\n`],
  ['two spaces in the request line', `GET  /case HTTP/1.1\r\n${H}\r\n`],
  ['`Expect: x`', get(`${H}Expect: x\r\n`)],
  ['`TRACE`', `TRACE /case HTTP/1.1\r\n${H}\r\n`],
  ['`Upgrade: h2c`', get(`${H}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n`)],
  [
    '`Upgrade: websocket` and a body',
    post('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n', 'abcd'),
  ],
  ['a body of GET', get(`${H}Content-Length: 4\r\n`) + 'abcd'],
  ['a chunk extension', chunked('4;a=b\r\nabcd\r\n0\r\n\r\n')],
  ['a chunk size with a space', chunked('4 \r\nabcd\r\n0\r\n\r\n')],
  ['a chunk that ends with LF', chunked('4\r\nabcd\n0\r\n\r\n')],
  ['a chunk size that ends with LF', chunked('4\nabcd\r\n0\r\n\r\n')],
  ['a trailer `Content-Length`', chunked('0\r\nContent-Length: 4\r\n\r\n')],
  ['a trailer', chunked('0\r\nX: 4\r\n\r\n')],
]

const LAST = `GET /last HTTP/1.1\r\n${H}Connection: close\r\n\r\n`

/** Sends each case to a port, and says whether the app has served it. */
async function outcomes(port: number, served: string[]): Promise<string[]> {
  const found: string[] = []
  for (const [, bytes] of CASES) {
    served.length = 0
    await exchangeBytes(port, bytes + LAST)
    found.push(served.some((url) => url !== '/last') ? 'served' : 'refused')
  }
  return found
}

/** The rows of the table in docs/gateway.md, without their reasons. */
function rowsOf(text: string): string[] {
  const [, section = ''] = /^### What others do\n([\s\S]*?)\n## /m.exec(text) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  for (const row of rows) expect(row.split(' | ').length, row).toBe(5)
  return rows.slice(1).map((row) => row.split(' | ').slice(0, 4).join(' | '))
}

describe('what the gateway, Node.js and nginx make of the same bytes', () => {
  it('differs as docs/gateway.md says, and the gateway serves nothing that Node.js refuses', async () => {
    const served: string[] = []
    const app = await startApp((request, response) => {
      served.push(request.url ?? '')
      request.resume().on('end', () => response.end('ok'))
    })
    const port = Number(new URL(app).port)
    const nginx = await startNginxProxy(port)
    onTestFinished(() => nginx.stop())
    const gateway = await startGateway(app)
    const [ours, node, theirs] = [
      await outcomes(gateway.port, served),
      await outcomes(port, served),
      await outcomes(nginx.port, served),
    ]
    const rows = CASES.flatMap(([what], i) => {
      const all = [ours[i], node[i], theirs[i]]
      return new Set(all).size === 1 ? [] : [`| ${what} | ${all.join(' | ')}`]
    })
    const bold = CASES.filter((_, i) => ours[i] === 'served' && node[i] === 'refused').map(([what]) => what)
    expect(bold).toEqual([])
    const versions = [process.version.split('.')[0], execFileSync('sh', ['-c', `${requireCommand('nginx')} -v 2>&1`])]
    // Other versions may differ in other ways; the claim above holds for all.
    if (!/^v20,.*nginx\/1\.22\./s.test(versions.join(','))) return
    const documented = rowsOf(readFileSync(new URL('../../docs/gateway.md', import.meta.url), 'utf8'))
    expect(documented).toEqual(rows)
  })
})
