import { describe, expect, it } from 'vitest'
import { parseCheckRequest } from './check-request.ts'

const RULE =
  'A check must be {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number, "priority": critical, write, read or test}.'
const descriptors = [{ entries: [{ key: 'user', value: 'alice' }] }]
const check = (changes: object): string => JSON.stringify({ domain: 'api', descriptors, ...changes })

function messageOf(body: string): string {
  try {
    return JSON.stringify(parseCheckRequest(body))
  } catch (error) {
    return (error as Error).message
  }
}

describe('parseCheckRequest', () => {
  it('reads a check', () => {
    expect(parseCheckRequest(check({}))).toEqual({ domain: 'api', descriptors })
  })

  it.each([0, 1, -1, 4_294_967_295, -4_294_967_295])('reads a cost of %i', (cost) => {
    expect(parseCheckRequest(check({ cost }))).toEqual({ domain: 'api', descriptors, cost })
  })

  it('reads an empty value, and values of any script', () => {
    const entries = [
      { key: 'a', value: '' },
      { key: 'name', value: '名 😀 {} | = %' },
    ]
    expect(parseCheckRequest(check({ descriptors: [{ entries }] }))).toEqual({
      domain: 'api',
      descriptors: [{ entries }],
    })
  })

  it('reads entries that are named like parts of an object', () => {
    const body = '{"domain":"__proto__","descriptors":[{"entries":[{"key":"__proto__","value":"constructor"}]}]}'
    expect(parseCheckRequest(body)).toEqual(JSON.parse(body))
  })

  const entriesOf = (...entries: object[]): object => ({ descriptors: [{ entries }] })
  it.each<[string, string, string]>([
    ['text that is not JSON', '{"domain":', 'body: not JSON'],
    ['nothing', '', 'body: not JSON'],
    ['a list', '[]', 'body: Invalid input: expected object, received array'],
    ['null', 'null', 'body: Invalid input: expected object, received null'],
    ['an empty domain', check({ domain: '' }), 'body.domain: rate limit domain must not be empty'],
    ['no domain', check({ domain: undefined }), 'body.domain: Invalid input: expected string, received undefined'],
    ['no descriptor', check({ descriptors: [] }), 'body.descriptors: rate limit descriptor list must not be empty'],
    [
      'more than 64 descriptors',
      check({ descriptors: Array.from({ length: 65 }, () => descriptors[0]) }),
      'body.descriptors: Too big: expected array to have <=64 items',
    ],
    [
      'a descriptor without entries',
      check({ descriptors: [descriptors[0], { entries: [] }] }),
      'body.descriptors[1].entries: Too small: expected array to have >=1 items',
    ],
    [
      'more than 32 entries',
      check(entriesOf(...Array.from({ length: 33 }, () => ({ key: 'a', value: 'b' })))),
      'body.descriptors[0].entries: Too big: expected array to have <=32 items',
    ],
    [
      'an empty key',
      check(entriesOf({ key: '', value: '' })),
      'body.descriptors[0].entries[0].key: a key must not be empty',
    ],
    [
      'a value that is not text',
      check(entriesOf({ key: 'user', value: 42 })),
      'body.descriptors[0].entries[0].value: Invalid input: expected string, received number',
    ],
    [
      'a line break in a value',
      check(entriesOf({ key: 'user', value: 'a\r\nSet-Cookie: b' })),
      'body.descriptors[0].entries[0].value: control characters and halves of characters are not allowed',
    ],
    [
      'a zero byte in a key',
      check(entriesOf({ key: 'us\0er', value: 'a' })),
      'body.descriptors[0].entries[0].key: control characters and halves of characters are not allowed',
    ],
    [
      'a control character in the domain',
      check({ domain: 'api\x7f' }),
      'body.domain: control characters and halves of characters are not allowed',
    ],
    [
      'half a character',
      '{"domain":"\\ud83d","descriptors":[]}',
      'body.domain: control characters and halves of characters are not allowed',
    ],
    ['a cost that is not whole', check({ cost: 1.5 }), 'body.cost: Invalid input: expected int, received number'],
    ['a cost that is text', check({ cost: '1' }), 'body.cost: Invalid input: expected number, received string'],
    ['a cost that is null', check({ cost: null }), 'body.cost: Invalid input: expected number, received null'],
    [
      'a cost beyond every limit',
      check({ cost: 4_294_967_296 }),
      'body.cost: Too big: expected number to be <=4294967295',
    ],
    ['a field it does not know', check({ hits_addend: 1 }), 'body: Unrecognized key: "hits_addend"'],
    [
      'a field it does not know, deep inside',
      check(entriesOf({ key: 'a', value: 'b', ttl: 1 })),
      'body.descriptors[0].entries[0]: Unrecognized key: "ttl"',
    ],
    [
      'a field called __proto__',
      '{"__proto__":{},"domain":"d","descriptors":[{"entries":[{"key":"a","value":"b"}]}]}',
      'body: Unrecognized key: "__proto__"',
    ],
  ])('refuses %s', (_, body, reason) => {
    expect(messageOf(body)).toBe(`REQUEST_INVALID: ${reason}. ${RULE}`)
  })

  it('refuses what nests deeper than a stack', () => {
    expect(messageOf('['.repeat(65_536))).toBe(`REQUEST_INVALID: body: not JSON. ${RULE}`)
    const deep = `${'{"descriptors":['.repeat(4_000)}${']}'.repeat(4_000)}`
    expect(messageOf(deep)).toMatch(/^REQUEST_INVALID: body/)
  })
})
