import { describe, expect, it } from 'vitest'
import {
  canonicalMethod,
  canonicalPath,
  escapeFault,
  LOOSE,
  otherReadings,
  shapeOf,
  targetPath,
} from './request-path.ts'

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
    ['1a://b/c', '1a://b/c'],
    ['a+b.c-1://b', '/'],
    ['http:/a/b', 'http:/a/b'],
    ['http://a#b/c', '/'],
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
    ['/a%2fb', '/a/b', '/a/b'],
    ['/a%5Cb', '/a/b', '/a/b'],
    ['/x%2f..%2fa%2f', '/a/', '/a'],
    ['/a%3Fb%23c%3a', '/a?b#c:', '/a?b#c:'],
    ['/%252fa', '/%252fa', '/%252fa'],
    ['/a%00%0a', '/a%00%0A', '/a%00%0a'],
    ['/%c0%af%E0%80%af', '/%C0%AF%E0%80%AF', '/%c0%af%e0%80%af'],
    ['/%ED%a0%80%f4%90%80%80', '/%ED%A0%80%F4%90%80%80', '/%ed%a0%80%f4%90%80%80'],
    ['/%F0%9F%98%80', '/😀', '/😀'],
    // The Kelvin sign, a long s and a dotless i, which some take for k, s and i where case does not matter.
    ['/%E2%84%AA%C5%BF%C4%B1', '/\u212aſı', '/ksi'],
    ['/%256cogin', '/%256cogin', '/%256cogin'],
    ['//a///b//', '/a/b/', '/a/b'],
    ['/./a/../b/.', '/b/', '/b'],
    ['/../..', '/', '/'],
    ['/%2E%2e/a', '/a', '/a'],
    ['/a\\b', '/a/b', '/a/b'],
    ['/a%', '/a%', '/a%'],
    ['/%6C%ff%zz', '/l%FF%zz', '/l%ff%zz'],
    ['/.well-known', '/.well-known', '/.well-known'],
    ['/\ud800', '/\ud800', '/\ud800'],
  ])('of %s is %s to a strict router, %s to a loose one', (path, exact, loose) => {
    expect([canonicalPath(path, EXACT), canonicalPath(path, LOOSE)]).toEqual([exact, loose])
    expect([canonicalPath(exact, EXACT), canonicalPath(loose, LOOSE)]).toEqual([exact, loose])
  })
})

describe('otherReadings', () => {
  it.each<[path: string, readings: string[]]>([
    ['/users/1', []],
    ['/Users/%31;a', []],
    ['/.well-known/x', []],
    ['/users/..', ['/users/..']],
    ['/users/%2e%2e/x', ['/users/../x']],
    ['//x', ['//x']],
    ['/users/..%2Fx', ['/users/..%2fx']],
    ['/users/..\\x', ['/users/..\\x']],
    ['/a/../users/..%2fx', ['/a/../users/..%2fx', '/users/..%2fx']],
  ])('of %s are %j', (path, readings) => {
    expect(otherReadings(path, LOOSE)).toEqual(readings)
  })
})

describe('escapeFault', () => {
  it.each(['/a', '/%20%7e%25', '/caf%C3%A9%e2%82%ac%F0%9F%98%80'])('is none in %s', (path) => {
    expect(escapeFault(path)).toBeUndefined()
  })

  it.each([
    ['/%', 'begins no escape'],
    ['/%2', 'begins no escape'],
    ['/%%20', 'begins no escape'],
    ['/%g0', 'begins no escape'],
    ['/a%20%1f', 'control character'],
    ['/%7F', 'control character'],
    ['/%80', 'not UTF-8'],
    ['/%C1%81', 'not UTF-8'],
    ['/%C3', 'not UTF-8'],
    ['/%C3a%A9', 'not UTF-8'],
    ['/%E0%9f%80', 'not UTF-8'],
    ['/%E2%82', 'not UTF-8'],
    ['/%F0%8f%80%80', 'not UTF-8'],
    ['/%F5%80%80%80', 'not UTF-8'],
  ])('of %s says: %s', (path, detail) => {
    expect(escapeFault(path)).toContain(detail)
  })
})

it('a path in its simplest form is returned as it is, and not read at all', () => {
  const path = '/v1/users/a-b_c~d/@x:y,z=1'
  expect(shapeOf(path)).toBe(0)
  expect(canonicalPath(path, LOOSE)).toBe(path)
})

it('HEAD is counted as GET', () => {
  expect(['HEAD', 'GET', 'patch'].map(canonicalMethod)).toEqual(['GET', 'GET', 'PATCH'])
})
