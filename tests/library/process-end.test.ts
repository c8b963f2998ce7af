import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'

let url: string
beforeAll(async () => {
  url = (await sharedRedis()).url
})

/** Runs a module to its end. It fails when the module does not end by itself. */
async function run(source: string): Promise<string> {
  const args = ['--input-type=module', '--eval', source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 180_000 })
  return stdout.trim()
}

describe('a process with limits on Redis ends on its own', () => {
  it('when a job that asked the library is done', async () => {
    const printed = await run(`
      import { rateLimit } from 'sluice'
      const limiter = rateLimit({ limit: 5, window: '1h', timeoutMs: 60_000, redis: '${url}', name: '${randomUUID()}' })
      const { fallback, remaining } = await limiter.check('a')
      console.log(fallback, remaining)
    `)
    expect(printed).toBe('undefined 4')
  })

  it('when the server of an app with middleware is closed', async () => {
    const printed = await run(`
      import express from 'express'
      import { rateLimit } from 'sluice/express'
      const app = express()
      app.use(rateLimit({ limit: 5, window: '1h', redis: '${url}', name: '${randomUUID()}' }))
      app.get('/', (request, response) => response.send('hello'))
      const server = app.listen(0, '127.0.0.1', async () => {
        const response = await fetch('http://127.0.0.1:' + server.address().port, { headers: { connection: 'close' } })
        console.log(response.status, await response.text())
        server.close()
      })
    `)
    expect(printed).toBe('200 hello')
  })
})
