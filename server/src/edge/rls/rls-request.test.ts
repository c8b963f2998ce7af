import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RLS_REQUEST } from '../../protobuf/protos.suite.ts'
import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import { texts } from '../../protobuf/texts.suite.ts'
import { bytesField, join, messageField, numberField, textField } from '../../protobuf/writer.ts'
import { decodeRlsRequest, MAX_FIELDS, type RlsDescriptor, type RlsRequest } from './rls-request.ts'

const reader = new ProtoReader()
const decode = (bytes: Uint8Array): RlsRequest => decodeRlsRequest(reader, bytes)
const decodeTheirs = (object: object): RlsRequest => decode(RLS_REQUEST.encode(object))
const entry = (key: string, value: string) => messageField(1, textField(1, key), textField(2, value))
const plain = ({ entries, cost, limit, hitsAddend }: RlsDescriptor) => ({ entries, cost, limit, hitsAddend })

/** Says what the descriptors of a request cost, the request's own cost where they have none. */
const costsOf = (request: RlsRequest): number[] => request.descriptors.map(({ cost }) => cost ?? request.cost)

describe('decodeRlsRequest', () => {
  const text = texts(100)
  const units = { SECOND: 'second', MINUTE: 'minute', HOUR: 'hour', DAY: 'day', MONTH: 'month', YEAR: 'year' } as const
  const count = fc.nat(4_294_967_295)
  const descriptor = fc.record({
    entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 5 }),
    limit: fc.option(
      fc.record({
        requestsPerUnit: count,
        unit: fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
        unitMultiplier: fc.option(fc.record({ value: count }), { nil: undefined }),
      }),
      { nil: undefined },
    ),
    hitsAddend: fc.option(fc.record({ value: fc.oneof(fc.nat(3), count) }), { nil: undefined }),
    isNegativeHits: fc.boolean(),
  })
  const request = fc.record({ domain: text, descriptors: fc.array(descriptor, { maxLength: 4 }), hitsAddend: count })

  it('reads what another implementation wrote', () => {
    fc.assert(
      fc.property(request, ({ domain, descriptors, hitsAddend }) => {
        const read = decodeTheirs({ domain, descriptors, hitsAddend })
        const cost = Math.max(1, hitsAddend)
        expect([read.domain, read.hitsAddend, read.cost]).toEqual([domain, hitsAddend, cost])
        expect(read.descriptors.map(plain)).toEqual(
          descriptors.map(({ entries, limit, hitsAddend: own, isNegativeHits }) => {
            const hits = own?.value ?? cost
            const isPlain = own === undefined && !isNegativeHits
            return {
              entries,
              cost: isPlain ? undefined : isNegativeHits && hits > 0 ? -hits : hits,
              limit: limit && { ...limit, unit: units[limit.unit], unitMultiplier: limit.unitMultiplier?.value },
              hitsAddend: own?.value,
            }
          }),
        )
      }),
      { numRuns: 300 },
    )
  })

  it.each<[string, object, number[]]>([
    ['an addend of 0 on the request is 1', { descriptors: [{}, {}] }, [1, 1]],
    ['an addend on the request is that of all', { hitsAddend: 3, descriptors: [{}, {}] }, [3, 3]],
    ['one on a descriptor goes before it', { hitsAddend: 3, descriptors: [{ hitsAddend: { value: 5 } }, {}] }, [5, 3]],
    ['0 on a descriptor looks', { hitsAddend: 3, descriptors: [{ hitsAddend: {} }, {}] }, [0, 3]],
    ['negative hits give back', { descriptors: [{ hitsAddend: { value: 5 }, isNegativeHits: true }] }, [-5]],
    ['also of the request', { hitsAddend: 3, descriptors: [{ isNegativeHits: true }] }, [-3]],
    ['and one where none are given', { descriptors: [{ isNegativeHits: true }] }, [-1]],
    ['to give nothing back is to look', { descriptors: [{ hitsAddend: {}, isNegativeHits: true }] }, [0]],
    ['more than any limit stays more', { descriptors: [{ hitsAddend: { value: 2 ** 53 } }] }, [2 ** 33]],
    ['one more than the largest limit, too', { descriptors: [{ hitsAddend: { value: 2 ** 32 } }] }, [2 ** 33]],
    [
      'also to give back',
      { descriptors: [{ hitsAddend: { value: 2 ** 40 }, isNegativeHits: true }] },
      [-4_294_967_295],
    ],
  ])('%s', (_, object, costs) => {
    expect(costsOf(decodeTheirs({ domain: 'd', ...object }))).toEqual(costs)
  })

  it('reads fields in any order, the last of several, and the parts of one message together', () => {
    const bytes = join([
      numberField(3, 2),
      textField(1, 'first'),
      messageField(
        2,
        numberField(4, 1),
        messageField(3, numberField(1, 9)),
        messageField(2, numberField(1, 5)),
        messageField(1, textField(2, 'x'), textField(1, 'a'), textField(2, 'y')),
        messageField(2, numberField(2, 2), messageField(3, numberField(1, 7))),
        messageField(3, numberField(1, 4)),
        entry('b', 'z'),
        numberField(4, 0, true),
        messageField(2, messageField(3)),
      ),
      textField(1, 'last'),
      numberField(3, 6),
    ])
    const read = decode(bytes)
    expect([read.domain, read.cost]).toEqual(['last', 6])
    expect(read.descriptors.map(plain)).toEqual([
      {
        entries: [
          { key: 'a', value: 'y' },
          { key: 'b', value: 'z' },
        ],
        cost: 4,
        limit: { requestsPerUnit: 5, unit: 'minute', unitMultiplier: 7 },
        hitsAddend: 4,
      },
    ])
  })

  it('passes over what it does not know, on every level', () => {
    const unknown = join([numberField(99, 1), textField(98, 'new'), Buffer.from([0x9b, 0x06, 0x9c, 0x06])])
    const bytes = join([
      unknown,
      textField(1, 'd'),
      messageField(
        2,
        unknown,
        messageField(1, unknown, textField(1, 'k'), unknown),
        messageField(2, unknown, numberField(2, 1), messageField(3, unknown)),
        messageField(3, unknown),
      ),
      unknown,
    ])
    expect(decode(bytes)).toMatchObject({
      domain: 'd',
      descriptors: [{ entries: [{ key: 'k', value: '' }], cost: 0, limit: { requestsPerUnit: 0, unit: 'second' } }],
    })
  })

  it('passes over a field of another type than it should have', () => {
    expect(decode(join([numberField(1, 5), bytesField(3, Buffer.from([1])), numberField(2, 1)]))).toMatchObject({
      domain: '',
      descriptors: [],
      cost: 1,
    })
  })

  it('is what it is, or refused, wherever a message is cut', () => {
    const whole = RLS_REQUEST.encode({
      domain: 'edge',
      descriptors: [
        {
          entries: [{ key: 'remote_address', value: '203.0.113.7' }],
          hitsAddend: { value: 300 },
          isNegativeHits: true,
        },
        { entries: [{ key: 'größe', value: 'ß' }], limit: { requestsPerUnit: 1_000, unit: 'HOUR' } },
      ],
      hitsAddend: 300,
    })
    let refused = 0
    for (let length = 0; length < whole.length; length++) {
      try {
        const { domain, descriptors } = decode(whole.subarray(0, length))
        expect(['', 'edge']).toContain(domain)
        expect(descriptors.length).toBeLessThanOrEqual(2)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage)
        refused++
      }
    }
    // Only at the four borders between fields is a part of a message a message.
    expect(refused).toBe(whole.length - 4)
  })

  it('reads any bytes, or refuses them', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      request.map((object) => RLS_REQUEST.encode(object)),
    )
    const change = fc.record({ at: fc.nat(200), to: fc.nat(255) })
    fc.assert(
      fc.property(bytes, fc.array(change, { maxLength: 4 }), (message, changes) => {
        for (const { at, to } of changes) if (at < message.length) message[at] = to
        try {
          decode(message)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage)
        }
      }),
      { numRuns: 3_000 },
    )
  })

  it.each<[string, object, string]>([
    ['more than 64 descriptors', { descriptors: new Array(65).fill({}) }, 'more than 64 descriptors'],
    ['more than 32 entries', { descriptors: [{ entries: new Array(33).fill({}) }] }, 'more than 32 entries'],
    ['a limit without a unit', { descriptors: [{ limit: { requestsPerUnit: 1 } }] }, 'a limit has no unit of time'],
  ])('refuses %s', (_, object, reason) => {
    expect(() => decodeTheirs(object)).toThrow(new MalformedMessage(reason))
  })

  it('refuses a unit that there is not, and reads WEEK', () => {
    const withUnit = (unit: number) => decode(messageField(2, messageField(2, numberField(2, unit))))
    expect(() => withUnit(8)).toThrow(MalformedMessage)
    expect(() => withUnit(4_294_967_295)).toThrow(MalformedMessage)
    expect(withUnit(7).descriptors[0].limit?.unit).toBe('week')
  })

  it('reads 64 descriptors with 32 entries', () => {
    const entries = Array.from({ length: 32 }, (_, i) => ({ key: `k${i}`, value: 'v' }))
    const read = decodeTheirs({ domain: 'd', descriptors: Array.from({ length: 64 }, () => ({ entries })) })
    expect(read.descriptors.map((each) => each.entries.length)).toEqual(new Array(64).fill(32))
  })

  it('has no more fields than all that is read can have, and some', () => {
    const many = (count: number) => Buffer.alloc(2 * count, Buffer.of(0x18, 0))
    expect(decode(many(MAX_FIELDS)).hitsAddend).toBe(0)
    expect(() => decode(many(MAX_FIELDS + 1))).toThrow('the message has too many fields')
    const most = { entries: Array.from({ length: 32 }, () => ({ key: 'a', value: 'b' })) }
    expect(decodeTheirs({ domain: 'a', descriptors: Array(64).fill(most) }).descriptors).toHaveLength(64)
  })

  it('keeps callers apart whose names are not UTF-8', () => {
    const named = (value: number[]): string =>
      decode(messageField(2, messageField(1, bytesField(2, Buffer.from(value))))).descriptors[0].entries[0].value
    expect(new Set([[0xff], [0xfe], [0xef, 0xbf, 0xbd], [0xff, 0xff]].map(named)).size).toBe(4)
  })

  it('reads entries that are named like parts of an object', () => {
    const entries = [{ key: '__proto__', value: 'constructor' }]
    expect(decodeTheirs({ domain: '__proto__', descriptors: [{ entries }] }).descriptors[0].entries).toEqual(entries)
  })
})
