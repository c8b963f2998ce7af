import { expect, it } from 'vitest'
import { nameParts } from './name-parts.ts'

it.each<[name: string, parts: string[]]>([
  ['', []],
  ['login', ['login']],
  ['shop/api_key', ['shop/', 'api_', 'key']],
  ['/v1/orders: 5 a second', ['/', 'v1/', 'orders: ', '5 ', 'a ', 'second']],
  ['--', ['--']],
  ['制限/一', ['制限/', '一']],
  [`${'x'.repeat(24)}😀${'y'.repeat(30)}`, ['x'.repeat(24), `😀${'y'.repeat(23)}`, 'y'.repeat(7)]],
])('%j breaks between %j', (name, parts) => {
  expect(nameParts(name)).toEqual(parts)
  expect(parts.join('')).toBe(name)
})
