import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RedisServer } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { charge, charged, KEY, LIMIT, open, server } from './bench.suite.ts'

/** The url of a user whose rights a test can take away. */
const appUrl = ({ port }: RedisServer) => `redis://app:secret@127.0.0.1:${port}`
const APP = 'on >secret ~* +@all'

type Break = (redis: RedisServer) => Promise<() => Promise<unknown>>

const set = (name: string, value: string, healed: string): Break => {
  return async (redis) => {
    await redis.call('CONFIG', 'SET', name, value)
    return () => redis.call('CONFIG', 'SET', name, healed)
  }
}

const acl = (wrong: string, right: string): Break => {
  return async (redis) => {
    await redis.call('ACL', 'SETUSER', 'app', ...wrong.split(' '))
    return () => redis.call('ACL', 'SETUSER', 'app', ...right.split(' '))
  }
}

/** A replica whose master is not there. */
const strayReplica: Break = async (redis) => {
  await redis.call('REPLICAOF', '127.0.0.1', 1)
  return () => redis.call('REPLICAOF', 'NO', 'ONE')
}

/** A server that has to save and cannot, because a folder is in the way. */
const failedSave: Break = async (redis) => {
  const inTheWay = join(redis.dir, 'dump.rdb')
  mkdirSync(inTheWay)
  await redis.call('CONFIG', 'SET', 'save', '3600 1000000')
  await redis.call('BGSAVE')
  await until('saving has failed', async () => {
    return (await redis.field('rdb_last_bgsave_status', 'INFO', 'persistence')) === 'err'
  })
  return async () => {
    rmdirSync(inTheWay)
    await redis.call('CONFIG', 'SET', 'save', '')
  }
}

/** A server that runs somebody's endless script. */
const endlessScript: Break = async (redis) => {
  await redis.call('CONFIG', 'SET', 'busy-reply-threshold', 1)
  const culprit = await redis.connect()
  const killed = culprit.send('EVAL', 'while true do end', 0).catch(() => {})
  await until('it is busy', () =>
    redis.call('PING').then(
      () => false,
      (error: Error) => error.message.startsWith('BUSY'),
    ),
  )
  return async () => {
    await redis.call('SCRIPT', 'KILL')
    await killed
    culprit.close()
  }
}

describe('a server that cannot work now answers nothing, counts nothing, and is used again afterwards:', () => {
  it.each<[reply: string, break_: Break]>([
    ['READONLY', strayReplica],
    [
      'MASTERDOWN',
      async (redis) => {
        await redis.call('CONFIG', 'SET', 'replica-serve-stale-data', 'no')
        return await strayReplica(redis)
      },
    ],
    ['OOM', set('maxmemory', '1', '0')],
    ['MISCONF', failedSave],
    ['NOREPLICAS', set('min-replicas-to-write', '1', '0')],
    ['BUSY', endlessScript],
    ['NOPERM to run scripts', acl('-evalsha -fcall', '+evalsha +fcall')],
    ['NOPERM to write in a script', acl('-psetex -set -setrange', '+psetex +set +setrange')],
    ['NOPERM for the key', acl('resetkeys ~other:*', '~*')],
  ])('%s', async (_reply, break_) => {
    const redis = await server({ acl: { app: APP } })
    const bench = open(appUrl(redis))
    await bench.connected()
    expect(await bench.fault()).toBe('none')
    const heal = await break_(redis)
    expect(await bench.fault()).toBe('unavailable')
    await heal()
    await bench.heals()
    expect(await charged(redis)).toBe(1)
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(2)
  })

  it('LOADING', async () => {
    const redis = await server({
      args: ['--key-load-delay', '15000', '--loading-process-events-interval-bytes', '1024'],
    })
    for (let i = 0; i < 60; i++) await redis.call('SET', `ballast:${i}`, 'x'.repeat(2_000))
    await redis.call('SAVE')
    const bench = open(redis.url)
    await bench.connected()
    const restarted = redis.restart()
    await until('it is loading', async () => {
      bench.coolDown()
      return (await bench.fault()) === 'unavailable'
    })
    await restarted
    await bench.heals()
    const before = await charged(redis)
    expect(await bench.fault()).toBe('none')
    expect(await charged(redis)).toBe(before + 1)
  })

  it('a key of another kind than a counter, which is replaced', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    await redis.call('RPUSH', `${KEY}|${LIMIT.shape}`, 'not', 'a', 'counter')
    expect(await bench.store.decide([charge()])).toMatchObject([{ kind: 'allowed', remaining: LIMIT.max - 1 }])
    expect(await charged(redis)).toBe(1)
  })
})

describe('three faults in a row', () => {
  it('open the breaker, whatever they are', async () => {
    const redis = await server()
    const bench = open(redis.url)
    await bench.connected()
    await redis.call('CONFIG', 'SET', 'maxmemory', 1)
    for (let i = 0; i < 3; i++) expect(await bench.fault()).toBe('unavailable')
    expect(await bench.fault()).toBe('breaker_open')
    await redis.call('CONFIG', 'SET', 'maxmemory', 0)
    await bench.heals()
    expect(bench.told('breaker')).toEqual(['breaker open redis', 'breaker half_open redis', 'breaker closed redis'])
  })
})
