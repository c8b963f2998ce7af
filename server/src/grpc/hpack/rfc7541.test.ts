import { describe, expect, it } from 'vitest'
import { HpackDecoder } from './hpack-decoder.ts'
import { type HeaderField, HpackEncoder, writeInteger } from './hpack-encoder.ts'

// The examples of RFC 7541, Appendix C.

const limits = { maxListBytes: 65_536, maxFields: 100 }
const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'))
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const fieldsOf = (text: string): HeaderField[] =>
  text.split(' | ').map((field) => {
    const colon = field.indexOf(': ', 1)
    return { name: field.slice(0, colon), value: field.slice(colon + 2) }
  })

function decode(decoder: HpackDecoder, hex: string): HeaderField[] {
  const fields: HeaderField[] = []
  const block = bytesOf(hex)
  decoder.decode(block, 0, block.length, (name, value, sensitive) =>
    fields.push(sensitive ? { name, value, sensitive } : { name, value }),
  )
  return fields
}

function encode(encoder: HpackEncoder, fields: readonly HeaderField[]): string {
  const out = new Uint8Array(1024)
  return hexOf(out.subarray(0, encoder.encode(fields, out, 0)))
}

/** Reads the table by asking for index after index until there is none. */
function tableOf(decoder: HpackDecoder): HeaderField[] {
  const fields: HeaderField[] = []
  for (let index = 62; ; index++) {
    try {
      fields.push(...decode(decoder, (0x80 | index).toString(16)))
    } catch {
      return fields
    }
  }
}

describe('C.1: integers', () => {
  it.each([
    ['C.1.1', 10, 0x1f, '0a'],
    ['C.1.2', 1337, 0x1f, '1f9a0a'],
    ['C.1.3', 42, 0xff, '2a'],
  ])('%s: %i is written into the prefix %i as %s', (_, value, prefix, hex) => {
    const out = new Uint8Array(8)
    expect(hexOf(out.subarray(0, writeInteger(value, prefix, out, 0)))).toBe(hex)
  })

  it('C.1.1 and C.1.2 are read as the size of a table', () => {
    const decoder = new HpackDecoder(1337, limits)
    expect(() => decode(decoder, '3f9a0a')).not.toThrow()
    expect(() => decode(decoder, '3f9b0a')).toThrow('a table of 1338 bytes; SETTINGS_HEADER_TABLE_SIZE allows 1337')
    expect(() => decode(new HpackDecoder(10, limits), '2a')).not.toThrow()
    expect(() => decode(new HpackDecoder(9, limits), '2a')).toThrow('a table of 10 bytes')
  })
})

describe('C.2: fields', () => {
  const custom = { name: 'custom-key', value: 'custom-header' }
  const secret = { name: 'password', value: 'secret', sensitive: true }

  it.each([
    ['C.2.1', '400a6375 73746f6d 2d6b6579 0d637573 746f6d2d 68656164 6572', custom, [custom]],
    ['C.2.2', '040c2f73 616d706c 652f7061 7468', { name: ':path', value: '/sample/path' }, []],
    ['C.2.3', '10087061 7373776f 72640673 65637265 74', secret, []],
    ['C.2.4', '82', { name: ':method', value: 'GET' }, []],
  ])('%s is read, and the table is what it says', (_, hex, field, table) => {
    const decoder = new HpackDecoder(4096, limits)
    expect(decode(decoder, hex)).toEqual([field])
    expect(tableOf(decoder)).toEqual(table)
  })

  it.each([
    ['C.2.1', '400a6375 73746f6d 2d6b6579 0d637573 746f6d2d 68656164 6572', custom],
    ['C.2.3', '10087061 7373776f 72640673 65637265 74', secret],
    ['C.2.4', '82', { name: ':method', value: 'GET' }],
  ])('%s is written', (_, hex, field) => {
    expect(encode(new HpackEncoder({ huffman: false }), [field])).toBe(hex.replaceAll(' ', ''))
  })
})

const requests = [
  ':method: GET | :scheme: http | :path: / | :authority: www.example.com',
  ':method: GET | :scheme: http | :path: / | :authority: www.example.com | cache-control: no-cache',
  ':method: GET | :scheme: https | :path: /index.html | :authority: www.example.com | custom-key: custom-value',
]
const requestTables = [
  ':authority: www.example.com',
  'cache-control: no-cache | :authority: www.example.com',
  'custom-key: custom-value | cache-control: no-cache | :authority: www.example.com',
]

