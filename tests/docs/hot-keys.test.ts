import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { start } from '../cli/sluice-process.suite.ts'

const text = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
const page = text.slice(text.indexOf('## Hot keys'))
const RULES = 'domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: 2 }\n'

describe('docs/observability.md', () => {
  it('shows what the service answers about hot keys', async () => {
    const [, path] = /^curl .*'localhost:8082(\S+)'$/m.exec(page) ?? []
    const [, shown] = /^```json\n(.*?)^```$/ms.exec(page) ?? []
    const { url, admin } = await start('--rules', new RuleDirectory({ 'api.yaml': RULES }).path)
    for (const value of ['42', '42', '42', '42', '42', '42', '7', '7', '7']) {
      const body = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value }] }] })
      await fetch(`${url}/v1/check`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    }
    const answer = await fetch(`${admin}${path}`)
    expect(await answer.json()).toEqual(JSON.parse(shown))
  })
})
