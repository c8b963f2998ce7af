import { execFile } from 'node:child_process'
import { type ClientRequest, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseList } from 'structured-headers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import { type ExampleApp, runExample } from './example-app.suite.ts'
import { testSharing } from './sharing.suite.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

beforeAll(async () => {
  // Its decorators need a compiler, which checks the types that users get as well.
  await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'examples/nest'], {
    cwd: root,
  })
})

describe('examples/nest', () => {
  let app: ExampleApp
  beforeAll(async () => {
    app = await runExample('nest/dist/app.js')
  })
  afterAll(() => app?.[Symbol.asyncDispose]())

  const ask = (path: string, options: RequestInit = {}): Promise<Response> => fetch(app.url + path, options)

  it('has a limit for each key, and a net ten times as wide for each address', async () => {
    const { headers } = await ask('/', { headers: { 'x-api-key': 'alice' } })
    const policies = parseList(headers.get('ratelimit-policy') ?? '')
    expect(policies.map(([name, parameters]) => [name, parameters.get('q')])).toEqual([
      ['key', 60],
      ['net', 600],
    ])
  })

  it('admits five wrong passwords, and any number of right ones', async () => {
    const login = async (password: string): Promise<number> =>
      (await ask(`/login?password=${password}`, { method: 'POST' })).status
    for (let i = 0; i < 7; i++) await until('a place is left', async () => (await login('open%20sesame')) === 201)
    for (let i = 0; i < 5; i++) expect(await login('wrong')).toBe(401)
    expect(await login('wrong')).toBe(429)
  })

  it('makes one report at a time, and gives the place back when the client leaves', async () => {
    const report = async (): Promise<number> => (await ask('/report?ms=0')).status
    let slow: ClientRequest | undefined
    const hold = (): void => {
      slow = request(`${app.url}/report?ms=60000`)
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
    expect((await ask('/health')).headers.get('ratelimit')).toBeNull()
  })
})

testSharing('nest/dist/app.js')
