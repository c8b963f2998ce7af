import { once } from 'node:events'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../server/src/grpc/hpack/hpack-decoder.ts'
import { type HeaderField, HpackEncoder, mostEncodedBytes } from '../../server/src/grpc/hpack/hpack-encoder.ts'

// Our HPACK against the one inside of Node.js (nghttp2), over real sessions, in both directions.

const SETTINGS = 4
const HEADERS = 1
const END_OF_STREAM_AND_HEADERS = 0x5
const HEADER_TABLE_SIZE = 1

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Cuts whole frames off a stream of bytes and returns the rest. */
function framesOf(bytes: Buffer, onFrame: (type: number, flags: number, payload: Buffer) => void): Buffer {
  let rest = bytes
  while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
    const end = 9 + rest.readUIntBE(0, 3)
    onFrame(rest[3], rest[4], rest.subarray(9, end))
    rest = rest.subarray(end)
  }
  return rest
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789-_'
const visible = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('')
const text = (alphabet: string, minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength, maxLength })

const fields: fc.Arbitrary<HeaderField[]> = fc.array(
  fc.record({
    name: fc.oneof(
      fc.constantFrom('x-tenant', 'grpc-timeout', 'user-agent'),
      text(letters, 1, 12).map((name) => `x${name}`),
    ),
    value: fc.oneof(fc.constantFrom('acme', '', '20m', 'v'.repeat(600)), text(visible, 0, 80)),
    sensitive: fc.boolean(),
  }),
  { maxLength: 10 },
)
const lists = fc.sample(fields, { numRuns: 400, seed: 20_260_714 })

const pseudo: HeaderField[] = [
  { name: ':method', value: 'GET' },
  { name: ':scheme', value: 'http' },
  { name: ':authority', value: 'localhost' },
  { name: ':path', value: '/a/path/that/is/in/no/table' },
]

describe.each([4096, 0, 120, 65_536])('with a table of %i bytes', (tableBytes) => {
  it('nghttp2 reads what our encoder writes', async () => {
    const seen: HeaderField[][] = []
    const server = http2.createServer({ settings: { headerTableSize: tableBytes }, maxHeaderListPairs: 100 })
    type OnStream = (
      stream: http2.ServerHttp2Stream,
      headers: http2.IncomingHttpHeaders,
      flags: number,
      raw: string[],
    ) => void
    const onStream: OnStream = (stream, headers, _flags, raw) => {
      const sensitive = new Set((headers as { [http2.sensitiveHeaders]?: string[] })[http2.sensitiveHeaders])
      const list: HeaderField[] = []
      for (let i = 0; i < raw.length; i += 2)
        list.push({ name: raw[i], value: raw[i + 1], sensitive: sensitive.has(raw[i]) })
      seen.push(list)
      stream.close()
    }
    server.on('stream', onStream as (stream: http2.ServerHttp2Stream) => void)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
    closing.push(
      () => socket.destroy(),
      () => server.close(),
    )

    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(SETTINGS, 0, 0, new Uint8Array()))
    const encoder = new HpackEncoder()
    let rest: Buffer = Buffer.alloc(0)
    const settled = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        rest = framesOf(Buffer.concat([rest, chunk]), (type, flags) => {
          if (type === SETTINGS && flags === 0) {
            socket.write(frame(SETTINGS, 1, 0, new Uint8Array()))
            resolve()
          }
        })
      })
    })
    await settled
    encoder.setPeerMaxTableBytes(tableBytes)
    lists.forEach((list, i) => {
      const all = [...pseudo, ...list]
      const out = new Uint8Array(mostEncodedBytes(all))
      const block = out.subarray(0, encoder.encode(all, out, 0))
      socket.write(frame(HEADERS, END_OF_STREAM_AND_HEADERS, 2 * i + 1, block))
    })
    await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(lists.length)
    // Node.js tells the names of sensitive fields, not which of several fields with one name it was.
    const told = (list: readonly HeaderField[]) => {
      const names = new Set(list.filter(({ sensitive }) => sensitive).map(({ name }) => name))
      return list.map(({ name, value }) => ({ name, value, sensitive: names.has(name) }))
    }
    expect(seen).toEqual(lists.map((list) => told([...pseudo, ...list])))
  })

  it('our decoder reads what nghttp2 writes', async () => {
    const decoder = new HpackDecoder(4096, { maxListBytes: 1 << 20, maxFields: 100 })
    const seen: HeaderField[][] = []
    const setting = Buffer.alloc(6)
    setting.writeUInt16BE(HEADER_TABLE_SIZE, 0)
    setting.writeUInt32BE(tableBytes, 2)
    const server = net.createServer((socket) => {
      socket.on('error', () => {})
      socket.write(frame(SETTINGS, 0, 0, setting))
      let rest: Buffer = Buffer.alloc(0)
      let isPreface = true
      socket.on('data', (chunk) => {
        rest = Buffer.concat([rest, chunk])
        if (isPreface && rest.length < 24) return
        if (isPreface) rest = rest.subarray(24)
        isPreface = false
        rest = framesOf(rest, (type, flags, payload) => {
          if (type === SETTINGS && flags === 1) decoder.setMaxTableBytes(tableBytes)
          else if (type === SETTINGS) socket.write(frame(SETTINGS, 1, 0, new Uint8Array()))
          if (type !== HEADERS) return
          const list: HeaderField[] = []
          decoder.decode(payload, 0, payload.length, (name, value, sensitive) => list.push({ name, value, sensitive }))
          seen.push(list)
        })
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    client.on('error', () => {})
    closing.push(
      () => client.destroy(),
      () => server.close(),
    )
    await once(client, 'remoteSettings')

    // One value a name: Node.js folds the values of a name into one field, or refuses a second one.
    const asked = lists.map((list) => [...new Map(list.map((each) => [each.name, each])).values()])
    for (const list of asked) {
      const headers: http2.OutgoingHttpHeaders = { ':path': '/p' }
      for (const { name, value } of list) headers[name] = value
      const sensitive = list.filter((each) => each.sensitive).map(({ name }) => name)
      const stream = client.request({ ...headers, [http2.sensitiveHeaders]: sensitive } as http2.OutgoingHttpHeaders)
      stream.on('error', () => {})
    }
    await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(asked.length)
    expect(seen.map((list) => list.filter(({ name }) => !name.startsWith(':')))).toEqual(asked)
  })
})
