import { describe, expect, it } from 'vitest'
import { fitted, plainText, widthOf } from './shown-text.ts'

describe('plainText', () => {
  it.each([
    ['user=42', 'user=42'],
    ['a b', 'a b'],
    ['\u001b[2J\u001b]0;owned\u0007', '\\u{1b}[2J\\u{1b}]0;owned\\u{7}'],
    ['a\nb\r\tc\0', 'a\\u{a}b\\u{d}\\u{9}c\\u{0}'],
    ['\u009b31m', '\\u{9b}31m'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['\u05d0\u0627', '\\u{5d0}\\u{627}'],
    ['a\u200bb\ufeff', 'a\\u{200b}b\\u{feff}'],
    ['e\u0301', 'e\\u{301}'],
    ['\ud800', '\\u{d800}'],
    ['a\u00a0b\u2028', 'a\\u{a0}b\\u{2028}'],
    ['ключ 鍵 🔑', 'ключ 鍵 🔑'],
  ])('formats %j as %j', (text, plain) => {
    expect(plainText(text)).toBe(plain)
  })
})

describe('fitted', () => {
  it.each([
    ['abc', 5, 'abc  '],
    ['abcdef', 5, 'abcd…'],
    ['鍵鍵鍵', 6, '鍵鍵鍵'],
    ['鍵鍵鍵', 5, '鍵鍵…'],
    ['鍵鍵鍵', 4, '鍵… '],
    ['🔑🔑', 3, '🔑…'],
    ['', 2, '  '],
  ])('makes %j %d columns wide: %j', (text, columns, shown) => {
    expect(fitted(text, columns)).toBe(shown)
    expect(widthOf(fitted(text, columns))).toBe(columns)
  })

  it('puts numbers to the right', () => {
    expect(fitted('12', 5, 'right')).toBe('   12')
  })

  it('is as wide as requested, whatever the text', () => {
    for (let code = 0; code < 0x30000; code += 7) {
      const text = `a${String.fromCodePoint(code)}`.repeat(20)
      const shown = fitted(text, 24)
      expect(widthOf(shown)).toBe(24)
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
    }
  })

  it('takes no time for a text of a million characters', () => {
    expect(fitted('\u001b'.repeat(1_000_000), 10)).toBe('\\u{1b}\\u{…')
  })
})
