import { describe, expect, it } from 'vitest'
import { parseRlsJson } from './rls-json.ts'
import type { RlsRequest } from './rls-request.ts'

const RULE = 'A request to /json must be an envoy.service.ratelimit.v3.RateLimitRequest in the JSON form of protobuf.'
const entries = [{ key: 'user', value: 'alice' }]
const read = (changes: object): RlsRequest =>
  parseRlsJson(JSON.stringify({ domain: 'api', descriptors: [{ entries }], ...changes }))

function messageOf(body: string): string {
  try {
    return JSON.stringify(parseRlsJson(body))
  } catch (error) {
    return (error as Error).message
  }
}

describe('parseRlsJson', () => {
  it('reads the request of the documentation', () => {
    const body = '{"domain":"dummy","descriptors":[{"entries":[{"key":"one_per_day","value":"something"}]}]}'
    expect(parseRlsJson(body)).toEqual({
      domain: 'dummy',
      descriptors: [{ entries: [{ key: 'one_per_day', value: 'something' }] }],
      cost: 1,
      hitsAddend: 0,
    })
  })

  it.each(['requestsPerUnit', 'requests_per_unit'])('reads %s: names in both forms', (name) => {
    const descriptors = [{ entries, limit: { [name]: 5, unit: 'HOUR' } }]
    expect(read({ descriptors }).descriptors[0].limit).toEqual({ requestsPerUnit: 5, unit: 'hour' })
  })

  it.each<[unknown, number]>([
    [3, 3],
    ['3', 3],
    [3.0, 3],
    ['3e1', 30],
    [null, 0],
    [4_294_967_295, 4_294_967_295],
  ])('reads an addend of %j', (hitsAddend, expected) => {
    expect(read({ hitsAddend })).toMatchObject({ hitsAddend: expected, cost: Math.max(1, expected) })
  })

  it.each<[object, number]>([
    [{ hitsAddend: '0' }, 0],
    [{ hits_addend: 7 }, 7],
    [{ hitsAddend: '18446744073709551615' }, 2 ** 33],
    [{ hitsAddend: '4294967296' }, 2 ** 33],
    [{ hitsAddend: 4_294_967_295 }, 4_294_967_295],
    [{ hitsAddend: 7, isNegativeHits: true }, -7],
    [{ is_negative_hits: true }, -3],
    [{ hitsAddend: 0, isNegativeHits: true }, 0],
  ])('reads the cost of a descriptor with %j', (fields, cost) => {
    expect(read({ hitsAddend: 3, descriptors: [{ entries, ...fields }] }).descriptors[0].cost).toBe(cost)
  })

  it.each<[unknown, string]>([
    ['SECOND', 'second'],
    ['week', 'week'],
    [6, 'year'],
  ])('reads the unit %j', (unit, expected) => {
    const descriptors = [{ entries, limit: { unit, requestsPerUnit: '5', unitMultiplier: 2 } }]
    expect(read({ descriptors }).descriptors[0].limit).toEqual({
      unit: expected,
      requestsPerUnit: 5,
      unitMultiplier: 2,
    })
  })

  it('reads what is null as not there', () => {
    const body = '{"domain":null,"descriptors":[{"entries":null,"limit":null,"hitsAddend":null,"isNegativeHits":null}]}'
    expect(parseRlsJson(body)).toMatchObject({ domain: '', descriptors: [{ entries: [] }] })
  })

  const check = (changes: object): string => JSON.stringify({ domain: 'api', descriptors: [{ entries }], ...changes })
  it.each<[string, string, string]>([
    ['text that is not JSON', '{"domain":', 'body: not JSON'],
    ['a list', '[]', 'body: expected an object'],
    ['a domain that is a number', check({ domain: 5 }), 'body.domain: expected a text'],
    ['descriptors that are no list', check({ descriptors: {} }), 'body.descriptors: expected a list'],
    ['a descriptor that is a text', check({ descriptors: ['a'] }), 'body.descriptors[0]: expected an object'],
    ['more than 64 descriptors', check({ descriptors: new Array(65).fill({}) }), 'body.descriptors: more than 64'],
    [
      'more than 32 entries',
      check({ descriptors: [{ entries: new Array(33).fill({}) }] }),
      'body.descriptors[0].entries: more than 32',
    ],
    ['an addend below 0', check({ hitsAddend: -1 }), 'body.hitsAddend: expected a whole number from 0'],
    ['an addend that is not whole', check({ hitsAddend: 1.5 }), 'body.hitsAddend: expected a whole number from 0'],
    ['an addend beyond 32 bits', check({ hitsAddend: 2 ** 32 }), 'body.hitsAddend: expected a whole number from 0'],
    ['an addend that is an empty text', check({ hitsAddend: '' }), 'body.hitsAddend: expected a whole number from 0'],
    ['an addend in hexadecimal', check({ hitsAddend: '0x10' }), 'body.hitsAddend: expected a whole number from 0'],
    [
      'a flag that is a text',
      check({ descriptors: [{ isNegativeHits: 'true' }] }),
      'body.descriptors[0].isNegativeHits: expected true or false',
    ],
    [
      'an unknown unit',
      check({ descriptors: [{ limit: { unit: 'DECADE' } }] }),
      'body.descriptors[0].limit.unit: expected one of UNKNOWN, SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, WEEK',
    ],
    [
      'a unit out of range',
      check({ descriptors: [{ limit: { unit: 8 } }] }),
      'body.descriptors[0].limit.unit: expected',
    ],
    [
      'a limit without a unit',
      check({ descriptors: [{ limit: {} }] }),
      'body.descriptors[0].limit.unit: the unit of time is missing',
    ],
    ['an unknown field', check({ cost: 1 }), 'body: unknown field "cost"'],
    [
      'an unknown field, deep inside',
      check({ descriptors: [{ entries: [{ k: 1 }] }] }),
      'body.descriptors[0].entries[0]',
    ],
    ['a field in both forms', check({ hitsAddend: 1, hits_addend: 2 }), 'body: "hitsAddend" is there twice'],
    ['a field that may be a secret', check({ sk_live_0123456789: 1 }), 'body: unknown field of 18 characters'],
    ['a field with a long name', check({ ['a'.repeat(33)]: 1 }), 'body: unknown field of 33 characters'],
    ['a field with a name to obey', check({ '\u001b[2J': 1 }), 'body: unknown field of 4 characters'],
    ['a field called __proto__', '{"__proto__":{},"domain":"d"}', 'body: unknown field "__proto__"'],
  ])('refuses %s', (_, body, reason) => {
    const message = messageOf(body)
    expect(message.startsWith(`RLS_REQUEST_INVALID: ${reason}`)).toBe(true)
    expect(message.endsWith(RULE)).toBe(true)
  })

  it('refuses what nests deeper than a stack', () => {
    expect(messageOf(`${'{"descriptors":['.repeat(4_000)}${']}'.repeat(4_000)}`)).toMatch(/^RLS_REQUEST_INVALID: body/)
  })
})
