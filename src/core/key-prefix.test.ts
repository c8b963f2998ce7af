import { expect, it } from 'vitest'
import { KeyedHash } from './hash.ts'
import { KeyEncoder } from './key-encoder.ts'
import { checkKeyPrefix } from './key-prefix.ts'
import { OPEN_PATH } from './rules/rule-path.ts'
import type { Rule } from './rules/rule-set.ts'

it.each(['', 'fleet-a:', 'Größe ', 'a*b?[c]', 'x'.repeat(100)])('%o is a prefix', (prefix) => {
  expect(checkKeyPrefix(prefix, '--key-prefix')).toBe(prefix)
})

it.each(['{', 'a}', '{tag}', 'a\n', '\u007f', '\ud800', 'x'.repeat(101), 5, undefined])('%o is none', (prefix) => {
  expect(() => checkKeyPrefix(prefix, '--key-prefix')).toThrow('KEY_PREFIX_INVALID: --key-prefix: got')
})

it('stands before the key of a shared store, and leaves its partition as it is', () => {
  const rule = { id: 'user', path: OPEN_PATH } as Rule
  const spell = (prefix?: string) =>
    new KeyEncoder(new KeyedHash(1, 2), 32, prefix).encode('d', rule, [{ key: 'user', value: 'a' }])
  expect(spell('a:')).toBe(`a:${spell()}`)
})
