import { expect, test } from 'vitest'
import { satisfiesRange } from './node-range.mjs'

test.each([
  ['>=20.19', true],
  ['>= 16', true],
  ['>=20.20', false],
  ['>20.19.0', false],
  ['>20.18', true],
  ['>20', false],
  ['<21', true],
  ['<20.19', false],
  ['<=20', true],
  ['<=20.18', false],
  ['20', true],
  ['20.x', true],
  ['v20.19.0', true],
  ['18.x', false],
  ['*', true],
  ['', true],
  ['^20.0.0 || ^22.0.0 || >=24.0.0', true],
  ['^20.19.0 || >=22.12.0', true],
  ['^8.16.0 || ^10.6.0 || >=11.0.0', true],
  ['^18.0.0 || >=22', false],
  ['^20.19.1', false],
  ['~20.19', true],
  ['~20.18.3', false],
  ['~20', true],
  ['>=18.0.0 <20', false],
  ['>= 18 < 21', true],
  ['18 - 20', true],
  ['16 - 18', false],
])('20.19.0 in "%s" is %s', (range, expected) => {
  expect(satisfiesRange('20.19.0', range)).toBe(expected)
})

test('a caret holds the first part that is not zero', () => {
  expect(satisfiesRange('0.3.0', '^0.2.1')).toBe(false)
  expect(satisfiesRange('0.2.9', '^0.2.1')).toBe(true)
})

test('a range in an unknown form is an error, not a guess', () => {
  expect(() => satisfiesRange('20.19.0', 'lts/iron')).toThrow(
    '"lts/iron" is not a version range that this check can read',
  )
})
