import { describe, expect, it } from 'vitest'
import { canonicalMethod, canonicalPath, LOOSE, targetPath } from './request-path.ts'

const EXACT = { caseSensitive: true, strict: true }

describe('targetPath', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/a?b#c', '/a'],
    ['/a#b?c', '/a'],
    ['http://host/a?b', '/a'],
    ['HTTPS://user@[::1]:80/a', '/a'],
    ['http://host', '/'],
    ['http://host?a/b', '/'],
    ['http:\\\\host\\a', '\\a'],
    ['//host/a', '//host/a'],
    ['/a://b/c', '/a://b/c'],
    ['*', '*'],
    ['', '/'],
  ])('of %s is %s', (target, path) => {
    expect(targetPath(target)).toBe(path)
  })
})

describe('canonicalPath', () => {
  it.each([
    ['/login', '/login', '/login'],
    ['/', '/', '/'],
    ['*', '*', '*'],
    ['/Login/', '/Login/', '/login'],
    ['/%6C%6fgin', '/login', '/login'],
    ['/caf%c3%a9', '/café', '/café'],
    ['/CAF%C3%89', '/CAFÉ', '/café'],
    ['/a%2fb', '/a%2Fb', '/a%2fb'],
    ['/a%3Fb%23c', '/a%3Fb%23c', '/a%3fb%23c'],
    ['/%256cogin', '/%256cogin', '/%256cogin'],
    ['//a///b//', '/a/b/', '/a/b'],
    ['/./a/../b/.', '/b/', '/b'],
    ['/../..', '/', '/'],
    ['/%2E%2e/a', '/a', '/a'],
    ['/a\\b', '/a/b', '/a/b'],
    ['/a%', '/a%', '/a%'],
    ['/%6C%ff%zz', '/%6C%FF%zz', '/%6c%ff%zz'],
    ['/.well-known', '/.well-known', '/.well-known'],
    ['/\ud800', '/\ud800', '/\ud800'],
  ])('of %s is %s to a strict router, %s to a loose one', (path, exact, loose) => {
    expect([canonicalPath(path, EXACT), canonicalPath(path, LOOSE)]).toEqual([exact, loose])
    expect([canonicalPath(exact, EXACT), canonicalPath(loose, LOOSE)]).toEqual([exact, loose])
  })
})

it('HEAD is counted as GET', () => {
  expect(['HEAD', 'GET', 'patch'].map(canonicalMethod)).toEqual(['GET', 'GET', 'PATCH'])
})
