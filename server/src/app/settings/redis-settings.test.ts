import { parseRedisUrl } from 'sluice/internal/stores/redis/connection/address'
import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { redisUrlOf } from './redis-settings.ts'

const urlOf = (given: string, env: Record<string, string> = {}) => redisUrlOf(given, 'REDIS_URL', env)

describe('redisUrlOf', () => {
  it.each<[string, string, Record<string, string>, string]>([
    ['leaves an address as it is', 'redis://a:1/2', {}, 'redis://a:1/2'],
    ['takes host:port', 'a:6379', {}, 'redis://a:6379'],
    ['takes host:port of a socket of type tcp', 'a:6379', { REDIS_SOCKET_TYPE: 'tcp' }, 'redis://a:6379'],
    ['takes the type in any case', 'a:6379', { REDIS_TYPE: 'Single' }, 'redis://a:6379'],
    ['takes a path', '/run/redis.sock', {}, 'unix:///run/redis.sock'],
    [
      'takes a path of a socket of type unix',
      '/run/redis.sock',
      { REDIS_SOCKET_TYPE: 'unix' },
      'unix:///run/redis.sock',
    ],
    ['takes host:port even where the type says unix', 'a:6379', { REDIS_SOCKET_TYPE: 'unix' }, 'redis://a:6379'],
    ['takes a list for a cluster', 'a:1, b:2', { REDIS_TYPE: 'CLUSTER' }, 'redis+cluster://a:1,b:2'],
    [
      'takes the master and its sentinels',
      'mymaster,a:1,b:2',
      { REDIS_TYPE: 'SENTINEL' },
      'redis+sentinel://a:1,b:2/mymaster',
    ],
    ['turns TLS on', 'a:1', { REDIS_TLS: 'true' }, 'rediss://a:1'],
    ['turns TLS on for a cluster', 'a:1', { REDIS_TLS: 'true', REDIS_TYPE: 'CLUSTER' }, 'rediss+cluster://a:1'],
    ['turns TLS on for an address', 'redis://a:1', { REDIS_TLS: '1' }, 'rediss://a:1'],
    ['leaves TLS off', 'a:1', { REDIS_TLS: 'false' }, 'redis://a:1'],
    ['leaves TLS on', 'rediss://a:1', { REDIS_TLS: 'true' }, 'rediss://a:1'],
    ['adds a password', 'a:1', { REDIS_AUTH: 'p@ss/w:rd'.replace(':', '') }, 'redis://:p%40ss%2Fwrd@a:1'],
    ['adds a user and a password', 'a:1', { REDIS_AUTH: 'me:se:cret' }, 'redis://me:se%3Acret@a:1'],
    ['adds a password to a socket', '/run/a', { REDIS_AUTH: 'x' }, 'unix://:x@/run/a'],
    ['prefers the password of the address', 'redis://:own@a:1', { REDIS_AUTH: 'x' }, 'redis://:own@a:1'],
  ])('%s', (_, given, env, url) => {
    expect(urlOf(given, env)).toBe(url)
    expect(() => parseRedisUrl(url)).not.toThrow()
  })

  it('brings passwords through unchanged', () => {
    const { username, password } = parseRedisUrl(urlOf('a:1', { REDIS_AUTH: 'ü@/:%x:#?' }))
    expect([username, password]).toEqual(['ü@/', '%x:#?'])
  })

  it.each<[string, string, Record<string, string>, RegExp]>([
    [
      'a sentinel list without sentinels',
      'mymaster',
      { REDIS_TYPE: 'SENTINEL' },
      /^REDIS_URL_INVALID: REDIS_URL: REDIS_TYPE is SENTINEL/,
    ],
    [
      'an unknown type',
      'a:1',
      { REDIS_TYPE: 'RING' },
      /^CHOICE_INVALID: REDIS_TYPE: got "ring", expected single, sentinel or cluster\./,
    ],
    ['a switch that is none', 'a:1', { REDIS_TLS: 'yes' }, /^SWITCH_INVALID: REDIS_TLS: got "yes"\./],
  ])('refuses %s', (_, given, env, message) => {
    expect(raisedBy(() => urlOf(given, env))).toMatch(message)
  })
})
