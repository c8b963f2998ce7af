import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import {
  exchangeBytes,
  ManualClock,
  RecordingGate,
  type Setup,
  startApp,
  startGateway,
  startRaw,
  talkTo,
} from './gateway.suite.ts'

const H = 'Host: a.example\r\n'

/** throughGateway returns what the upstream heard of a GET with these fields. */
async function heard(fields: string, setup: Setup = {}): Promise<IncomingMessage['headers']> {
  let headers: IncomingMessage['headers'] = {}
  const app = await startApp((request, response) => {
    headers = request.headers
    response.end()
  })
  const { port } = await startGateway(app, setup)
  await exchangeBytes(port, `GET / HTTP/1.1\r\n${H}Connection: close\r\n${fields}\r\n`)
  return headers
}

/** Returns the bytes that a client gets for an answer of raw bytes. */
async function answerTo(answer: string, asked = `GET / HTTP/1.1\r\n${H}Connection: close\r\n\r\n`): Promise<string> {
  const app = await startRaw((socket) => {
    socket.once('data', () => socket.end(answer, 'latin1'))
  })
  const { port } = await startGateway(app, { route: { retries: 0 } })
  return exchangeBytes(port, asked)
}

const BROKEN = { code: 'ECONNRESET' }

/** Reads an answer whole, and rejects if it breaks off. */
function bodyOf(url: string, connection: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, { headers: { connection } }, (response) => {
      let body = ''
      response.on('data', (data) => (body += data))
      response.on('error', reject)
      response.on('end', () => resolve(body))
    })
    asked.on('error', reject)
    asked.end()
  })
}

const withoutOurs = (text: string): string => text.replace(/(?:date|x-request-id): [^\r]*\r\n/gi, '')

describe('where a request came from', () => {
  it('is set by the gateway, not by the client', async () => {
    const received = await heard(
      'X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Real-IP: 6.6.6.6\r\nX-Request-Id: mine\r\n',
    )
    expect(received).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'a.example',
      forwarded: 'for=127.0.0.1;host=a.example;proto=http',
      via: '1.1 sluice',
      host: 'a.example',
    })
    expect(JSON.stringify(received)).not.toMatch(/6\.6\.6\.6|evil|mine/)
  })

  it('is added to what a trusted proxy says', async () => {
    const received = await heard(
      'X-Forwarded-For: 203.0.113.7\r\nForwarded: for=203.0.113.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\nVia: 1.1 front\r\nX-Request-Id: mine\r\n',
      { trust: { trustedProxies: ['loopback'] } },
    )
    expect(received).toMatchObject({
      'x-forwarded-for': '203.0.113.7, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.example',
      forwarded: 'for=203.0.113.7, for=127.0.0.1;host=a.example;proto=http',
      via: '1.1 front, 1.1 sluice',
      'x-request-id': 'mine',
    })
  })

  it('decides which address the gate sees', async () => {
    const gate = new RecordingGate()
    await heard('X-Forwarded-For: 203.0.113.7\r\n', { gate, trust: { trustedProxies: ['loopback'] } })
    await heard('X-Forwarded-For: 203.0.113.7\r\n', { gate })
    expect(gate.asked.map(({ ip }) => ip)).toEqual(['203.0.113.7', '127.0.0.1'])
  })

  it('quotes a port in Forwarded', async () => {
    const app = await startApp((request, response) => response.end(request.headers.forwarded))
    const { url, port } = await startGateway(app)
    expect(await (await fetch(url)).text()).toBe(`for=127.0.0.1;host="127.0.0.1:${port}";proto=http`)
  })

  it('counts hops down for OPTIONS, and answers for the last one', async () => {
    const app = await startApp((request, response) => response.end(`left ${request.headers['max-forwards']}`))
    const { port } = await startGateway(app)
    const ask = (hops: number) =>
      exchangeBytes(port, `OPTIONS / HTTP/1.1\r\n${H}Max-Forwards: ${hops}\r\nConnection: close\r\n\r\n`)
    expect(await ask(2)).toContain('left 1')
    expect(await ask(0)).toContain('204 No Content')
  })
})

