import { describe, expect, it } from 'vitest'
import { type AnswerForm, preferredForm, prefersProblem } from './accept.ts'

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

describe('preferredForm', () => {
  it.each<[string | undefined, AnswerForm]>([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['image/png', 'json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
    ['text/*', 'html'],
    ['text/*;q=0.5, text/plain', 'text'],
    ['TEXT/PLAIN', 'text'],
    ['application/json, text/html;q=0.9', 'json'],
    ['application/json;q=0.2, text/html;q=0.9', 'html'],
    ['application/problem+json, application/json', 'problem'],
    ['application/*', 'json'],
    ['text/html;q=0, */*', 'json'],
    ['application/json;q=0, */*', 'html'],
    ['text/html;q=much', 'json'],
    [`text/html, ${'a'.repeat(3_000)}`, 'json'],
  ])('of %s: %s', (accept, form) => {
    expect(preferredForm(accept)).toBe(form)
  })
})
