import { type ClientRequest, request } from 'node:http'
import { parseList } from 'structured-headers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import { type ExampleApp, runExample } from './example-app.suite.ts'
import { testSharing } from './sharing.suite.ts'

describe('examples/fastify', () => {
  let app: ExampleApp
  beforeAll(async () => {
    app = await runExample('fastify/app.mjs')
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const get = (path: string, key = 'demo'): Promise<Response> =>
    fetch(app.url + path, { headers: { 'x-api-key': key } })

  it('has a limit for each key, and a net ten times as wide for each address', async () => {
    const response = await get('/', 'alice')
    const policies = parseList(response.headers.get('ratelimit-policy') ?? '')
    expect(policies.map(([name, parameters]) => [name, parameters.get('q')])).toEqual([
      ['key', 60],
      ['net', 600],
    ])
    expect(await response.text()).toBe('hello, 59 left\n')
  })

  it('admits five wrong passwords, and any number of right ones', async () => {
    const login = async (password: string): Promise<number> => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${app.url}/login`, { method: 'POST', body: JSON.stringify({ password }), headers })).status
    }
    for (let i = 0; i < 7; i++) await until('a place is left', async () => (await login('open sesame')) === 200)
    for (let i = 0; i < 5; i++) expect(await login('wrong')).toBe(401)
    expect(await login('wrong')).toBe(429)
  })

  it('makes one report at a time, and gives the place back when the client leaves', async () => {
    const report = async (): Promise<number> => (await get('/report?ms=0', 'reporter')).status
    let slow: ClientRequest | undefined
    const hold = (): void => {
      slow = request(`${app.url}/report?ms=60000`, { headers: { 'x-api-key': 'reporter' } })
      // Answered at once only when another one was being made: then once more.
      slow.on('response', hold)
      slow.on('error', () => {})
      slow.end()
    }
    hold()
    await until('the place is taken', async () => (await report()) === 429)
    slow?.destroy()
    await until('the place is free again', async () => (await report()) === 200)
  })

  it('leaves the health of the app alone', async () => {
    expect((await get('/health')).headers.get('ratelimit')).toBeNull()
  })
})

testSharing('fastify/app.mjs')
