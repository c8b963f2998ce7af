import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'

let url: string
beforeAll(async () => {
  url = (await sharedRedis()).url
})

/** Runs a module in three processes at the same time, and returns what each printed, sorted. */
async function inThree(source: string): Promise<string[]> {
  const args = ['--input-type=module', '--eval', source]
  const runs = [1, 2, 3].map(() => promisify(execFile)(process.execPath, args, { timeout: 180_000 }))
  return (await Promise.all(runs)).map(({ stdout }) => stdout.trim()).sort()
}

/** Returns an app that asks itself once as soon as it listens, and prints the status of the answer. */
const asksItself = (limiter: string): string => `
  import express from 'express'
  import { rateLimit } from 'sluice/express'
  import { SluiceStore, rateLimit as hitLimit } from 'sluice/compat/express-rate-limit'
  const app = express()
  app.use(${limiter})
  app.get('/', (request, response) => response.send('hello'))
  const server = app.listen(0, '127.0.0.1', async () => {
    const response = await fetch('http://127.0.0.1:' + server.address().port, { headers: { connection: 'close' } })
    console.log(response.status)
    server.close()
  })
`

describe('the first requests of processes that have just begun to listen share one budget', () => {
  it('with middleware', async () => {
    const shared = `redis: '${url}', name: '${randomUUID()}', redisTimeoutMs: 60_000`
    const statuses = await inThree(asksItself(`rateLimit({ limit: 2, window: '1d', ${shared} })`))
    expect(statuses).toEqual(['200', '200', '429'])
  })

  it('with the options of express-rate-limit', async () => {
    const store = `new SluiceStore({ redis: '${url}', prefix: '${randomUUID()}', timeoutMs: 60_000 })`
    const statuses = await inThree(asksItself(`hitLimit({ windowMs: 86_400_000, limit: 2, store: ${store} })`))
    expect(statuses).toEqual(['200', '200', '429'])
  })

  it('with the storage for @nestjs/throttler', async () => {
    const hits = await inThree(`
      import { SluiceStorage } from 'sluice/compat/nestjs-throttler'
      const shared = { redis: '${url}', prefix: '${randomUUID()}', timeoutMs: 60_000, onStoreFailure: 'throw' }
      const { totalHits } = await new SluiceStorage(shared).increment('a', 86_400_000, 10, 0, 'default')
      console.log(totalHits)
    `)
    expect(hits).toEqual(['1', '2', '3'])
  })

  it('with a client of the app that is still connecting', async () => {
    const hits = await inThree(`
      import { createClient } from '@redis/client'
      import { rateLimit } from 'sluice'
      const redis = createClient({ url: '${url}' })
      const connected = redis.connect()
      const limiter = rateLimit({ limit: 3, window: '1d', redis, name: '${randomUUID()}', redisTimeoutMs: 60_000 })
      console.log((await limiter.check('a')).remaining)
      await connected
      redis.destroy()
    `)
    expect(hits).toEqual(['0', '1', '2'])
  })

  it('with a client of ioredis that connects with its first command', async () => {
    const hits = await inThree(`
      import { Redis } from 'ioredis'
      import { rateLimit } from 'sluice'
      const redis = new Redis('${url}', { lazyConnect: true })
      const limiter = rateLimit({ limit: 3, window: '1d', redis, name: '${randomUUID()}', redisTimeoutMs: 60_000 })
      console.log((await limiter.check('a')).remaining)
      redis.disconnect()
    `)
    expect(hits).toEqual(['0', '1', '2'])
  })
})
