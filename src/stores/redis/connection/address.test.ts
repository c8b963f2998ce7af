import { describe, expect, it } from 'vitest'
import { parseRedisUrl } from './address.ts'

describe('redis address', () => {
  it.each([
    ['redis://localhost', { kind: 'single', nodes: [{ host: 'localhost', port: 6379 }], tls: false, database: 0 }],
    ['redis://10.0.0.1:7000/3', { nodes: [{ host: '10.0.0.1', port: 7000 }], database: 3 }],
    ['rediss://h', { tls: true }],
    ['redis://user:p%40ss@h', { username: 'user', password: 'p@ss' }],
    ['redis://:pass@h', { username: undefined, password: 'pass' }],
    ['redis://pass@h', { username: undefined, password: 'pass' }],
    ['redis://[::1]:6380', { nodes: [{ host: '::1', port: 6380 }] }],
    ['unix:///run/redis/redis.sock', { kind: 'single', socketPath: '/run/redis/redis.sock' }],
    [
      'redis+sentinel://:pw@a:1,b,c:3/mymaster/2',
      {
        kind: 'sentinel',
        master: 'mymaster',
        database: 2,
        password: 'pw',
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 26379 },
          { host: 'c', port: 3 },
        ],
      },
    ],
    ['rediss+cluster://a:1,b:2', { kind: 'cluster', tls: true, nodes: [{ port: 1 }, { port: 2 }] }],
  ])('reads %s', (url, expected) => {
    expect(parseRedisUrl(url)).toMatchObject(expected)
  })

  it.each([
    '',
    'localhost:6379',
    'http://h',
    'redis://h:port',
    'redis://h/x',
    'redis+sentinel://a,b',
    'redis://',
    'redis://h:65536',
    'redis://:100%@h',
    'unix://run/redis.sock',
    'redis://:pass/word@h',
  ])('refuses %j', (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^REDIS_URL_INVALID: redis: /)
  })

  it('never puts a password into an error', () => {
    for (const url of [
      'redis://user:hunter2@h:port',
      'redist://user:hunter2@h',
      'redis://:hunter2@h/x',
      'redis://:hunter2/x@h:1',
      'redis://:x/hunter2@h:1',
      'redis+sentinel://:x/hunter2@h:1/m',
      'redis+cluster://a:1,:hunter2/x@h:1',
      'redis:/:hunter2@h',
      'redis:user:hunter2@h',
      'user:hunter2@h:6379',
      'redis://h:hunter2',
      'redis://h:6379:hunter2',
      'redis://h/hunter2',
      'redis://user:hunter2%@h',
      'unix://:x/hunter2@/run/a',
      'hunter2',
    ]) {
      expect(() => parseRedisUrl(url)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
      )
    }
  })
})
