import { describe, expect, it } from 'vitest'
import { HpackDecoder, type HpackLimits } from './hpack-decoder.ts'
import { type HeaderField, HpackEncoder } from './hpack-encoder.ts'
import { HpackError } from './hpack-error.ts'

const wide: HpackLimits = { maxListBytes: 1 << 20, maxFields: 10_000 }
const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'))

function decode(decoder: HpackDecoder, block: Uint8Array | string): string[] {
  const bytes = typeof block === 'string' ? bytesOf(block) : block
  const fields: string[] = []
  decoder.decode(bytes, 0, bytes.length, (name, value, sensitive) => {
    fields.push(`${name}=${value}${sensitive ? ' (sensitive)' : ''}`)
  })
  return fields
}

function errorOf(work: () => unknown): HpackError {
  try {
    work()
  } catch (error) {
    if (error instanceof HpackError) return error
    throw error
  }
  return expect.fail('nothing was thrown')
}

const corruption = (hex: string, tableBytes = 4096) => {
  const { code, message } = errorOf(() => decode(new HpackDecoder(tableBytes, wide), hex))
  expect(code).toBe('COMPRESSION_ERROR')
  return message
}

/** Spells a field with indexing, as plain text. */
const literal = (name: string, value: string) => {
  const text = (each: string) => `${each.length.toString(16).padStart(2, '0')}${Buffer.from(each).toString('hex')}`
  return `40${text(name)}${text(value)}`
}

