import { randomUUID } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { parseList } from 'structured-headers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import { type ExampleApp, runExample } from './example-app.suite.ts'
import { testSharing } from './sharing.suite.ts'

/** States what the example of every framework does: they are one API. */
export function testApi(framework: string): void {
  const file = `${framework}/app.mjs`

  describe(`examples/${framework}`, () => {
    let app: ExampleApp
    beforeAll(async () => {
      app = await runExample(file)
    })
    afterAll(() => app[Symbol.asyncDispose]())

    const get = (path: string, key: string): Promise<Response> =>
      fetch(app.url + path, { headers: { 'x-api-key': key } })
    const login = async (password: string): Promise<number> => {
      const body = JSON.stringify({ password })
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${app.url}/login`, { method: 'POST', body, headers })).status
    }

    it('has a limit for each key, and a net ten times as wide for each address', async () => {
      const { headers } = await get('/', 'alice')
      const policies = parseList(headers.get('ratelimit-policy') ?? '')
      expect(policies.map(([name, parameters]) => [name, parameters.get('q')])).toEqual([
        ['key', 60],
        ['net', 600],
      ])
    })

    it('admits five wrong passwords, and any number of right ones', async () => {
      for (let i = 0; i < 7; i++) expect(await login('open sesame')).toBe(200)
      for (let i = 0; i < 5; i++) expect(await login('wrong')).toBe(401)
      expect(await login('wrong')).toBe(429)
    })

    it('charges a search ten times as much', async () => {
      const { headers } = await get('/search', 'searcher')
      expect(headers.get('ratelimit')).toContain('"search";r=90')
    })

    it('makes one report at a time, and gives the place back when the client leaves', async () => {
      const report = (ms: number): Promise<Response> => get(`/report?ms=${ms}`, randomReporter)
      const randomReporter = randomUUID()
      let slow: ClientRequest | undefined
      const hold = (): void => {
        slow = request(`${app.url}/report?ms=60000`, { headers: { 'x-api-key': randomReporter } })
        // Answered at once only when another one was being made: then once more.
        slow.on('response', hold)
        slow.on('error', () => {})
        slow.end()
      }
      hold()
      await until('the place is taken', async () => (await report(0)).status === 429)
      slow?.destroy()
      await until('the place is free again', async () => (await report(0)).status === 200)
    })
  })

  testSharing(file)
}
