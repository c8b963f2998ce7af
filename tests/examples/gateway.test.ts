import { describe, expect, it } from 'vitest'
import { statuses } from '../../server/src/app/gateway/gateway.suite.ts'
import { runExample } from './example-app.suite.ts'

describe('examples/gateway', () => {
  it('protects logins, counts tokens, and holds what is slightly over', async () => {
    await using example = await runExample('gateway/start.mjs', { ADMIN_PORT: '0' })
    const url = example.url.replace(/,$/, '')
    const login = (password: string) => () =>
      fetch(`${url}/login`, { method: 'POST', body: JSON.stringify({ email: 'a@example.com', password }) })
    expect(await statuses(3, login('correct horse'))).toEqual([200, 200, 200])
    expect(await statuses(4, login('guess'))).toEqual([401, 401, 401, 429])
    expect(await statuses(6, () => fetch(`${url}/v1/chat`, { method: 'POST' }))).toEqual([200, 200, 200, 200, 429, 429])
    const reports = await Promise.all([1, 2, 3, 4].map((i) => fetch(`${url}/reports/${i}`)))
    expect(reports.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await (await fetch(`${url}/about`)).text()).toBe('GET /about\n')
  })
})