describe('a header block that breaks a rule', () => {
  it.each([
    ['index 0', '80', 'index 0 stands for no field (RFC 7541, 6.1)'],
    ['an index after the static table', 'be', 'index 62; the last entry is 61'],
    ['a name after the static table', '7e0161', 'index 62; the last entry is 61'],
    ['a large index', 'ffff7f', 'index 16510; the last entry is 61'],
    ['an integer of many bytes', 'ffffffffffff0f', 'an integer may have 4 bytes after its prefix'],
    ['an integer padded with zeros', 'ff8080808000', 'an integer may have 4 bytes after its prefix'],
    ['an integer that ends early', 'ffff', 'the header block ends within an integer'],
    ['a string that ends early', '0003 6162', 'the header block ends within a string'],
    ['a string that is missing', '00', 'the header block ends before a string'],
    ['a value that is missing', '000161', 'the header block ends before a string'],
    ['a string of 2^28 bytes', '007fffffff7f', 'the header block ends within a string'],
    ['EOS in a Huffman code', '000161 84ffffffff', 'a Huffman code holds EOS or bad padding (RFC 7541, 5.2)'],
    [
      'a size update after a field',
      '8220',
      'a table size update must be at the start of a header block (RFC 7541, 4.2)',
    ],
    ['a size above the setting', '3fe21f', 'a table of 4097 bytes; SETTINGS_HEADER_TABLE_SIZE allows 4096'],
  ])('is refused: %s', (_, hex, rule) => {
    expect(corruption(hex)).toBe(rule)
  })

  it('is refused when it is cut anywhere within a field', () => {
    const encoder = new HpackEncoder()
    const fields: HeaderField[] = [
      { name: ':path', value: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit' },
      { name: 'x-long', value: 'v'.repeat(300) },
      { name: 'x-bytes', value: '\u00fe\u00ff' },
      { name: 'authorization', value: 'secret', sensitive: true },
      { name: ':method', value: 'POST' },
    ]
    const out = new Uint8Array(1024)
    const ends = fields.map((_, i) => new HpackEncoder().encode(fields.slice(0, i + 1), out, 0))
    const length = encoder.encode(fields, out, 0)
    for (let end = 0; end < length; end++) {
      const read = () => decode(new HpackDecoder(4096, wide), out.slice(0, end))
      const whole = end === 0 ? 0 : ends.indexOf(end) + 1
      if (end === 0 || whole > 0) expect(read()).toHaveLength(whole)
      else expect(errorOf(read).code).toBe('COMPRESSION_ERROR')
    }
  })

  it('is read within its bounds, whatever surrounds it', () => {
    const fields: string[] = []
    const surrounded = bytesOf(`ffff ${literal('a', 'b')} ffff`)
    new HpackDecoder(4096, wide).decode(surrounded, 2, surrounded.length - 2, (name, value) => {
      fields.push(`${name}=${value}`)
    })
    expect(fields).toEqual(['a=b'])
    expect(() => new HpackDecoder(4096, wide).decode(bytesOf('0003 616263'), 0, 4, () => {})).toThrow('ends within')
  })
})

describe('the dynamic table', () => {
  it('gives the newest entry first, over any number of turns of its ring', () => {
    const decoder = new HpackDecoder(4096, wide)
    for (let n = 0; n < 1000; n++) {
      expect(decode(decoder, literal('n', `${n}`))).toEqual([`n=${n}`])
      const known = Math.min(n + 1, 100)
      expect(decode(decoder, 'be')).toEqual([`n=${n}`])
      expect(decode(decoder, `${(0xbd + Math.min(known, 60)).toString(16)}`)).toEqual([
        `n=${n - Math.min(known, 60) + 1}`,
      ])
    }
  })

  it('evicts the oldest entries when one needs their place', () => {
    const decoder = new HpackDecoder(3 * 34, wide)
    for (const name of ['a', 'b', 'c', 'd']) decode(decoder, literal(name, '1'))
    expect(decode(decoder, 'bebfc0')).toEqual(['d=1', 'c=1', 'b=1'])
    expect(errorOf(() => decode(decoder, 'c1')).message).toBe('index 65; the last entry is 64')
  })

  it('is emptied by an entry that is larger than itself', () => {
    const decoder = new HpackDecoder(64, wide)
    decode(decoder, literal('a', 'b'))
    expect(decode(decoder, literal('name', 'x'.repeat(29)))).toEqual([`name=${'x'.repeat(29)}`])
    expect(errorOf(() => decode(decoder, 'be')).code).toBe('COMPRESSION_ERROR')
    expect(decode(decoder, `${literal('c', 'd')}be`)).toEqual(['c=d', 'c=d'])
  })

  it('keeps the name that an entry takes from the one which it evicts (RFC 7541, 4.4)', () => {
    const decoder = new HpackDecoder(40, wide)
    decode(decoder, literal('name', '1234'))
    expect(decode(decoder, '7e03616263be')).toEqual(['name=abc', 'name=abc'])
  })

  it('keeps what fits when it shrinks, and may grow again', () => {
    const decoder = new HpackDecoder(4096, wide)
    decode(decoder, literal('a', '1') + literal('b', '2'))
    expect(decode(decoder, '3f03 be')).toEqual(['b=2'])
    expect(errorOf(() => decode(decoder, 'bf')).code).toBe('COMPRESSION_ERROR')
    expect(decode(decoder, `203fe11f${literal('c', '3')}be`)).toEqual(['c=3', 'c=3'])
  })

  it('takes no entry when its size is 0', () => {
    const decoder = new HpackDecoder(0, wide)
    expect(decode(decoder, literal('a', 'b'))).toEqual(['a=b'])
    expect(errorOf(() => decode(decoder, 'be')).code).toBe('COMPRESSION_ERROR')
  })

  it('has another version after each change and only then', () => {
    const decoder = new HpackDecoder(4096, wide)
    const changes = (block: string) => {
      const before = decoder.tableVersion
      decode(decoder, block)
      return decoder.tableVersion !== before
    }
    expect(changes(literal('a', 'b'))).toBe(true)
    expect(changes('82be')).toBe(false)
    expect(changes('000161 0162')).toBe(false)
    expect(changes('100161 0162')).toBe(false)
    expect(changes('3fe11f')).toBe(false)
    expect(changes('20')).toBe(true)
    expect(changes('20')).toBe(false)
  })
})

describe('a smaller SETTINGS_HEADER_TABLE_SIZE', () => {
  it('must be followed by a size update at the start of the next block', () => {
    const decoder = new HpackDecoder(4096, wide)
    decoder.setMaxTableBytes(100)
    expect(errorOf(() => decode(decoder, '82')).message).toBe(
      'a table size update to at most 100 must come first (RFC 7541, 4.2)',
    )
  })

  it('must not be followed by a size above it', () => {
    const decoder = new HpackDecoder(4096, wide)
    decoder.setMaxTableBytes(100)
    expect(() => decode(decoder, '3f4682')).toThrow('a table of 101 bytes; SETTINGS_HEADER_TABLE_SIZE allows 100')
  })

  it('is followed by one update, and needs no other', () => {
    const decoder = new HpackDecoder(4096, wide)
    decoder.setMaxTableBytes(100)
    expect(decode(decoder, '3f4582')).toEqual([':method=GET'])
    expect(decode(decoder, '82')).toEqual([':method=GET'])
  })

  it('must be signalled even if the setting went up again before the block', () => {
    const decoder = new HpackDecoder(4096, wide)
    decode(decoder, literal('a', 'b'))
    decoder.setMaxTableBytes(0)
    decoder.setMaxTableBytes(4096)
    expect(() => decode(decoder, '3fe11f82')).toThrow('a table size update to at most 0 must come first')
    expect(decode(decoder, '203fe11f82')).toEqual([':method=GET'])
    expect(errorOf(() => decode(decoder, 'be')).code).toBe('COMPRESSION_ERROR')
  })

  it('asks for nothing when the table of the peer is that small already', () => {
    const decoder = new HpackDecoder(4096, wide)
    decode(decoder, '20')
    decoder.setMaxTableBytes(100)
    expect(decode(decoder, '82')).toEqual([':method=GET'])
  })

  it('changes the version, so that no earlier block is taken for the next one', () => {
    const decoder = new HpackDecoder(4096, wide)
    const before = decoder.tableVersion
    decoder.setMaxTableBytes(100)
    expect(decoder.tableVersion).not.toBe(before)
  })
})

describe('a header list above the limits', () => {
  const limits: HpackLimits = { maxListBytes: 200, maxFields: 4 }

  it('is TOO_LARGE by its size, and the table follows to the end of the block', () => {
    const decoder = new HpackDecoder(4096, limits)
    const block = literal('big', 'x'.repeat(120)) + literal('more', 'y'.repeat(60)) + literal('last', 'z')
    const error = errorOf(() => decode(decoder, block))
    expect(error.code).toBe('TOO_LARGE')
    expect(error.message).toBe('3 fields of 288 bytes; a header list may have 4 fields of 200 bytes')
    expect(decode(decoder, 'be')).toEqual(['last=z'])
    expect(decode(decoder, 'bf')).toEqual([`more=${'y'.repeat(60)}`])
  })

  it('is TOO_LARGE by the number of its fields', () => {
    expect(decode(new HpackDecoder(4096, limits), '82848688')).toHaveLength(4)
    expect(errorOf(() => decode(new HpackDecoder(4096, limits), '8284868882')).code).toBe('TOO_LARGE')
  })

  it('counts 32 bytes for each field, so that empty fields count, too', () => {
    const decoder = new HpackDecoder(4096, { maxListBytes: 34 * 3, maxFields: 100 })
    expect(decode(decoder, '000161 0162'.repeat(3))).toHaveLength(3)
    expect(errorOf(() => decode(decoder, '000161 0162'.repeat(4))).code).toBe('TOO_LARGE')
  })

  it('is a COMPRESSION_ERROR when the rest of the block is corrupt', () => {
    expect(errorOf(() => decode(new HpackDecoder(4096, limits), '828486888282ff')).code).toBe('COMPRESSION_ERROR')
  })

  it('hands out nothing past the limit: a bomb of references to one large entry stays small', () => {
    const decoder = new HpackDecoder(4096, { maxListBytes: 8192, maxFields: 100 })
    decode(decoder, `400162 7f c11e ${'61'.repeat(4032)}`)
    const bomb = new Uint8Array(16_384).fill(0xbe)
    let seen = 0
    const error = errorOf(() => decoder.decode(bomb, 0, bomb.length, (_, value) => (seen += value.length)))
    expect(error.code).toBe('TOO_LARGE')
    expect(seen).toBeLessThan(8192)
  })
})
