import { describe, expect, it } from 'vitest'
import type { Route } from '../options.ts'
import { UpstreamGroup } from '../upstreams/upstream-group.ts'
import { Table } from './table.ts'

const upstreams = new Map([['app', new UpstreamGroup({ addresses: [] }, [], () => () => {})]])

function tableOf(...routes: Partial<Route>[]): Table {
  return new Table(
    { routes: routes.map((route, i) => ({ name: `${i}`, path: '/*', upstream: 'app', ...route })), upstreams: {} },
    upstreams,
  )
}

describe('Table', () => {
  const table = tableOf(
    { name: 'all' },
    { name: 'users', path: '/users' },
    { name: 'user', path: '/users/{id}' },
    { name: 'me', path: '/users/me', methods: ['GET'] },
    { name: 'posts', path: '/users/{id}/posts/{post}' },
    { name: 'files', path: '/files/*', methods: ['GET', 'PUT'] },
    { name: 'api', host: 'api.example.com' },
    { name: 'any api', host: '*.example.com' },
    { name: 'deep', host: '*.eu.example.com', path: '/x/*' },
    { name: 'write', path: '/only', methods: ['POST'], host: 'strict.example' },
  )

  it.each<[host: string, target: string, method: string, name: string]>([
    ['a', '/', 'GET', 'all'],
    ['a', '/users', 'GET', 'users'],
    ['a', '/users/', 'GET', 'users'],
    ['a', '/users?x=/users/7', 'GET', 'users'],
    ['a', '/users/7', 'DELETE', 'user'],
    ['a', '/users/me', 'GET', 'me'],
    ['a', '/users/me', 'HEAD', 'me'],
    ['a', '/users/me', 'POST', 'user'],
    ['a', '/users/7/posts/8', 'GET', 'posts'],
    ['a', '/users/7/posts', 'GET', 'all'],
    ['a', '/files', 'GET', 'files'],
    ['a', '/files/a/b/c', 'PUT', 'files'],
    ['a', '/files/a', 'POST', 'all'],
    // All spellings of a path lead to where that path leads.
    ['a', '/x/../users/me', 'GET', 'me'],
    ['a', '/users/%6de', 'GET', 'me'],
    ['a', '/users//me', 'GET', 'me'],
    ['a', '/USERS/Me', 'GET', 'me'],
    ['a', '/Files/a', 'GET', 'files'],
    ['a', '/users/7;v=1', 'GET', 'user'],
    ['a', '/users/%E2%82%AC', 'GET', 'user'],
    ['api.example.com', '/users', 'GET', 'api'],
    ['b.example.com', '/', 'GET', 'any api'],
    ['a.b.example.com', '/', 'GET', 'any api'],
    ['example.com', '/', 'GET', 'all'],
    ['c.eu.example.com', '/x/y', 'GET', 'deep'],
    ['c.eu.example.com', '/y', 'GET', 'any api'],
  ])('leads %s%s (%s) to %s', (host, target, method, name) => {
    expect(table.find(host, target, method)).toMatchObject({ route: { name } })
  })

  const paths = tableOf(
    { name: 'all' },
    { name: 'loose', path: '/Login' },
    { name: 'exact', path: '/Exact/{id}', caseSensitive: true },
    { name: 'other', path: '/exact/{id}' },
    { name: 'keep', path: '/Keep/{id}', encodedSlashes: 'keep' },
    { name: 'sent', path: '/sent/*', forwardPath: 'as_sent' },
  )

  it.each<[target: string, name: string, path: string, forwarded: string]>([
    ['/LOGIN/?a=%2f', 'loose', '/login', '/LOGIN/?a=%2f'],
    ['/lo%67in', 'loose', '/login', '/login'],
    ['/Exact/Bob', 'exact', '/Exact/Bob', '/Exact/Bob'],
    ['/EXACT/Bob', 'other', '/exact/bob', '/EXACT/Bob'],
    ['/keep/A%2fb%20%c3%a9?x', 'keep', '/keep/a/b é', '/keep/A%2Fb%20%C3%A9?x'],
    ['/sent/../sent/%61//b?x', 'sent', '/sent/a/b', '/sent/../sent/%61//b?x'],
    ['/x;a/B;c?d', 'all', '/x/b', '/x;a/B;c?d'],
    ['*', 'all', '/', '*'],
  ])('reads %s as a path of %s: %s, and forwards %s', (target, name, path, forwarded) => {
    expect(paths.find('a', target, 'GET')).toMatchObject({ route: { name }, path, target: forwarded })
  })

  it('has the case of parameters as it was sent', () => {
    const found = paths.find('a', '/KEEP/A%2Fb', 'GET')
    expect('parameters' in found && [...found.parameters]).toEqual([['id', 'A%2Fb']])
  })

  it('knows the path with parameters, too, and refuses one that leads elsewhere', () => {
    expect(paths.find('a', '/x;A', 'GET')).toMatchObject({ path: '/x', otherPath: '/x;a' })
    expect(paths.find('a', '/login;A', 'GET')).toMatchObject({ code: 'GATEWAY_PATH_AMBIGUOUS' })
  })

  it.each([
    '/keep/%2f',
    '/keep/a%2f..%5Cb',
    '/keep/..%2fa',
    '/x%2fy',
    '/x%5Cy',
    '/x/..;/y',
    '/;/x',
    '/%',
    '/%00',
    '/%ff',
  ])('refuses %s', (target) => {
    expect(paths.find('a', target, 'GET')).toMatchObject({ code: 'GATEWAY_PATH_AMBIGUOUS', allow: undefined })
  })

  it('returns what parameters stand for', () => {
    const found = table.find('a', '/users/7/posts/a%20b', 'GET')
    expect('parameters' in found && [...found.parameters]).toEqual([
      ['id', '7'],
      ['post', 'a b'],
    ])
  })

  it('distinguishes a path without a route from a method without one', () => {
    const small = tableOf({ path: '/a', methods: ['POST', 'PUT'] })
    expect(small.find('h', '/b', 'GET')).toMatchObject({ code: 'GATEWAY_ROUTE_MISSING' })
    expect(small.find('h', '/a', 'GET')).toMatchObject({ code: 'GATEWAY_METHOD_NOT_ALLOWED', allow: 'POST, PUT' })
  })

  it.each<[Partial<Route>[], string]>([
    [[{ path: 'a' }], 'routes[0].path: got "a"'],
    [[{ path: '/a/*/b' }], 'routes[0].path: got "/a/*/b"'],
    [[{ path: '/a/{b' }], 'routes[0].path: got "/a/{b"'],
    [[{ path: '/a/../b' }], 'routes[0].path: got "/a/../b"'],
    [[{ path: '/a?b' }], 'routes[0].path: got "/a?b"'],
    [[{ path: '/a;b' }], 'routes[0].path: got "/a;b"'],
    [[{ path: '/a' }, { path: '/A' }], 'routes[1]: "1" meets "0": they are the same'],
    [[{ host: 'a b' }], 'routes[0].host: got "a b"'],
    [[{ host: 'a:80' }], 'routes[0].host: got "a:80"'],
    [[{ methods: ['get'] }], 'routes[0].methods: got "get"'],
    [[{ methods: [] }], 'routes[0].methods: got undefined'],
    [[{ upstream: 'b' }], 'routes[0].upstream: got "b". Known upstreams: app'],
    [[{ retries: -1 }], 'routes[0].retries: got -1'],
    [[{ peekBytes: 65_537 }], 'routes[0].peekBytes: got 65537'],
    [[{ times: { idleMs: 1.5 } }], 'routes[0].times.idleMs: got 1.5'],
    [[{}, {}], 'routes[1]: "1" meets "0": they are the same'],
    [[{ path: '/a/{b}' }, { path: '/a/{c}' }], 'routes[1]: "1" meets "0": they are the same'],
  ])('refuses %j', (routes, message) => {
    expect(() => tableOf(...routes)).toThrow(`GATEWAY_OPTIONS_INVALID: ${message}`)
  })
})
