import { describe, expect, it } from 'vitest'
import { plainName, quoted } from './structured-text.ts'

describe('plainName', () => {
  it.each<[name: string, plain: string]>([
    ['per-user', 'per-user'],
    [' ~', ' ~'],
    ['caf\u00e9', 'caf?'],
    ['\u001fa\u007f', '?a?'],
    ['a'.repeat(128), 'a'.repeat(128)],
    ['a'.repeat(129), 'a'.repeat(128)],
    ['a'.repeat(130), 'a'.repeat(128)],
    [`${'a'.repeat(127)}\u00e9b`, `${'a'.repeat(127)}?`],
  ])('formats %j as %j', (name, plain) => {
    expect(plainName(name)).toBe(plain)
  })
})

describe('quoted', () => {
  it.each<[plain: string, text: string]>([
    ['', '""'],
    ['per user', '"per user"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
  ])('formats %j as %j', (plain, text) => {
    expect(quoted(plain)).toBe(text)
  })
})
