import { describe, expect, it } from 'vitest'
import { prefersProblem } from './accept.ts'

describe('prefersProblem', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/*', false],
    ['application/json', false],
    ['application/problem+json', true],
    ['Application/Problem+JSON; charset=utf-8', true],
    ['application/problem+json, application/json', true],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/json;q=0.5, application/problem+json;q=0.8', true],
    ['application/problem+json;q=0', false],
    ['application/problem+json;q=0.000', false],
    ['application/problem+json;q=much', false],
    ['application/problem+json;q=2', false],
    ['text/html, */*;q=0.1, application/problem+json;q=0.01', true],
    ['application/problem+jsonx', false],
    ['text/application/problem+json', false],
    [`application/problem+json, ${'a'.repeat(3_000)}`, false],
  ])('of %s: %s', (accept, answer) => {
    expect(prefersProblem(accept)).toBe(answer)
  })
})
