import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { start, startWith } from '../cli/sluice-process.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const RULES = `domain: api
descriptors:
  - key: api_key
    secret: true
    rate_limit: { unit: day, requests_per_unit: 2 }
`
const SECRET = 'sk_live_planted_0123456789abcdef'

/** Asks for a decision on a connection of its own. */
async function ask(url: string, value: string): Promise<number> {
  const body = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'api_key', value }] }] })
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const { status } = await fetch(`${url}/v1/check`, { method: 'POST', headers, body })
  return status
}

async function hotKeys(admin: string, query: string) {
  const answer = await fetch(`${admin}/admin/v1/hot-keys${query}`)
  return { text: await answer.text(), status: answer.status }
}

describe('hot keys of a service', () => {
  it('adds up what its workers saw, shows no secret, and knows other nodes on the same Redis', async () => {
    const rules = new RuleDirectory({ 'api.yaml': RULES })
    const { url: redis } = await sharedRedis()
    const args = ['--workers', '2', '--rules', rules.path, '--key-prefix', randomUUID()]
    const env = { REDIS_URL: redis, SLUICE_SECRET: 'a secret of this test' }
    const [one, two] = await Promise.all([startWith(env, ...args), startWith(env, ...args)])
    // Each connection goes to another worker.
    for (let i = 0; i < 10; i++) await ask(one.url, SECRET)
    for (let i = 0; i < 5; i++) await ask(two.url, SECRET)
    const { text } = await hotKeys(one.admin, '?by=active&minutes=1')
    const [key] = JSON.parse(text).keys
    expect(key).toMatchObject({ domain: 'api', rule: 'api_key', count: 10, share: 1 })
    expect(key.key).toMatch(/^api_key=sk_l~[0-9a-f]{16}$/)
    expect(text).not.toContain(SECRET)
    // It tells now and then: what it told first may be older than its last requests.
    const fleet = await until('the other node has reported all that it was asked', async () => {
      const answer = JSON.parse((await hotKeys(one.admin, '?by=active&scope=fleet')).text)
      return answer.nodes === 2 && answer.keys[0]?.count >= 15 && answer
    })
    expect(fleet.keys).toMatchObject([{ key: key.key, count: 15 }])
  })

  it('knows none when they are off', async () => {
    const rules = new RuleDirectory({ 'api.yaml': RULES })
    const { url, admin } = await start('--rules', rules.path, '--hot-keys', 'off')
    await ask(url, SECRET)
    expect(JSON.parse((await hotKeys(admin, '')).text)).toMatchObject({ rules: [], keys: [] })
  })
})
