import { YamlText } from 'sluice/internal/core/rules/yaml-text'
import { expect, test } from 'vitest'
import { toYaml } from '../../dashboard/src/pages/tiers/yaml.ts'

// What the dashboard's editor of tiers shows, as the service reads it.
test.each([
  {},
  [],
  { a: [], b: {}, c: null },
  [[1, 2], [[{ a: 'x' }]], []],
  { 'a: b': '# no comment', yes: 'no', '': ' ', '1': '1', on: 'true', t: '2026-01-01', q: 'it\'s "so"', l: 'a\nb' },
  { price: -1.5e3, deep: { deeper: [{ a: { b: [true, false] } }] }, url: 'GET /api/v1/*', time: '5m', p: '- x' },
])('%j is read as it was', (value) => {
  expect(new YamlText('tier', toYaml(value)).toValue()).toEqual(value)
})