describe('an answer', () => {
  it.each<[what: string, upstream: string, client: string]>([
    [
      'with a length',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok',
    ],
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    [
      'that ends with its connection',
      'HTTP/1.0 200 OK\r\n\r\nok',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    [
      'with trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n',
    ],
    [
      'with trailers for one hop',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: x-hop\r\n\r\n2\r\nok\r\n0\r\nX-Hop: 7\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    [
      '204 with a length, which is wrong',
      'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n',
      'HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n',
    ],
    [
      '304 with the length of what it stands for',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: "a"\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\ncontent-length: 77\r\nconnection: close\r\n\r\n',
    ],
    [
      'with repeated fields',
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    ],
    [
      'with fields for one hop',
      'HTTP/1.1 200 OK\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: a\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    ],
    [
      'with bytes that are not ASCII',
      'HTTP/1.1 200 OK\r\nX-Name: J\u00fcrgen\r\nContent-Length: 1\r\n\r\n\u00fc',
      'HTTP/1.1 200 OK\r\nX-Name: J\u00fcrgen\r\ncontent-length: 1\r\nconnection: close\r\n\r\n\u00fc',
    ],
    [
      'after early hints',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    ],
    [
      'after an unsolicited 100',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    ],
  ])('%s comes through', async (_, upstream, client) => {
    expect(withoutOurs(await answerTo(upstream))).toBe(client)
  })

  it('to HEAD has the length and no body', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n',
      `HEAD / HTTP/1.1\r\n${H}Connection: close\r\n\r\n`,
    )
    expect(withoutOurs(answer)).toBe('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n')
  })

  it('to HTTP/1.0 has no chunks, no interim answers, and ends with the connection', async () => {
    const upstream =
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
    const answer = await answerTo(upstream, 'GET / HTTP/1.0\r\n\r\n')
    expect(withoutOurs(answer)).toBe('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok')
  })

  it('has a date and an id, even if the upstream sent none', async () => {
    expect(await answerTo('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')).toMatch(
      /\r\ndate: \w{3}, .* GMT\r\nx-request-id: [\w-]+\r\n/,
    )
  })

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['lines that end with LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an unsolicited switch', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['a head of 70 KB', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`],
    ['a flood of interim answers', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(40)],
  ])('with %s is a 502', async (_, upstream) => {
    const answer = await answerTo(upstream)
    expect(answer).toContain('HTTP/1.1 502 Bad Gateway\r\n')
    expect(answer).toContain('GATEWAY_UPSTREAM_INVALID')
  })

  it.each([
    ['its length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
    ['its last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ])('that ends before %s is not made to look complete', async (_, upstream) => {
    const gate = new RecordingGate()
    const app = await startRaw((socket) => void socket.once('data', () => socket.end(upstream)))
    const { url } = await startGateway(app, { gate })
    // Not fetch: on a connection that is to be closed, it takes a reset for the end of a body in chunks.
    for (const connection of ['keep-alive', 'close'])
      await expect(bodyOf(url, connection)).rejects.toMatchObject(BROKEN)
    expect(gate.ended).toEqual(['upstream-error', 'upstream-error'])
  })

  it('that says more than its length is cut there, and its connection is not used again', async () => {
    let connections = 0
    const app = await startRaw((socket) => {
      connections++
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
      )
    })
    const { url } = await startGateway(app)
    expect(await (await fetch(url)).text()).toBe('ok')
    expect(await (await fetch(url)).text()).toBe('ok')
    expect(connections).toBe(2)
  })
})

describe('a request', () => {
  it('in chunks is forwarded in chunks, with its trailers', async () => {
    let seen = ''
    const app = await startApp((request, response) => {
      request.on('data', (chunk) => (seen += chunk))
      request.on('end', () => response.end(JSON.stringify([request.headers['transfer-encoding'], request.trailers])))
    })
    const { port } = await startGateway(app)
    const answer = await exchangeBytes(
      port,
      `POST / HTTP/1.1\r\n${H}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 7\r\n\r\n`,
    )
    expect(seen).toBe('abcde')
    expect(answer).toContain('["chunked",{"x-sum":"7"}]')
  })

  it('that expects 100 gets one from the gateway, and the upstream is not asked for one', async () => {
    const app = await startApp((request, response) => {
      request.resume().on('end', () => response.end(String(request.headers.expect)))
    })
    const { port } = await startGateway(app)
    const talk = talkTo(
      port,
      `POST / HTTP/1.1\r\n${H}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`,
    )
    await until('the body is asked for', () => talk.text() === 'HTTP/1.1 100 Continue\r\n\r\n')
    talk.socket.write('abc')
    await until('the answer is there', () => talk.text().endsWith('undefined'))
  })

  it('that is refused gets no 100', async () => {
    const gate = {
      admit: () => ({ kind: 'refused' as const, status: 429, headers: ['retry-after', '7'], body: 'slow down' }),
    }
    const { port } = await startGateway('http://127.0.0.1:9', { gate })
    const answer = await exchangeBytes(port, `POST / HTTP/1.1\r\n${H}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\nretry-after: 7\r\n/)
    expect(answer).toMatch(/connection: close\r\n\r\nslow down$/)
  })

  it('behind another on the same connection is answered after it, in order', async () => {
    const waiting: ServerResponse[] = []
    const app = await startApp((request, response) => {
      if (request.url === '/1') waiting.push(response)
      else response.end(`[${request.url}]`)
    })
    const { port } = await startGateway(app)
    const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\n${H}${more}\r\n`
    const talk = talkTo(port, get('/1') + get('/2') + get('/3', 'Connection: close\r\n'))
    await until('the first has arrived', () => waiting.length === 1)
    waiting[0]?.end('[/1]')
    await until('all are answered', () => talk.isClosed())
    expect(talk.text().match(/\[[^\]]*\]/g)).toEqual(['[/1]', '[/2]', '[/3]'])
  })

  it('is given up at the upstream when its client leaves', async () => {
    const gate = new RecordingGate()
    let isGivenUp = false
    let hasCome = false
    const app = await startApp((request) => {
      hasCome = true
      request.on('close', () => (isGivenUp = true))
    })
    const { port, gateway } = await startGateway(app, { gate })
    const talk = talkTo(port, `GET / HTTP/1.1\r\n${H}\r\n`)
    await until('it has come', () => hasCome)
    talk.socket.destroy()
    await until('it is given up', () => isGivenUp)
    expect(gate.ended).toEqual(['abort'])
    expect(gateway.stats.requests).toBe(0)
  })

  it('of a client that leaves while the gate thinks never reaches the upstream', async () => {
    let hears: (() => void) | undefined
    let decide: ((pass: { kind: 'admitted'; ended(kind: string): void }) => void) | undefined
    let received = ''
    let wasAsked = false
    const app = await startApp((_, response) => {
      wasAsked = true
      response.end()
    })
    const gate = {
      admit: (request: { onLeave(run: () => void): void }) => {
        request.onLeave(() => hears?.())
        return new Promise<{ kind: 'admitted'; ended(kind: string): void }>((resolve) => {
          decide = resolve
        })
      },
    }
    const { port } = await startGateway(app, { gate })
    const left = new Promise<void>((resolve) => {
      hears = resolve
    })
    const talk = talkTo(port, `GET / HTTP/1.1\r\n${H}\r\n`)
    await until('the gate is asked', () => decide !== undefined)
    talk.socket.destroy()
    await left
    decide?.({ kind: 'admitted', ended: (kind) => (received = kind) })
    await until('the pass has ended', () => received)
    expect([received, wasAsked]).toEqual(['abort', false])
  })

  it('is answered 500 when the gate fails, whether synchronously or later', async () => {
    const { url } = await startGateway('http://127.0.0.1:9', { gate: { admit: () => Promise.reject(new Error('no')) } })
    const failing = {
      admit: () => {
        throw new Error('no')
      },
    }
    const { url: other } = await startGateway('http://127.0.0.1:9', { gate: failing })
    for (const each of [url, other]) {
      const response = await fetch(each)
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([500, 'GATEWAY_FAILED'])
    }
  })

  it('is held until its route has seen enough of the body, and is then forwarded whole', async () => {
    let peeked = ''
    const gate = {
      admit: ({ body }: { body: Buffer | undefined }) => {
        peeked = String(body)
        return { kind: 'admitted' as const, ended: () => {} }
      },
    }
    const app = await startApp((request, response) => request.pipe(response))
    const { url } = await startGateway(app, { gate, route: { peekBytes: 4 } })
    expect(await (await fetch(url, { method: 'POST', body: 'abcdefgh' })).text()).toBe('abcdefgh')
    expect(peeked).toBe('abcd')
  })

  it.each([
    ['a length', 'Content-Length: 11\r\n\r\n'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n'],
  ])('with %s above the bound of its route is a 413', async (_, rest) => {
    const gate = new RecordingGate()
    const app = await startApp((request, response) => request.resume().on('end', () => response.end()))
    const { port } = await startGateway(app, { gate, route: { maxBodyBytes: 10 } })
    const answer = await exchangeBytes(port, `POST / HTTP/1.1\r\n${H}${rest}`)
    expect(answer).toContain('HTTP/1.1 413 ')
    expect(gate.ended.length).toBe(gate.admitted)
  })
})

describe('streams', () => {
  it('of events arrive one by one', async () => {
    let send: ((text: string) => void) | undefined
    const app = await startApp((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.flushHeaders()
      send = (text) => void response.write(`data: ${text}\n\n`)
    })
    const { url } = await startGateway(app)
    const response = await fetch(url)
    const reader = response.body?.getReader()
    for (const text of ['one', 'two']) {
      send?.(text)
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(`data: ${text}\n\n`)
    }
    await reader?.cancel()
  })

  it('are not read faster than their client reads', async () => {
    let written = 0
    const app = await startApp((_, response) => {
      const piece = Buffer.alloc(65_536)
      const more = (): void => {
        while (written < 256 * 1_048_576) {
          written += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    })
    const { port } = await startGateway(app)
    const talk = talkTo(port)
    talk.socket.pause()
    talk.socket.write(`GET / HTTP/1.1\r\n${H}\r\n`)
    let before = -1
    await until('the upstream has to wait', () => {
      const rests = written > 0 && written === before
      before = written
      return rests
    })
    expect(written).toBeLessThan(64 * 1_048_576)
    talk.socket.destroy()
  })

  it('are not sent faster than the upstream reads', async () => {
    const app = await startRaw((socket) => socket.pause())
    const clock = new ManualClock()
    const { port, gateway } = await startGateway(app, { clock, route: { maxBodyBytes: 2 ** 40 } })
    let sent = 0
    const asked = httpRequest({ port, method: 'POST', host: '127.0.0.1', agent: false })
    asked.on('error', () => {})
    const piece = Buffer.alloc(65_536)
    const more = (): void => {
      while (sent < 256 * 1_048_576) {
        sent += piece.length
        if (!asked.write(piece)) return void asked.once('drain', more)
      }
    }
    more()
    let before = -1
    await until('the client has to wait', () => {
      const rests = sent > 65_536 && sent === before
      before = sent
      return rests && gateway.inFlight()[0]?.isClientPaused
    })
    expect(sent).toBeLessThan(64 * 1_048_576)
    expect(gateway.stats.requests).toBe(1)
    asked.destroy()
    // Bytes that nobody takes stand between the client's end and the gateway: the time of the body is what ends it.
    await until('the request is over', () => {
      clock.advance(1_000)
      return gateway.stats.requests === 0
    })
  })

  it('of many megabytes arrive whole in both directions', async () => {
    const app = await startApp((request, response) => request.pipe(response))
    const { url } = await startGateway(app, { route: { maxBodyBytes: 2 ** 30 } })
    const body = Buffer.alloc(8 * 1_048_576)
    for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2_654_435_761) >>> 0, i)
    const response = await fetch(url, { method: 'POST', body })
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true)
  })
})