const [at21, at22] = ['Mon, 21 Oct 2013 20:13:21 GMT', 'Mon, 21 Oct 2013 20:13:22 GMT']
const cookie = 'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const responses = [
  `:status: 302 | cache-control: private | date: ${at21} | location: https://www.example.com`,
  `:status: 307 | cache-control: private | date: ${at21} | location: https://www.example.com`,
  `:status: 200 | cache-control: private | date: ${at22} | location: https://www.example.com | content-encoding: gzip | ${cookie}`,
]
const responseTables = [
  `location: https://www.example.com | date: ${at21} | cache-control: private | :status: 302`,
  `:status: 307 | location: https://www.example.com | date: ${at21} | cache-control: private`,
  `${cookie} | content-encoding: gzip | date: ${at22}`,
]

const series = [
  {
    title: 'C.3: requests without Huffman code',
    tableBytes: 4096,
    huffman: false,
    lists: requests,
    tables: requestTables,
    blocks: [
      '82868441 0f777777 2e657861 6d706c65 2e636f6d',
      '828684be 58086e6f 2d636163 6865',
      '828785bf 400a6375 73746f6d 2d6b6579 0c637573 746f6d2d 76616c75 65',
    ],
  },
  {
    title: 'C.4: requests with Huffman code',
    tableBytes: 4096,
    huffman: true,
    lists: requests,
    tables: requestTables,
    blocks: [
      '82868441 8cf1e3c2 e5f23a6b a0ab90f4 ff',
      '828684be 5886a8eb 10649cbf',
      '828785bf 408825a8 49e95ba9 7d7f8925 a849e95b b8e8b4bf',
    ],
  },
  {
    title: 'C.5: responses without Huffman code',
    tableBytes: 256,
    huffman: false,
    lists: responses,
    tables: responseTables,
    blocks: [
      `48033330 32580770 72697661 7465611d 4d6f6e2c 20323120 4f637420 32303133 2032303a 31333a32 3120474d 546e1768
       74747073 3a2f2f77 77772e65 78616d70 6c652e63 6f6d`,
      '48033330 37c1c0bf',
      `88c1611d 4d6f6e2c 20323120 4f637420 32303133 2032303a 31333a32 3220474d 54c05a04 677a6970 7738666f 6f3d4153
       444a4b48 514b425a 584f5157 454f5049 55415851 57454f49 553b206d 61782d61 67653d33 3630303b 20766572 73696f6e
       3d31`,
    ],
  },
  {
    title: 'C.6: responses with Huffman code',
    tableBytes: 256,
    huffman: true,
    lists: responses,
    tables: responseTables,
    blocks: [
      `48826402 5885aec3 771a4b61 96d07abe 941054d4 44a82005 95040b81 66e082a6 2d1bff6e 919d29ad 171863c7 8f0b97c8
       e9ae82ae 43d3`,
      '4883640e ffc1c0bf',
      `88c16196 d07abe94 1054d444 a8200595 040b8166 e084a62d 1bffc05a 839bd9ab 77ad94e7 821dd7f2 e6c7b335 dfdfcd5b
       3960d5af 27087f36 72c1ab27 0fb5291f 95873160 65c003ed 4ee5b106 3d5007`,
    ],
  },
]

describe.each(series)('$title', ({ tableBytes, huffman, lists, tables, blocks }) => {
  it('are read, and the table follows', () => {
    const decoder = new HpackDecoder(tableBytes, limits)
    blocks.forEach((block, i) => {
      expect(decode(decoder, block)).toEqual(fieldsOf(lists[i]))
      expect(tableOf(decoder)).toEqual(fieldsOf(tables[i]))
    })
  })

  it('are written, behind the size of a table that is not the default', () => {
    const encoder = new HpackEncoder({ huffman })
    encoder.setPeerMaxTableBytes(tableBytes)
    const sizeUpdate = tableBytes === 256 ? '3fe101' : ''
    const written = lists.map((list) => encode(encoder, fieldsOf(list)))
    expect(written).toEqual(blocks.map((block, i) => (i === 0 ? sizeUpdate : '') + block.replaceAll(/\s/g, '')))
  })
})
