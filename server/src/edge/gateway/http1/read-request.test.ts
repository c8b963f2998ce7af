import { describe, expect, it } from 'vitest'
import { readRequest } from './read-request.ts'

const HOST = ['Host: a.example']
const read = (line: string, ...fields: string[]) => readRequest([line, ...fields].join('\r\n'), 100)
const GET = 'GET /x?y HTTP/1.1'
const POST = 'POST / HTTP/1.1'

describe('the head of a request', () => {
  it('is read', () => {
    expect(read(GET, ...HOST)).toMatchObject({ method: 'GET', target: '/x?y', authority: 'a.example', bodyLength: 0 })
    expect(read(POST, ...HOST, 'Content-Length: 7')).toMatchObject({ bodyLength: 7, expectsContinue: false })
    expect(read(POST, ...HOST, 'transfer-encoding: Chunked')).toMatchObject({ bodyLength: -1 })
    expect(read('GET http://b.example:81?y HTTP/1.1', ...HOST)).toMatchObject({
      target: '/?y',
      authority: 'b.example:81',
    })
    expect(read('GET / HTTP/1.0')).toMatchObject({ version: '1.0', authority: '' })
  })

  it.each(['content-length', 'transfer-encoding', 'host', 'trailer', 'content-encoding', 'Content-Encoding'])(
    'must not have %s taken away by Connection',
    (name) => {
      expect(read(POST, ...HOST, `Connection: close, ${name}`)).toMatchObject({ code: 'GATEWAY_REQUEST_INVALID' })
    },
  )

  it.each([
    ['two hosts', GET, [...HOST, ...HOST]],
    ['no host', GET, []],
    ['two lengths', POST, [...HOST, 'Content-Length: 1', 'Content-Length: 1']],
    ['a length and a coding', POST, [...HOST, 'Content-Length: 1', 'Transfer-Encoding: chunked']],
    ['two codings', POST, [...HOST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['a coding in HTTP/1.0', 'POST / HTTP/1.0', ['Transfer-Encoding: chunked']],
    ['a length with a sign', POST, [...HOST, 'Content-Length: +1']],
    ['another line than a request', 'GET  / HTTP/1.1', HOST],
    ['a target of another server', 'GET http://a@b/ HTTP/1.1', HOST],
    ['a target with a fragment', 'GET /a#b HTTP/1.1', HOST],
    ['a star', 'GET * HTTP/1.1', HOST],
  ])('with %s is refused', (_, line, fields) => {
    expect(read(line, ...fields)).toMatchObject({ code: 'GATEWAY_REQUEST_INVALID' })
  })

  it.each([
    ['GATEWAY_VERSION_UNSUPPORTED', 'GET / HTTP/1.2', HOST],
    ['GATEWAY_VERSION_UNSUPPORTED', 'GET / HTTP/2.0', HOST],
    ['GATEWAY_METHOD_NOT_ALLOWED', 'CONNECT a.example:443 HTTP/1.1', HOST],
    ['GATEWAY_CODING_UNSUPPORTED', POST, [...HOST, 'Transfer-Encoding: gzip, chunked']],
    ['GATEWAY_EXPECTATION_UNKNOWN', POST, [...HOST, 'Expect: 200-ok']],
  ])('is answered with %s: %s', (code, line, fields) => {
    expect(read(line, ...fields)).toMatchObject({ code })
  })

  it('asks to go on only where a body comes, and knows of that', () => {
    const expects = [...HOST, 'Expect: 100-Continue']
    expect(read(POST, ...expects, 'Content-Length: 1')).toMatchObject({ expectsContinue: true })
    expect(read(POST, ...expects)).toMatchObject({ expectsContinue: false })
    expect(read('POST / HTTP/1.0', 'Expect: 100-continue', 'Content-Length: 1')).toMatchObject({
      expectsContinue: false,
    })
  })
})
