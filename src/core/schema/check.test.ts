import { describe, expect, it } from 'vitest'
import { findIssues } from './check.ts'
import type { Schema } from './schema.ts'

const reasons = (schema: Schema, value: unknown): string[] => findIssues(schema, value).map(({ reason }) => reason)
const places = (schema: Schema, value: unknown): string[] =>
  findIssues(schema, value).map(({ path, of }) => `${path.map(String).join('.')} ${of}`)

const count: Schema = { kind: 'integer', min: 0, max: 9 }

describe('findIssues', () => {
  it.each<[string, Schema, unknown]>([
    ['any value', { kind: 'any' }, undefined],
    ['a text in code points, not in units', { kind: 'text', max: 2 }, '😀😀'],
    ['a number at its bounds', { kind: 'number', above: 0, max: 1 }, 1],
    ['a choice in upper case, where that will do', { kind: 'choice', of: ['day'], anyCase: true }, 'DAY'],
    ['an object of a class, where fields are named', { kind: 'object', fields: {} }, new (class {})()],
    ['an object without a prototype', { kind: 'map', of: count }, Object.assign(Object.create(null), { a: 1 })],
    ['null for a nullable field', { kind: 'object', fields: { a: { schema: count, nullable: true } } }, { a: null }],
    ['undefined for a field', { kind: 'object', fields: { a: { schema: count } } }, { a: undefined }],
    ['one of several forms', { kind: 'either', of: [count, { kind: 'text' }], expected: 'x' }, 'a'],
    ['a schema by its name', { kind: 'ref', name: 'count', to: () => count }, 3],
  ])('accepts %s', (_, schema, value) => {
    expect(reasons(schema, value)).toEqual([])
  })

  it.each<[Schema, unknown, string]>([
    [{ kind: 'boolean' }, 'true', 'invalid input: expected boolean, received string'],
    [{ kind: 'text' }, new Date(0), 'invalid input: expected string, received Date'],
    [{ kind: 'text', min: 1 }, '', 'too small: expected string to have >=1 characters'],
    [{ kind: 'text', max: 1 }, 'ab', 'too big: expected string to have <=1 characters'],
    [{ kind: 'text', pattern: /^a$/ }, 'b', 'invalid string: must match pattern /^a$/'],
    [{ kind: 'number' }, Number.NaN, 'invalid input: expected number, received NaN'],
    [{ kind: 'number', above: 0 }, 0, 'too small: expected number to be >0'],
    [count, 1.5, 'invalid input: expected int, received number'],
    [count, -1, 'too small: expected number to be >=0'],
    [count, 1e300, 'too big: expected number to be <=9'],
    [{ kind: 'integer' }, 1e300, 'too big: expected int to be <=9007199254740991'],
    [{ kind: 'integer' }, -1e300, 'too small: expected int to be >=-9007199254740991'],
    [{ kind: 'choice', of: ['a', 'b'] }, 'A', 'invalid option: expected one of "a"|"b"'],
    [{ kind: 'choice', of: ['a'], anyCase: true }, 1, 'invalid input: expected string, received number'],
    [{ kind: 'list', of: count }, {}, 'invalid input: expected array, received object'],
    [{ kind: 'list', of: count, min: 1 }, [], 'too small: expected array to have >=1 items'],
    [{ kind: 'list', of: count, max: 1 }, ['a', 'b'], 'too big: expected array to have <=1 items'],
    [{ kind: 'map', of: count }, new Map(), 'invalid input: expected record, received Map'],
    [{ kind: 'object', fields: {} }, [], 'invalid input: expected object, received array'],
    [{ kind: 'either', of: [count, { kind: 'text' }], expected: 'a count or a text' }, true, 'a count or a text'],
    [{ kind: 'either', of: [count, { kind: 'text' }], expected: 'x' }, -1, 'too small: expected number to be >=0'],
  ])('of %j and %j says why', (schema, value, reason) => {
    expect(reasons(schema, value)).toEqual([reason])
  })

  it('names the place of each issue, in the order of the schema, and unknown keys at the end', () => {
    const schema: Schema = {
      kind: 'object',
      fields: {
        needed: { schema: count, required: true },
        list: { schema: { kind: 'list', of: count } },
        map: { schema: { kind: 'map', keys: { kind: 'text', min: 1 }, of: count } },
      },
    }
    const value = { more: 1, map: { '': 1, a: -1 }, list: [1, -1], toString: 1 }
    expect(places(schema, value)).toEqual(['needed value', 'list.1 value', 'map. key', 'map.a value', ' unknown keys'])
    expect(findIssues(schema, value).at(-1)?.unknownKeys).toEqual(['more', 'toString'])
  })

  it('of several forms says what is wrong inside of the only one that the value has', () => {
    const fields = { addresses: { schema: { kind: 'list', of: { kind: 'text' } }, required: true } } as const
    const schema: Schema = { kind: 'either', of: [{ kind: 'text' }, { kind: 'object', fields }], expected: 'x' }
    expect(places(schema, { adresses: [] })).toEqual(['addresses value', ' unknown keys'])
    expect(places(schema, { addresses: [1] })).toEqual(['addresses.0 value'])
    const two: Schema = { ...schema, of: [...schema.of, { kind: 'map', of: count }] }
    expect(reasons(two, { addresses: 'a' })).toEqual(['x'])
  })

  it('takes an own key named __proto__ for one like any other', () => {
    const value: unknown = JSON.parse('{"__proto__": -1}')
    expect(places({ kind: 'map', of: count }, value)).toEqual(['__proto__ value'])
    expect(findIssues({ kind: 'object', fields: {} }, value)[0].unknownKeys).toEqual(['__proto__'])
  })
})
