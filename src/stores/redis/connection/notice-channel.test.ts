import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProxy } from '../../../../tests/servers/proxy.mjs'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import type { Notice } from '../../../engine/ports.ts'
import { parseRedisUrl } from './address.ts'
import { decodeNotice, encodeNotice, NoticeChannel } from './notice-channel.ts'

describe('a notice', () => {
  const kinds: Notice['kind'][] = ['clear', 'recall', 'shared', 'reset', 'reset_domain', 'reset_caller', 'ask']

  it('is read as it was written, whatever its kind', () => {
    const messages = kinds.map((kind) => encodeNotice({ kind, key: 'k' }))
    expect(messages.map(decodeNotice)).toEqual(kinds.map((kind) => ({ kind, key: 'k' })))
    expect(new Set(messages).size).toBe(kinds.length)
  })

  it.each(['', 'x', '?key', `x${'k'.repeat(65_536)}`])('is nothing where it makes no sense: %.9s', (message) => {
    expect(decodeNotice(message)).toBeUndefined()
  })

  it('may have a key of 65,535 characters', () => {
    expect(decodeNotice(`x${'k'.repeat(65_535)}`)).toMatchObject({ kind: 'reset' })
  })
})

describe('a subscription to notices', () => {
  it('that is lost is reported, and so is the next one', async () => {
    const redis = await sharedRedis()
    const proxy = await startProxy(redis.port)
    onTestFinished(() => proxy.stop())
    const address = parseRedisUrl(proxy.url)
    const name = randomUUID()
    const channel = new NoticeChannel(
      address,
      async () => address.nodes[0],
      name,
      () => {},
    )
    onTestFinished(() => channel.close())
    const heard: (boolean | string)[] = []
    channel.listen({
      connected: (isConnected) => heard.push(isConnected),
      noticed: ({ key }) => heard.push(key),
    })
    await until('it listens', () => heard.length === 2)
    const publish = (key: string) => redis.call('PUBLISH', name, encodeNotice({ kind: 'clear', key }))
    await redis.call('PUBLISH', name, '?')
    await publish('first')
    await until('the notice is heard', () => heard.length === 3)
    await proxy.cut()
    await until('it listens again', () => heard.length === 5)
    await publish('second')
    await until('the next is heard', () => heard.length === 6)
    expect(heard).toEqual([false, true, 'first', false, true, 'second'])
    expect(channel.ignored).toBe(1)
  })
})
