import { describe, expect, it } from 'vitest'
import { ERROR_RULES } from './error-rules.ts'
import { type ErrorCode, got, SluiceError } from './errors.ts'

describe('SluiceError', () => {
  it('states the code, where, what was found and what was expected', () => {
    const error = new SluiceError('LIMIT_INVALID', 'rules[3].limit', got(-1))
    expect(error.message).toBe(
      'LIMIT_INVALID: rules[3].limit: got -1. A limit must be a whole number from 0 to 4294967295.',
    )
    expect(error).toMatchObject({ name: 'SluiceError', code: 'LIMIT_INVALID', where: 'rules[3].limit' })
    expect(error).toBeInstanceOf(Error)
  })

  it.each(Object.keys(ERROR_RULES) as ErrorCode[])(
    '%s is in capitals, and its rule is one line of whole sentences',
    (code) => {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
      expect(ERROR_RULES[code]).toMatch(/^[A-Za-z][^\n]*\.$/)
    },
  )
})

describe('got', () => {
  const cases: [value: unknown, text: string][] = [
    [1.5, 'got 1.5'],
    [Number.NaN, 'got NaN'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [true, 'got true'],
    [10n, 'got 10'],
    [Symbol('x'), 'got Symbol(x)'],
    ['1 fortnight', 'got "1 fortnight"'],
    ['a "quote"\n', String.raw`got "a \"quote\"\n"`],
    ['x'.repeat(64), `got "${'x'.repeat(64)}"`],
    ['x'.repeat(65), `got "${'x'.repeat(64)}…"`],
    ['redis://me:pa ss/w@rd@h:1', 'got "redis://…@h:1"'],
    [[1, 2], 'got a list'],
    [{ secret: 1 }, 'got an object'],
  ]
  it.each(cases)('formats %o', (value, text) => {
    expect(got(value)).toBe(text)
  })
})
