import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { toYaml } from './yaml.ts'

test('a tier reads as in a rule file', () => {
  const limits = {
    rate_limit: { name: 'requests', unit: 'minute', requests_per_unit: 20 },
    descriptors: [{ key: 'tokens', rate_limit: { unlimited: true } }, { key: 'in_flight' }],
  }
  expect(toYaml(limits)).toBe(
    [
      'rate_limit:',
      '  name: requests',
      '  unit: minute',
      '  requests_per_unit: 20',
      'descriptors:',
      '  - key: tokens',
      '    rate_limit:',
      '      unlimited: true',
      '  - key: in_flight',
      '',
    ].join('\n'),
  )
})

test.each([
  {},
  [],
  { a: [], b: {}, c: null },
  [[1, 2], [[{ a: 'x' }]], []],
  { 'a: b': '# no comment', yes: 'no', '': ' ', '1': '1', on: 'true', t: '2026-01-01', q: 'it\'s "so"', l: 'a\nb' },
  { price: -1.5e3, deep: { deeper: [{ a: { b: [true, false] } }] }, url: 'GET /api/v1/*', time: '5m', p: '- x' },
])('%j is read as it was', (value) => {
  expect(parse(toYaml(value))).toEqual(value)
})
