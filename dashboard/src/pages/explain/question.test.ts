import { expect, test } from 'vitest'
import { asQuery, type Entry, isWhole, understand } from './question.ts'

/** shortened returns what was understood, in short: the domain, and each descriptor. */
function shortened(text: string, domain?: string): unknown {
  const read = understand(text, domain)
  if (read.kind === 'unclear') return read.why
  const { question, as } = read
  const line = ({ entries }: { entries: readonly Entry[] }): string =>
    entries.map(({ key, value }) => `${key}=${value}`).join(' & ')
  return [as, question.domain, ...question.descriptors.map(line)]
}

const CHECK = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}'

test.each([
  ['a request of /v1/check', CHECK, ['a request', 'api', 'user=alice']],
  ['its curl command', `curl -d '${CHECK}' http://localhost:8080/v1/check`, ['a request', 'api', 'user=alice']],
  [
    "Envoy's message",
    '{"domain":"edge","descriptors":[{"entries":[{"key":"a","value":"1"},{"key":"b","value":"2"}]},{"entries":[{"key":"c","value":"3"}]}],"hitsAddend":1}',
    ["a request of Envoy's protocol", 'edge', 'a=1 & b=2', 'c=3'],
  ],
  [
    'a line of the decision log, behind a time',
    '2026-11-15T10:00:00Z {"time":"2026-11-15T10:00:00.123Z","domain":"api","rule":"user/endpoint","key":"user=a%7cb|endpoint=/v1/orders%3fx%3d1","outcome":"refused","reason":"over_limit"}',
    ['a line of the decision log', 'api', 'user=a|b & endpoint=/v1/orders?x=1'],
  ],
  [
    "a counter's key, as an explanation has it",
    'api|user/endpoint=POST /orders|user=alice|endpoint=POST /orders',
    ["a counter's key", 'api', 'user=alice & endpoint=POST /orders'],
  ],
  [
    'the same in Redis',
    'sluice:{12}:api|user/endpoint%3dPOST /orders|user=alice|endpoint=POST /orders|s1m',
    ["a counter's key", 'api', 'user=alice & endpoint=POST /orders'],
  ],
  ['key=value with a domain', 'domain=api user=alice', ['key=value', 'api', 'user=alice']],
  [
    'values with spaces',
    'domain=api, user=alice, endpoint=POST /orders',
    ['key=value', 'api', 'user=alice & endpoint=POST /orders'],
  ],
  ['quoted values', 'domain=api note="a b=c, d" user=\'x y\'', ['key=value', 'api', 'note=a b=c, d & user=x y']],
  ['a line for each descriptor', 'domain=api\nuser=alice\nip=::1', ['key=value', 'api', 'user=alice', 'ip=::1']],
  ['a value with an equals sign', 'domain=api q=a=b', ['key=value', 'api', 'q=a=b']],
  [
    'numbers as values',
    '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":42}]}]}',
    ['a request', 'api', 'user=42'],
  ],
])('%s is understood', (_, text, expected) => {
  expect(shortened(text)).toEqual(expected)
})

test('a domain that is not named is the one that is meant', () => {
  expect(shortened('user=alice', 'shop')).toEqual(['key=value', 'shop', 'user=alice'])
  expect(shortened(CHECK, 'shop')).toEqual(['a request', 'api', 'user=alice'])
})

test.each([
  ['', 'Paste a request, a line of the decision log, or key=value.'],
  ['hello', '"hello" is no JSON and not key=value.'],
  ['{"domain":', 'This begins like JSON, but is not whole: a bracket or a quote is missing.'],
  ['{"a":1}', 'This JSON has no descriptors and no key. A request has a domain and descriptors.'],
  ['{"domain":"api","descriptors":[]}', 'This request has no descriptors.'],
  ['{"domain":"api","descriptors":[{}]}', 'A descriptor has entries: a list of key and value.'],
  ['{"domain":"api","descriptors":[{"entries":[{"value":"x"}]}]}', 'Each entry of a descriptor has a key and a value.'],
  ['{"domain":"x","reason":"unknown_domain"}', 'This line of the decision log names no key: unknown_domain.'],
  ['domain=api', 'There is a domain, but no key=value with it.'],
  ['x'.repeat(100_001), 'This is too long for one request.'],
])('what is not understood says why: %s', (text, why) => {
  expect(shortened(text)).toBe(why)
})

test('a hashed value is reported, because its counter cannot be found', () => {
  const read = understand(
    '{"domain":"api","key":"api_key=sk_l~6f1c0e9d2b7a4835","outcome":"refused","reason":"over_limit"}',
  )
  expect(read.kind === 'understood' && read.notes).toEqual([
    'Then it was refused: over limit. The counters below are current.',
    'The value of api_key is shown as a hash, because it is secret. Type the value itself to find its counter.',
  ])
})

test('a cost above 1 is reported', () => {
  const read = understand(CHECK.replace('}]}]', '}]}],"cost":20'))
  expect(read.kind === 'understood' && read.notes).toEqual([
    'It costs 20. What is said here is about a request of cost 1.',
  ])
})

test('hostile text takes no more than a moment, and comes through as it is', () => {
  const value = '<img src=x onerror=alert(1)>'
  const read = understand(JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: '__proto__', value }] }] }))
  expect(read.kind === 'understood' && read.question.descriptors[0].entries[0]).toEqual({ key: '__proto__', value })
  expect(understand(`x${' ,'.repeat(49_000)}x`).kind).toBe('unclear')
  expect(understand(`x${' '.repeat(99_000)}x`).kind).toBe('unclear')
  expect(understand('a="'.repeat(30_000)).kind).toBeDefined()
})

test('what is written for the address is understood as the same', () => {
  const question = { domain: 'a b', descriptors: [{ entries: [{ key: 'k', value: 'ü|=%&' }] }] }
  const read = understand(asQuery(question))
  expect(read.kind === 'understood' && read.question).toEqual(question)
})

test('a question with something open is not whole', () => {
  const entries = [{ key: 'user', value: 'alice' }]
  expect(isWhole({ domain: 'api', descriptors: [{ entries }] })).toBe(true)
  expect(isWhole({ domain: '', descriptors: [{ entries }] })).toBe(false)
  expect(isWhole({ domain: 'api', descriptors: [] })).toBe(false)
  expect(isWhole({ domain: 'api', descriptors: [{ entries: [] }] })).toBe(false)
  expect(isWhole({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: '' }] }] })).toBe(false)
})
