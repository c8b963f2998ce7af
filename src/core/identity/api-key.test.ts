import { describe, expect, it } from 'vitest'
import { type ApiKeyOptions, readApiKeys } from './api-key.ts'

const readAll = (options: ApiKeyOptions, headers: Record<string, string>, url = '/'): readonly string[] =>
  readApiKeys(options, (name) => headers[name], url)
const read = (...of: Parameters<typeof readAll>): string | undefined => readAll(...of)[0]

describe('readApiKeys', () => {
  it('finds every key that a request has, each once', () => {
    const headers = { 'x-api-key': 'k1', authorization: 'Bearer k2' }
    expect(readAll({}, headers)).toEqual(['k1', 'k2'])
    expect(readAll({}, { 'x-api-key': 'k1', authorization: 'Bearer k1' })).toEqual(['k1'])
    expect(readAll({ query: 'key' }, headers, '/?key=k3&key=&key=k1&key=k4#key')).toEqual(['k1', 'k2', 'k3', 'k4'])
  })

  it('takes none of more than eight: no one has so many', () => {
    const query = (count: number): string => `/?${Array.from({ length: count }, (_, i) => `key=${i}`).join('&')}`
    expect(readAll({ query: 'key' }, {}, query(8))).toHaveLength(8)
    expect(readAll({ query: 'key' }, {}, query(9))).toEqual([])
  })

  it.each<[string, ApiKeyOptions, Record<string, string>, string, string | undefined]>([
    ['X-API-Key', {}, { 'x-api-key': 'k1' }, '/', 'k1'],
    ['a field of the app', { header: 'x-token' }, { 'x-token': 'k1', 'x-api-key': 'k2' }, '/', 'k1'],
    ['a bearer token', {}, { authorization: 'Bearer k1' }, '/', 'k1'],
    ['a bearer token in any case', {}, { authorization: 'bEARER   k1 ' }, '/', 'k1'],
    ['the field before the token', {}, { authorization: 'Bearer k2', 'x-api-key': 'k1' }, '/', 'k1'],
    ['the query, when configured', { query: 'key' }, {}, '/a?b=1&key=k%201', 'k 1'],
    ['no query otherwise', {}, {}, '/a?key=k1&x-api-key=k1', undefined],
    ['no bearer token when configured', { bearer: false }, { authorization: 'Bearer k1' }, '/', undefined],
    ['no field when configured', { header: false }, { 'x-api-key': 'k1' }, '/', undefined],
    ['no other scheme', {}, { authorization: 'Basic azE6' }, '/', undefined],
    ['nothing', {}, {}, '/', undefined],
    ['no empty key', {}, { 'x-api-key': '', authorization: 'Bearer ' }, '/', undefined],
    ['no key with control characters', { query: 'key' }, { 'x-api-key': 'a\tb' }, '/?key=a%0d%0ab', undefined],
    ['no key with the control character above the letters', {}, { 'x-api-key': 'a\u007fb' }, '/', undefined],
    ['no key with the highest control character below them', {}, { 'x-api-key': 'a\u001fb' }, '/', undefined],
    ['a key with the adjacent characters', {}, { 'x-api-key': ' ~\u0080' }, '/', ' ~\u0080'],
    ['a key of 4096 characters', {}, { 'x-api-key': 'k'.repeat(4_096) }, '/', 'k'.repeat(4_096)],
    ['no key of one character more', {}, { 'x-api-key': 'k'.repeat(4_097) }, '/', undefined],
    ['no key of a megabyte', {}, { 'x-api-key': 'k'.repeat(1_000_000) }, '/', undefined],
  ])('finds %s', (_, options, headers, url, key) => {
    expect(read(options, headers, url)).toBe(key)
  })
})
