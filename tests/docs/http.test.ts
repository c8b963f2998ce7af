import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { startApi } from '../client/service.suite.ts'
import { curlExample } from './curl.suite.ts'

const page = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8')
const commandOf = (path: string): string => {
  const line = page.split('\n').find((text) => text.startsWith(`curl localhost:8080${path}`))
  if (line === undefined) throw new Error(`docs/http.md has no command for ${path}`)
  return line
}

/** The answer that the page shows, in which `…` stands for the rest of a text. */
const [, shown] = /```json\n(\{"leases".*?)```/s.exec(page) ?? []

it('docs/http.md shows what renewing and releasing places answers', async () => {
  const address = await startApi()
  /** Does what the page says about a path, with these leases, and returns the answer. */
  const send = async (path: string, leases: readonly string[]): Promise<Response> => {
    const left = [...leases]
    const command = commandOf(path).replaceAll('…', () => String(left.shift()))
    const { url, request, status } = curlExample(command, new Map([['8080', address]]))
    const response = await fetch(url, request)
    expect(response.status).toBe(status)
    return response
  }
  const acquire = async (value: string): Promise<string> => {
    const descriptors = [{ entries: [{ key: 'jobs', value }] }]
    const response = await fetch(`${address}/v1/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'api', descriptors }),
    })
    return ((await response.json()) as { lease: string }).lease
  }
  const [alices, bobs] = [await acquire('alice'), await acquire('bob')]
  await send('/v1/release', [bobs])
  const renewed = await send('/v1/renew', [alices, bobs])
  const expected = JSON.parse(shown, (_, value) =>
    typeof value === 'string' && value.endsWith('…') ? expect.stringContaining(value.slice(0, -1)) : value,
  )
  expect(await renewed.json()).toEqual(expected)
})
