import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { findIssues } from './check.ts'
import { toJsonSchema } from './json-schema.ts'
import type { Schema } from './schema.ts'

const tree: Schema = {
  kind: 'object',
  doc: 'A tree',
  fields: {
    name: { schema: { kind: 'text', min: 1, max: 3, pattern: /^[a-z]*$/ }, required: true, doc: 'Its name' },
    size: { schema: { kind: 'number', above: 0, max: 1 } },
    unit: { schema: { kind: 'choice', of: ['day', 'week'] } },
    tags: { schema: { kind: 'map', keys: { kind: 'text', max: 1 }, of: { kind: 'boolean' } } },
    cost: { schema: { kind: 'either', of: [{ kind: 'integer', min: 0 }, { kind: 'text' }], expected: 'a cost' } },
    left: { schema: { kind: 'ref', name: 'tree', to: () => tree }, nullable: true, doc: 'The part on the left' },
    parts: { schema: { kind: 'list', of: { kind: 'ref', name: 'tree', to: () => tree }, min: 1, max: 2 } },
  },
}
const json = toJsonSchema({ kind: 'ref', name: 'tree', to: () => tree })

describe('toJsonSchema', () => {
  const validate = new Ajv({ allErrors: true }).compile(JSON.parse(JSON.stringify(json)) as object)

  it.each<unknown>([
    { name: 'a' },
    { name: 'a', left: null, cost: 0 },
    { name: 'a', left: { name: 'b', parts: [{ name: 'c' }] }, cost: 'x', tags: { a: true }, size: 1, unit: 'day' },
    {},
    { name: '' },
    { name: 'abcd' },
    { name: 'A' },
    { name: 'a', more: 1 },
    { name: 'a', size: 0 },
    { name: 'a', size: 2 },
    { name: 'a', unit: 'year' },
    { name: 'a', tags: { ab: true } },
    { name: 'a', tags: { a: 1 } },
    { name: 'a', cost: 1.5 },
    { name: 'a', cost: -1 },
    { name: 'a', left: { name: 1 } },
    { name: 'a', parts: [] },
    { name: 'a', parts: [{ name: 'a' }, { name: 'a' }, { name: 'a' }] },
    { name: 'a', parts: null },
    'a',
    null,
  ])('accepts and refuses what findIssues does: %j', (value) => {
    expect(validate(value)).toBe(findIssues(tree, value).length === 0)
  })

  it('carries what is said about each part', () => {
    expect(json).toMatchObject({
      $ref: '#/definitions/tree',
      definitions: {
        tree: {
          description: 'A tree',
          properties: { name: { description: 'Its name' }, left: { description: 'The part on the left' } },
        },
      },
    })
  })
})
