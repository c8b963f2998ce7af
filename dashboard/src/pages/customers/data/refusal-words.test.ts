import { expect, it } from 'vitest'
import { reasonText } from './refusal-words.ts'

it.each([
  ['over_limit', null, 'Over the limit'],
  ['blocked', 'scraping', 'Blocked: scraping'],
  ['some_new_reason', null, 'some new reason'],
])('%s with %s reads %s', (reason, detail, text) => {
  expect(reasonText({ reason, detail })).toBe(text)
})
